//! The command line as its users meet it: the real program, real servers, real files.

mod commands;
mod lasting;
mod layers;
mod real_servers;
mod running;
mod secrets;
mod support;
