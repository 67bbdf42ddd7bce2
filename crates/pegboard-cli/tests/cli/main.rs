//! The command line as its users meet it: the real program, real servers, real files.

#![allow(
    clippy::panic,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that cannot go on stops, with a sentence that says why"
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
    reason = "the terminal is that of the tests of the agent, which type on it"
)]
mod terminal;
