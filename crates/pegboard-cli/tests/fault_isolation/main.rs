//! Nine good servers and a bad one behind the gateway: the first responses do not wait for the bad one, every good
//! tool is available, and the bad one is reported.

#![allow(
    clippy::panic,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "failing tests panic with a message"
)]

#[path = "../cli/support/mod.rs"]
#[allow(
    dead_code,
    unused_imports,
    reason = "the fixtures are shared with the command line tests, which use more of them"
)]
mod support;

mod bad;
mod gateway;
mod sessions;
