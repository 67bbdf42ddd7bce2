//! Logins with the real program: commands, several processes, kills.

#![allow(
    clippy::panic,
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "failing tests panic with a message"
)]

mod commands;
mod machine;
mod partners;
mod processes;
