//! Logs, spans and metrics as whoever runs the real program sees them: with collectors that keep what they get,
//! that hang, that are not there, and with one that somebody else wrote.

#![allow(
    clippy::panic,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that cannot go on stops, with a sentence that says why"
)]

#[path = "../cli/support/mod.rs"]
#[allow(
    dead_code,
    unused_imports,
    reason = "the machine in small is the same as that of the command line's tests, which use more of it"
)]
mod support;

#[path = "../../../trace/tests/trace/otlp.rs"]
#[allow(
    dead_code,
    reason = "the standard's messages are those of the tests of the room for traces, which use more of them"
)]
mod otlp;

mod collector;
mod collector_down;
mod context;
mod langfuse;
mod logs;
mod metrics;
mod real_collector;
mod serving;
mod spans;
