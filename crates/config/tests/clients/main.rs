//! Tests with the files of real clients.

// Test helpers may panic like tests.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod import;
