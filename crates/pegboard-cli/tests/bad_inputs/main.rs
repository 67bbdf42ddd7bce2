//! Bad inputs, one row each: what is sent, what must happen, and the code that proves it.
//!
//! A row runs its input against the program or one of its crates. Where a test elsewhere proves a row (or the rest of
//! it), the row names that test, and the table checks that it exists and is compiled in. A row about something that
//! is not built yet is pending, with the reason.

#![allow(
    clippy::panic,
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a row that fails says why by panicking, and the counts are printed"
)]

#[path = "../cli/support/mod.rs"]
#[allow(
    dead_code,
    unused_imports,
    reason = "the small machine is the one of the command line's tests, which use more of it"
)]
mod support;

mod approvals;
mod configuration;
mod disk;
mod frames;
mod http_servers;
mod lists;
mod load;
mod named_tests;
mod names;
mod own_surface;
mod processes;
mod schemas;
mod scripted;
mod table;
mod texts;
