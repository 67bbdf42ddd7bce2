//! The clients of the npm and PyPI packages: the real program, the official SDKs, and the scripted model.

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

mod guides;
mod lifetime;
mod loops;
mod methods;
mod packages;
mod types;
