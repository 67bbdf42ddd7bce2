//! The HTTP API of the real program: its files, its processes, its tokens.

mod access;
mod changing;
pub(crate) mod client;
mod clients;
mod projects;
mod reading;
