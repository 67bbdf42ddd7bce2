//! Pegboard's ranking over a catalog in a file.

use pegboard_encoder::{PackedVector, Vector};
use pegboard_search::{Index, PastCall, Query, QueryVectors, Ranking, SemanticQuery, ToolPosition};

use super::corpus::Corpus;
use super::vectors::{CachedEncoder, CorpusVectors};

/// A catalog that is searched by words, or by words and meaning.
pub struct Searcher<'a> {
    corpus: &'a Corpus,
    index: Index,
    meaning: Option<(&'a CachedEncoder, CorpusVectors)>,
}

/// An earlier query that led to a call of a tool.
#[derive(Clone)]
pub struct PastQuery {
    /// The tool that was called.
    pub tool: ToolPosition,
    vector: PackedVector,
}

impl<'a> Searcher<'a> {
    /// Indexes a catalog, and encodes it if an encoder is given.
    pub fn new(corpus: &'a Corpus, encoder: Option<&'a CachedEncoder>) -> Self {
        Self {
            corpus,
            index: corpus.index(),
            meaning: encoder.map(|encoder| (encoder, CorpusVectors::new(corpus, encoder))),
        }
    }

    /// The best tools for a query.
    pub fn search(&self, text: &str, limit: usize, history: &[PastQuery]) -> Ranking {
        let meaning = self.meaning.as_ref();
        let meaning = meaning.map(|(encoder, vectors)| {
            let encode = |text: &str| encoder.query(text).as_slice().to_vec();
            (QueryVectors::new(text, encode), vectors)
        });
        let similar = |past: &PastQuery| {
            let (vectors, _) = meaning.as_ref()?;
            let vector = Vector::from_slice(&vectors.whole)?;
            Some(PastCall {
                at: past.tool,
                similarity: past.vector.dot(&vector),
            })
        };
        let memory: Vec<PastCall> = history.iter().filter_map(similar).collect();
        let query = Query {
            text,
            meaning: meaning.as_ref().map(|(query, vectors)| SemanticQuery {
                query: &query.whole,
                steps: &query.steps,
                vectors: *vectors,
            }),
            memory: &memory,
            ..Query::default()
        };
        self.index.search(&query, limit)
    }

    /// The ids of the tools of a ranking, best first.
    pub fn ids(&self, ranking: &Ranking) -> Vec<&'a str> {
        let positions = ranking
            .hits
            .iter()
            .filter_map(|hit| self.corpus.position(hit.at));
        positions.filter_map(|at| self.corpus.id(at)).collect()
    }

    /// An entry of the search history: this query led to this tool. `None` without an encoder.
    pub fn past_query(&self, text: &str, tool: ToolPosition) -> Option<PastQuery> {
        let (encoder, _) = self.meaning.as_ref()?;
        let vector = PackedVector::from(&encoder.query(text));
        Some(PastQuery { tool, vector })
    }
}
