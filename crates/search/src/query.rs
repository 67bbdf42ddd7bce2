//! A question and its answer.

use crate::explain::ScoreExplanation;
use crate::text::ToolPosition;

/// What is looked for.
#[derive(Clone, Copy, Default)]
pub struct Query<'a> {
    /// The request in somebody's own words, or a name.
    pub text: &'a str,
    /// The request as a vector, when there is an encoder.
    pub meaning: Option<SemanticQuery<'a>>,
    /// Past requests close to this one that ended in a successful call.
    pub memory: &'a [PastCall],
    /// Whether each hit says why it was found, which costs time.
    pub explain: bool,
}

impl<'a> Query<'a> {
    /// A search by words alone.
    pub fn words(text: &'a str) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }
}

/// A request as vectors, and the vectors of the tools to compare it with.
#[derive(Clone, Copy)]
pub struct SemanticQuery<'a> {
    /// The whole request, of length one.
    pub query: &'a [f32],
    /// The vectors of the tools.
    pub vectors: &'a dyn Vectors,
}

/// The vectors of the tools, wherever they are kept.
pub trait Vectors: Sync {
    /// Writes the cosine between a request and each tool of one segment: with the tool's document vector and
    /// with its short vector. Both slices are as long as the segment and hold `NaN`, which stays where a vector
    /// is not known yet.
    fn similarity(&self, segment: usize, query: &[f32], document: &mut [f32], short: &mut [f32]);

    /// The cosine between a request and the vector of a segment's server, where that is known: its name and
    /// description as a document, or the mean of its tools' document vectors when it says nothing.
    fn server_similarity(&self, segment: usize, query: &[f32]) -> Option<f32> {
        let _ = (segment, query);
        None
    }
}

/// A past request that ended in a successful call of a tool.
#[derive(Clone, Copy, Debug)]
pub struct PastCall {
    /// The tool that was called.
    pub at: ToolPosition,
    /// The cosine between that request and this one.
    pub similarity: f32,
}

/// What a search found.
#[derive(Clone, Debug)]
pub struct Ranking {
    /// The best tools, the best first; equal ones by exposed name.
    pub hits: Vec<Hit>,
    /// How many tools share a name or a word with the request, or all hits where meaning found more.
    pub total: usize,
    /// How far meaning took part.
    pub by_meaning: SemanticCoverage,
    /// What kind of request it was taken for.
    pub kind: QueryKind,
}

/// How far meaning took part in a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SemanticCoverage {
    /// Words alone: there was no encoder, or no tool has a vector yet.
    None,
    /// Some tools have no vector yet; words alone speak for them.
    Some,
    /// Every tool was compared.
    All,
}

/// What a request was taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryKind {
    /// A request that tools are ranked for.
    Ranked,
    /// The server of this segment is asked for; its tools are the first hits.
    NamedServer(usize),
    /// It is the name of the first hit or hits.
    ExactName,
}

/// A tool that was found.
#[derive(Clone, Debug)]
pub struct Hit {
    /// Where it stands.
    pub at: ToolPosition,
    /// How well it matches; comparable within one answer only. Where a server is asked for, its tools come first
    /// whatever the scores.
    pub score: f32,
    /// ScoreExplanation it was found, when that was asked for.
    pub why: Option<Box<ScoreExplanation>>,
}
