//! The authorization server for tests does what its table of behaviours says.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod deviations;
mod flows;
mod hostile_forms;
mod login;
mod partners;
