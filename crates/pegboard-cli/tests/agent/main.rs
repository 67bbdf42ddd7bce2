//! The agent loop, the library API and `pegboard ask` with a scripted model that
//! implements the protocols of the real services and rejects what they reject.

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

mod ask;
mod failures;
mod guide;
mod library;
mod limits;
mod loading;
mod scripted;
mod sdks;
mod steps;
mod terminal;
