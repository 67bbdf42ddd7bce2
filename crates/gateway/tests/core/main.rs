//! The gateway without a transport: lists, meta tools, calls in both eras, input, prompts and resources, sessions.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod any_message;
mod approvals;
mod calls;
mod client;
mod client_requests;
mod fake;
mod gate_machine;
mod gate_model;
mod input;
mod listening;
mod meta_tools;
mod offers;
mod read_only_twin;
mod relaying;
mod sessions;
mod surface;
mod unloaded_catalog;
