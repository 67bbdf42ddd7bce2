//! Stores large tool results so that a model can read them in parts.
//!
//! [`ResultStore::shorten`] replaces a result that is too large by its first part and stores the whole. The part
//! says how much there is and how to continue. [`read`] returns further parts: by offset, by pattern, or by JSON
//! pointer.
//!
//! Invariant: nothing is truncated silently, and stored results are limited in size and time.
//! Invariant: a result that is small enough is not changed.

#![allow(
    clippy::result_large_err,
    reason = "errors are rare, and callers read their fields"
)]

pub mod members;
mod read;
mod result_store;

pub use read::{ReadResultArgs, read};
pub use result_store::{ResultStore, StoredResult};
