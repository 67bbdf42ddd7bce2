//! Connecting clients to Pegboard and disconnecting them: fixtures of every client, generated files, refusals, changed
//! files and concurrent writers.

// Test helpers may panic like tests.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod changed_files;
mod concurrent;
mod fixtures;
mod generated;
mod machine;
mod masking;
mod parsed;
mod property;
mod refusals;
mod status;
mod unusual_files;
