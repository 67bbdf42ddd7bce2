//! The HTTP API of the real program: its files, its processes, its tokens.

mod changing;
pub(crate) mod client;
mod door;
mod projects;
mod reading;
