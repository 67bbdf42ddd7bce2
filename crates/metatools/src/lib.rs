//! The meta tools: a few small tools that search, list, describe and call all others.
//!
//! The gateway and the agent offer the same [`definitions()`], parse calls with [`MetaCall::parse`] and run lookups with
//! [`Lookup::run`]. A result that is too large for a model is replaced by its first part ([`ResultStore::shorten`]) and
//! read in further parts with `read_result`.
//!
//! Invariant: no async, no files, no network, no processes, no clock. The current time is an argument.
//! Invariant: lists and summaries stay below 500 tokens for every catalog, descriptions below 400 for usual tools.
//! Invariant: equal catalogs produce equal bytes.
//! Invariant: nothing is truncated silently, and stored results are limited in size and time.
//! Invariant: a result that is small enough is not changed.

mod args;
mod definitions;
mod model_text;
mod read_result;
mod result_store;
mod runner;

pub use args::{CallToolArgs, MAX_BATCH};
pub use definitions::{DIRECT_INSTRUCTIONS, INSTRUCTIONS, LISTED_TOOLS_HINT, definitions};
pub use model_text::{
    Detail, ESSENTIAL_PATTERNS, ListRequest, MAX_HITS, context_summary, describe_json,
    describe_text, list_json, list_text, search_text,
};
pub use pegboard_catalog::reserved::{
    CALL, CALL_READ_ONLY, DESCRIBE, LIST, READ_RESULT, SEARCH, is_call_tool, is_meta_tool,
};
pub use result_store::ResultStore;
pub use runner::{Lookup, MetaCall, is_slow_search};
