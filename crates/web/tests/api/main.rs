//! The API, in process: every route behind the guard, over servers that are plain values.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod changing;
mod openapi;
mod login;
mod site;
mod fake_servers;
mod config_admin;
mod limits;
mod events;
mod reading;
mod rules;
