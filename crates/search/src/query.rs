//! Queries and their results.

use crate::explain::ScoreExplanation;
use crate::text::ToolPosition;

/// The confidence of the first hit below which a result contains no good match.
pub const GOOD_MATCH: f32 = 0.35;

/// A search query.
#[derive(Clone, Copy, Default)]
pub struct Query<'a> {
    /// The query text: a request in natural language, or a name.
    pub text: &'a str,
    /// The query as a vector, if an encoder is available.
    pub meaning: Option<SemanticQuery<'a>>,
    /// Similar past queries that led to a successful call.
    pub memory: &'a [PastCall],
    /// Whether hits contain an explanation, which takes additional time.
    pub explain: bool,
}

impl<'a> Query<'a> {
    /// Creates a query by words only.
    pub fn words(text: &'a str) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }
}

/// A query vector and the tool vectors to compare it with.
#[derive(Clone, Copy)]
pub struct SemanticQuery<'a> {
    /// The query vector, with length 1.
    pub query: &'a [f32],
    /// The vectors of the request's [`steps`](crate::steps), if it has several. A tool counts for the step that it is
    /// closest to.
    pub steps: &'a [Vec<f32>],
    /// The vectors of the tools.
    pub vectors: &'a dyn Vectors,
}

/// Access to the vectors of tools and servers.
pub trait Vectors: Sync {
    /// Writes the cosines of the query with the document vector and the short vector of each tool of a segment. Both
    /// slices have the length of the segment and contain NaN, which is kept for tools without a vector.
    fn similarity(&self, segment: usize, query: &[f32], document: &mut [f32], short: &mut [f32]);

    /// The cosine of the query with the vector of a segment's server, if it has one: the vector of its name and
    /// description, or the mean of its tools' document vectors if it has no description.
    fn server_similarity(&self, segment: usize, query: &[f32]) -> Option<f32> {
        let _ = (segment, query);
        None
    }
}

/// A past query that led to a successful call of a tool.
#[derive(Clone, Copy, Debug)]
pub struct PastCall {
    /// The tool that was called.
    pub at: ToolPosition,
    /// The cosine of that query with this one.
    pub similarity: f32,
}

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Ranking {
    /// The best tools, best first; ties are ordered by exposed name.
    pub hits: Vec<Hit>,
    /// Number of tools that match by name or words; at least the number of hits.
    pub total: usize,
    /// How many tools were compared by meaning.
    pub by_meaning: SemanticCoverage,
    /// How the query was interpreted.
    pub kind: QueryKind,
}

/// How many tools were compared by meaning in a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SemanticCoverage {
    /// None: there is no encoder, or no tool has a vector yet.
    None,
    /// Some: the other tools have no vector yet and are ranked by words only.
    Some,
    /// All tools.
    All,
}

/// How a query was interpreted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryKind {
    /// A request for which tools are ranked.
    Ranked,
    /// A request for the tools of the server of this segment; they are the first hits.
    NamedServer(usize),
    /// The name of the first hit or hits.
    ExactName,
}

/// A found tool.
#[derive(Clone, Debug)]
pub struct Hit {
    /// The position in the index.
    pub at: ToolPosition,
    /// The score, comparable only within one result. The tools of a named server come first regardless of their score.
    pub score: f32,
    /// The chance that the tool is the right one if it is the first hit, from 0 to 1. It has the same meaning in every
    /// result; below [`GOOD_MATCH`] the tool is only the nearest one.
    pub confidence: f32,
    /// The explanation of the score, if it was requested.
    pub why: Option<Box<ScoreExplanation>>,
}
