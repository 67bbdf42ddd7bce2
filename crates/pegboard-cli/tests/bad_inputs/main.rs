//! Bad inputs, one row each: what is sent, what must happen, and the code that proves it.
//!
//! A row runs its input against the program or one of its crates. If a test elsewhere proves a row (or the rest of
//! it), the row names that test, and the table checks that it exists and is compiled in. A row about something that
//! is not implemented yet is pending, with the reason.

#![allow(
    clippy::panic,
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "failing rows panic with a message, and the counts are printed"
)]

#[path = "../cli/support/mod.rs"]
#[allow(
    dead_code,
    unused_imports,
    reason = "the fixtures are shared with the command line tests, which use more of them"
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
