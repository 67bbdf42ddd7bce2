//! Tool search by name, words, meaning and past calls.
//!
//! Invariant: no async, no files, no network, no processes, no clock. Additional threads run only while many servers are
//! indexed or many tools are compared, and end before the function returns.
//! Invariant: the same index and query give the same result; hits with equal scores are ordered by name.
//! Invariant: segments are immutable; a changed server needs a new segment for that server only.
//! Invariant: what is read of a tool or a query is bounded (see `weights`).
//! Invariant: a query that is a tool name, in any case and with any separators, ranks that tool first.

mod actions;
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
mod query_vectors;
mod schema;
mod scoring;
mod scratch;
mod search;
mod segment;
mod segment_builder;
mod stems;
mod steps;
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
    GOOD_MATCH, Hit, PastCall, Query, QueryKind, Ranking, SemanticCoverage, SemanticQuery, Vectors,
};
pub use query_vectors::QueryVectors;
pub use segment::Segment;
pub use segment_builder::SegmentBuilder;
pub use steps::{contains_phrase, steps, tasks};
pub use text::{Field, ServerText, ToolPosition, ToolText};
