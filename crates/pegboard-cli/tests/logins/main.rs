//! Logins with the real program: commands, several processes, kills.

#![allow(
    clippy::panic,
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "failing tests panic with a message"
)]

mod commands;
mod machine;
mod partners;
mod processes;
