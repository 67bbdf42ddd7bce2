//! Tests of the API, in process, with access checks and servers in memory.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod changing;
mod config_admin;
mod events;
mod fake_servers;
mod limits;
mod login;
mod model_calls;
mod openapi;
mod process;
mod reading;
mod rules;
mod site;
