//! Spans and metrics from the outside: with working and failing collectors, and a real one.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that cannot continue panics with a message"
)]

mod canaries;
mod collector;
mod delivery;
mod facts;
mod langfuse;
mod metrics;
mod otlp;
mod real_collector;
mod spans;
