//! The API, in process: every route behind the guard, over servers that are plain values.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod changing;
mod described;
mod door;
mod face;
mod fake;
mod house;
mod limits;
mod listening;
mod reading;
mod rules;
