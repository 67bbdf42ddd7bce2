//! Finds the right tool: by name, by words, by meaning and by what worked before.
//!
//! Invariant: no async, no files, no network, no processes, no clock; a thread more only while many servers are
//! read or many tools compared.
//! Invariant: the same index and query give the same answer; equal hits stand in the order of their names.
//! Invariant: a segment never changes; a server that changed costs a new segment of that server only.
//! Invariant: what is read of a tool or a request has a fixed limit (see `weights`).
//! Invariant: the name of a tool, written in whatever case and with whatever separators, finds it first.

mod compare;
mod distance;
mod explain;
mod fusion;
mod fuzzy_dict;
mod idf;
mod index;
mod interner;
mod literal_values;
mod merge;
mod named_server;
mod names;
mod parallel_build;
mod parsed_query;
mod query;
mod schema;
mod scoring;
mod scratch;
mod search;
mod segment;
mod segment_builder;
mod stems;
mod synonyms;
mod text;
mod tokens;
mod top_k;
mod vocabulary;
mod weights;

pub use explain::{MatchKind, MatchedWord, NameMatch, NameMatchKind, ScoreExplanation};
pub use index::Index;
pub use parallel_build::build_segments;
pub use query::{
    Hit, PastCall, Query, QueryKind, Ranking, SemanticCoverage, SemanticQuery, Vectors,
};
pub use segment::Segment;
pub use segment_builder::SegmentBuilder;
pub use text::{Field, ServerText, ToolPosition, ToolText};
