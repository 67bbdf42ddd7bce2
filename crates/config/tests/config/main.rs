//! Tests of the configuration rules.

// Test helpers may panic like tests.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr
)]

mod clients;
mod duplicates;
mod edits;
mod fixture;
mod layers;
mod policies;
mod profiles;
mod redaction;
mod robust;
mod sandbox;
mod server_keys;
mod traces;
mod trust;
mod unusual_files;
