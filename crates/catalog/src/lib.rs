//! The immutable catalog of servers and tools, and the views of it that need no server.
//!
//! Invariant: no async, no files, no network, no processes, no clock. The current time is an argument.
//! Invariant: a `Catalog` never changes. An update builds a new one and copies one pointer per server.
//! Invariant: building and listing a catalog parses no tool definition; only describing and searching tools does.
//! Invariant: every listing is sorted by exposed name, and equal catalogs produce equal bytes.

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
mod offers;
mod parameters;
mod related;
pub mod reserved;
mod resolved;
mod reviews;
mod sample;
mod sample_pattern;
mod search;
mod sharing;
mod snapshot;
mod static_tool;
mod statistics;
mod suggest;
mod topic;
mod uri_template;
mod view;
mod word_changes;
mod words;

pub use conflict::Conflict;
pub use delta::{ChangedTool, Delta};
pub use describe::{Description, FailedRefresh, describe};
pub use difference::changed_fields;
pub use entry::ServerEntry;
pub use example::generate_example;
pub use flatten::flatten_schema;
pub use listing::{ListingFilter, write_listing};
pub use offers::{OfferView, exposed_prompt, exposed_uri};
pub use parameters::{Parameter, parameters};
pub use related::related_tools;
pub use resolved::ResolvedTool;
pub use reviews::{ReviewMark, Reviews};
pub use search::{
    Hit, HitLine, LexicalSearch, PastSearch, QueryVectors, ScoreExplanation, SearchRequest,
    SearchResults, SemanticCoverage, ToolSearch, ToolVectors, lines,
};
pub use sharing::decide_sharing;
pub use snapshot::Catalog;
pub use static_tool::{STATIC_CATEGORY, StaticTool};
pub use statistics::{CacheStatistics, CachedServer, OfferedCounts, ServerCounts, Statistics};
pub use view::ToolView;
pub use word_changes::{Change, ChangedText, FieldChange, word_changes};
