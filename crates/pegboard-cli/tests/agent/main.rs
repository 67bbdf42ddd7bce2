//! Pegboard in an agent's hands: the loop, the library's front door and `pegboard ask`, against a scripted model that
//! speaks the real services' protocols and refuses what they refuse.

#![allow(
    clippy::panic,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that cannot go on stops, with a sentence that says why"
)]

#[path = "../cli/support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "other tests use the rest of it")]
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
