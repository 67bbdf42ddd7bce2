//! Finds the right tool: by name, by words, by meaning and by what worked before.
//!
//! Invariant: no async, no files, no network, no processes, no clock; a thread more only while many servers are
//! read or many tools compared.
//! Invariant: the same index and query give the same answer; equal hits stand in the order of their names.
//! Invariant: a segment never changes; a server that changed costs a new segment of that server only.
//! Invariant: what is read of a tool or a request has a fixed limit (see `weights`).
//! Invariant: the name of a tool, written in whatever case and with whatever separators, finds it first.

mod literal_values;
mod baseline;
mod compare;
mod scoring;
mod distance;
mod explain;
mod fusion;
mod index;
mod interner;
mod parallel_build;
mod merge;
mod named_server;
mod names;
mod fuzzy_dict;
mod parsed_query;
mod query;
mod idf;
mod segment_builder;
mod schema;
mod scratch;
mod search;
mod segment;
mod stems;
mod synonyms;
mod text;
mod tokens;
mod top_k;
mod vocabulary;
mod weights;

pub use baseline::{Baseline, Method};
pub use explain::{MatchedWord, NameMatchKind, NameMatch, MatchKind, ScoreExplanation};
pub use index::Index;
pub use parallel_build::build_segments;
pub use query::{SemanticCoverage, Ranking, Hit, QueryKind, SemanticQuery, Query, PastCall, Vectors};
pub use segment_builder::SegmentBuilder;
pub use segment::Segment;
pub use text::{ToolPosition, Field, ServerText, ToolText};
