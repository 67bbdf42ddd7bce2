//! Logs, spans and metrics of the real program: with collectors that store what they receive, that hang, that are
//! missing, and with a third-party one.

#![allow(
    clippy::panic,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "failing tests panic with a message"
)]

#[path = "../cli/support/mod.rs"]
#[allow(
    dead_code,
    unused_imports,
    reason = "the fixtures are shared with the command line tests, which use more of them"
)]
mod support;

#[path = "../../../trace/tests/trace/otlp.rs"]
#[allow(
    dead_code,
    reason = "the OTLP messages are shared with the tests of the trace crate, which use more of them"
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
