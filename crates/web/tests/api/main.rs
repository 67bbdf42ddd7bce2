//! The API, in process: every route behind the guard, over servers that are plain values.

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
mod openapi;
mod reading;
mod rules;
mod site;
