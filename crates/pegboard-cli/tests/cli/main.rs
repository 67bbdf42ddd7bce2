//! End-to-end tests of the command line: the real program, real servers, real files.

#![allow(
    clippy::panic,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "failing tests panic with a message"
)]

mod api;
mod commands;
mod layers;
mod persistence;
mod real_servers;
mod running;
mod secrets;
mod support;

#[path = "../agent/terminal.rs"]
#[allow(
    dead_code,
    reason = "shared with the agent tests, which use more of it"
)]
mod terminal;
