//! Spans, logs and metrics as the outside sees them: collectors that work, that do not, and a real one.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that cannot go on stops, with a sentence that says why"
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
