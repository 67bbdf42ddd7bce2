//! What comes out of a conversion, judged by hand-written tables, by the providers' rules and at random.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "these are tests"
)]

mod corpus;
mod documents;
mod passes;
mod providers;
mod random;
