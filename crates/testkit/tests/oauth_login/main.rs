//! Logins to protected servers: Pegboard's connector against the authorization server of this crate.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says why it is skipped"
)]

mod discovery;
mod fixture;
mod hostile;
mod machine;
mod renewal;
mod secrecy;
mod steps;
