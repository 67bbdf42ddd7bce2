//! `pegboard-upstream` against the hostile server: every fault has the right reason, in bounded time, with no
//! process left and other servers unaffected. Memory is measured in `hostile_memory.rs`, in its own process.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod calls;
mod children;
mod framing;
mod handshake;
mod harness;
mod http;
mod http_faults;
mod pages;
