//! The rules of configuration, each as rows of a table.

// Helpers of tests may fail like the tests themselves.
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
mod server_keys;
mod traces;
mod trust;
mod unusual_files;
