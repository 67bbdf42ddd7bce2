//! Nine good servers and a bad one, through the gateway: the first answers come without the bad one, every good
//! tool is there, and the bad one is named.

#![allow(
    clippy::panic,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on stops, with a sentence that says why"
)]

#[path = "../cli/support/mod.rs"]
#[allow(
    dead_code,
    unused_imports,
    reason = "the machine in small is the same as that of the command line's tests, which use more of it"
)]
mod support;

mod bad;
mod gateway;
mod sessions;
