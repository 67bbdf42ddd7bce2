//! Pegboard in the coding agents that people use: Claude Code, Codex, Gemini CLI and opencode run headless, with
//! `pegboard stdio` in their own configuration files and a scripted model in place of their provider. The tests look
//! at what each client sends to the model, and what reaches the servers behind Pegboard.
//!
//! `scripts/install-test-env` installs the clients into the folder that `PEGBOARD_TEST_ENV` names; without it each
//! test prints the reason and passes. No external host is contacted.

#![allow(
    clippy::panic,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "failing tests panic with a message"
)]

#[path = "../cli/support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "other tests use more of it")]
mod support;

mod approval;
mod client;
mod clients;
mod connect;
mod definitions;
mod machine;
mod session;
mod setup;
mod tour;
mod transcript;
