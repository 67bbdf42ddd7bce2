//! The catalog as its readers use it.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a broken fixture must fail its test"
)]

mod changes;
mod describing;
mod fixture;
mod listing;
mod names;
mod offers;
mod registry;
mod searching;
mod sharing;
