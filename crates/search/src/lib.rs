//! Finds the right tool: by name, by words, by meaning and by what worked before.
//!
//! Invariant: no async, no files, no network, no processes, no clock; a thread more only while many servers are
//! read or many tools compared.
//! Invariant: the same index and query give the same answer; equal hits stand in the order of their names.
//! Invariant: a segment never changes; a server that changed costs a new segment of that server only.
//! Invariant: what is read of a tool or a request has a fixed limit (see `weights`).
//! Invariant: the name of a tool, written in whatever case and with whatever separators, finds it first.

mod arguments;
mod baseline;
mod compare;
mod count;
mod distance;
mod explain;
mod fuse;
mod index;
mod interner;
mod many;
mod merge;
mod named_server;
mod names;
mod near;
mod parsed;
mod query;
mod rarity;
mod reader;
mod schema;
mod scratch;
mod search;
mod segment;
mod stems;
mod synonyms;
mod text;
mod tokens;
mod top;
mod vocabulary;
mod weights;

pub use baseline::{Baseline, Method};
pub use explain::{MatchedWord, NameKind, NameMatch, Via, Why};
pub use index::Index;
pub use many::read_each;
pub use query::{ByMeaning, Found, Hit, Kind, Meaning, Query, Remembered, Vectors};
pub use reader::Reader;
pub use segment::Segment;
pub use text::{At, Field, ServerText, ToolText};
