//! Conversions, checked with hand-written tables, with the providers' rules and with generated schemas.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod corpus;
mod documents;
mod passes;
mod providers;
mod random;
