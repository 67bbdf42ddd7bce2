//! The pool of server instances: what is shared, and what stays separate.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::result_large_err,
    reason = "a test fails by panicking"
)]

#[path = "../simulation/random.rs"]
mod random;

mod attribution;
mod leases;
mod servers;
mod simulation;
