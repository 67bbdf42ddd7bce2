//! Everything that is known of servers and tools without talking to any server, and every view of it.
//!
//! Invariant: no async, no files, no network, no processes, no threads, no clock: time comes in as an
//! argument.
//! Invariant: a `Catalog` never changes; a change makes a new one, at the cost of one pointer a server.
//! Invariant: making and listing a catalog parses no definition; only looking closely at one tool does.
//! Invariant: every listing is sorted by exposed name, and the same catalog gives the same bytes.

#![allow(
    clippy::result_large_err,
    reason = "errors are rare and read by people; boxing each would help nobody"
)]

pub mod brief;
mod conflict;
mod delta;
mod describe;
mod difference;
mod entry;
mod example;
mod find;
mod flatten;
mod listing;
mod look_alike;
pub mod meta;
mod offers;
mod parameters;
mod related;
mod resolved;
mod sample;
mod sample_pattern;
mod search;
mod snapshot;
mod static_tool;
mod statistics;
mod suggest;
mod topic;
mod uri_template;
mod view;
mod words;

pub use brief::{
    Detail, ListRequest, context_summary, describe_json, describe_text, list_json, list_text,
    search_text,
};
pub use conflict::Conflict;
pub use delta::{ChangedTool, Delta};
pub use describe::{Description, FailedRefresh, describe};
pub use difference::changed_fields;
pub use entry::ServerEntry;
pub use example::generate_example;
pub use listing::{ListingFilter, write_listing};
pub use offers::{OfferView, exposed_prompt, exposed_uri};
pub use parameters::{Parameter, parameters};
pub use resolved::ResolvedTool;
pub use search::{
    Hit, LexicalSearch, PastSearch, ScoreExplanation, SearchRequest, SearchResults,
    SemanticCoverage, ToolSearch, ToolVectors,
};
pub use snapshot::Catalog;
pub use static_tool::{STATIC_CATEGORY, StaticTool};
pub use statistics::{CacheStatistics, CachedServer, OfferedCounts, ServerCounts, Statistics};
pub use view::ToolView;
