//! Servers of the old HTTP+SSE transport through `pegboard-upstream`: detection, endpoint, faults, limits.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod calls;
mod detection;
mod endpoints;
mod harness;
