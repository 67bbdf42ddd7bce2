//! The HTTP transport over a real socket: both eras, access check, interrupted streams, limits, shutdown.

// Test helpers may panic like the tests themselves.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]
#![allow(
    dead_code,
    reason = "the fake servers are shared with the tests of the core"
)]

mod abandoned;
mod ending;
#[path = "../core/fake.rs"]
mod fake;
mod guard;
mod legacy;
mod limits;
mod modern;
mod raw_client;
mod slow_server;
mod test_server;
