//! Large results of tools, kept aside so that a model can read them in parts.
//!
//! [`ResultStore::shorten`] gives the first part of a result that is too large and keeps the whole; the part says how
//! much there is and how to read on. [`read`] gives a further part: by position, by words, or by a JSON pointer.
//!
//! Invariant: nothing is cut silently, and whatever is kept is bounded in size and time.
//! Invariant: a result that is small enough stays the bytes that its server wrote.

#![allow(
    clippy::result_large_err,
    reason = "errors are rare and read by field; boxing them would only hide that"
)]

pub mod members;
mod read;
mod result_store;

pub use read::{ReadResultArgs, read};
pub use result_store::{ResultStore, StoredResult};
