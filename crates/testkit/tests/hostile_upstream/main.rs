//! The real `pegboard-upstream` against the hostile server: for every fault the right reason, in bounded
//! time, with nothing left behind and with other servers unaffected. What is measured in memory stands in
//! `hostile_memory.rs`, in a process of its own.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops where something is not as it should be"
)]

mod calls;
mod children;
mod framing;
mod handshake;
mod harness;
mod http;
mod http_faults;
mod pages;
