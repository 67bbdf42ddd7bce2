//! Searches the tools of a snapshot.

mod search_data;
mod twins;

use std::sync::{Arc, OnceLock};

use pegboard_model::{Fingerprint, ServerName};
use pegboard_search::{
    GOOD_MATCH, Index, PastCall, Query, QueryKind, SemanticQuery, ToolPosition, Vectors,
    build_segments, contains_phrase, tasks,
};
pub use pegboard_search::{QueryVectors, ScoreExplanation, SemanticCoverage};

pub use self::search_data::ToolVectors;
pub(crate) use self::search_data::{SearchData, static_segment};
pub use self::twins::{HitLine, lines};
use crate::entry::ServerEntry;
use crate::snapshot::Catalog;
use crate::view::ToolView;

/// A search for tools.
#[derive(Clone, Copy, Default)]
pub struct SearchRequest<'q> {
    /// The query: words or a name.
    pub text: &'q str,
    /// Maximum number of hits.
    pub limit: usize,
    /// The query's embeddings, for semantic search.
    pub vectors: Option<&'q QueryVectors>,
    /// Similar past queries that led to a successful call.
    pub past_searches: &'q [PastSearch],
    /// Whether each hit explains why it was found.
    pub explain: bool,
}

/// A past query that led to a successful call of a tool.
#[derive(Clone, Debug)]
pub struct PastSearch {
    /// The tool's server.
    pub server: ServerName,
    /// The tool's name on its server.
    pub tool: String,
    /// The tool's fingerprint at that time. A changed tool is not boosted.
    pub fingerprint: Fingerprint,
    /// Cosine similarity of the past query and the current one.
    pub similarity: f32,
}

/// The result of a search.
#[derive(Debug)]
pub struct SearchResults<'a> {
    /// The best tools, best first; equal scores are sorted by name.
    pub hits: Vec<Hit<'a>>,
    /// Number of tools that match.
    pub total: usize,
    /// How much semantic search contributed.
    pub by_meaning: SemanticCoverage,
    /// The server named by the query, if the query is nothing but a server's name.
    pub server: Option<&'a Arc<ServerEntry>>,
}

impl SearchResults<'_> {
    /// Returns whether the first hit is likely to be what was searched. If not, the hits are only the nearest tools.
    pub fn has_good_match(&self) -> bool {
        let first = self.hits.first();
        self.server.is_some() || first.is_some_and(|hit| hit.confidence >= GOOD_MATCH)
    }
}

/// A tool that matches a query.
#[derive(Clone, Debug)]
pub struct Hit<'a> {
    /// The tool.
    pub tool: ToolView<'a>,
    /// The score, comparable only within one result.
    pub score: f32,
    /// The chance that the tool is the right one if it is the first hit, from 0 to 1; comparable between results.
    pub confidence: f32,
    /// The explanation, if it was requested.
    pub why: Option<Box<ScoreExplanation>>,
}

/// A search implementation.
pub trait ToolSearch {
    /// Returns the tools that match a query.
    fn find<'a>(&self, catalog: &'a Catalog, text: &str, limit: usize) -> SearchResults<'a>;

    /// Returns the tools for each step of a query that asks for several things, at most `limit` for each. Empty for
    /// other queries.
    fn find_tasks<'a>(
        &self,
        catalog: &'a Catalog,
        text: &str,
        limit: usize,
    ) -> Vec<(String, Vec<Hit<'a>>)> {
        let tasks = tasks(text).into_iter();
        let find = |task: &str| (task.to_owned(), self.find(catalog, task, limit).hits);
        tasks.map(find).collect()
    }

    /// Returns whether a later search may rank better because some tools have no embeddings yet.
    fn misses_meaning(&self, catalog: &Catalog, found: &SearchResults<'_>) -> bool;
}

/// Searches by words only.
#[derive(Clone, Copy, Debug, Default)]
pub struct LexicalSearch;

impl ToolSearch for LexicalSearch {
    fn find<'a>(&self, catalog: &'a Catalog, text: &str, limit: usize) -> SearchResults<'a> {
        catalog.find_tools(&SearchRequest {
            text,
            limit,
            ..SearchRequest::default()
        })
    }

    fn misses_meaning(&self, _catalog: &Catalog, _found: &SearchResults<'_>) -> bool {
        false
    }
}

/// The index over all offered servers.
#[derive(Debug)]
struct SearchIndex {
    index: Index,
    /// The position in the catalog of each segment's server. The segment after the last one holds the static tools.
    servers: Vec<usize>,
}

/// The index of a snapshot. It is built by the first search and shared with later snapshots that have the same texts.
#[derive(Clone, Debug, Default)]
pub(crate) struct LazyIndex(Arc<OnceLock<SearchIndex>>);

impl Catalog {
    /// Searches by words only; returns the best hits first.
    pub fn search(&self, text: &str, limit: usize) -> Vec<Hit<'_>> {
        LexicalSearch.find(self, text, limit).hits
    }

    /// Returns the tools that match a request.
    pub fn find_tools(&self, request: &SearchRequest<'_>) -> SearchResults<'_> {
        let search_index = self.search_index();
        let vectors = KnownVectors {
            catalog: self,
            servers: &search_index.servers,
        };
        let mut memory = self.remembered(search_index, request.past_searches);
        memory.extend(self.aliased(search_index, request.text));
        let query = Query {
            text: request.text,
            meaning: request.vectors.map(|query| SemanticQuery {
                query: &query.whole,
                steps: &query.steps,
                vectors: &vectors,
            }),
            memory: &memory,
            explain: request.explain,
        };
        // A static tool hides a server's tool of the same name; the index does not know about that.
        let hidden = self.conflicts().len();
        let found = search_index
            .index
            .search(&query, request.limit.saturating_add(hidden));
        let server = match found.kind {
            QueryKind::NamedServer(segment) => self.server_of_segment(search_index, segment),
            QueryKind::Ranked | QueryKind::ExactName => None,
        };
        let mut hits: Vec<Hit<'_>> = found
            .hits
            .into_iter()
            .filter_map(|hit| {
                Some(Hit {
                    tool: self.tool_at(search_index, hit.at)?,
                    score: hit.score,
                    confidence: hit.confidence,
                    why: hit.why,
                })
            })
            .collect();
        hits.truncate(request.limit);
        SearchResults {
            hits,
            total: found.total.saturating_sub(hidden),
            by_meaning: found.by_meaning,
            server,
        }
    }

    fn search_index(&self) -> &SearchIndex {
        self.lazy_index().0.get_or_init(|| {
            let offered = self
                .servers()
                .enumerate()
                .filter(|(_, entry)| entry.is_offered());
            let (servers, entries): (Vec<usize>, Vec<&Arc<ServerEntry>>) = offered.unzip();
            let segments = build_segments(&entries, |entry, reader| entry.segment(reader));
            let static_tools = Arc::new(static_segment(self.offered_static_tools()));
            SearchIndex {
                index: Index::new(segments.into_iter().chain([static_tools])),
                servers,
            }
        })
    }

    fn offered_static_tools(&self) -> impl Iterator<Item = ToolView<'_>> {
        let tools = self.static_tools().map(ToolView::of_static);
        tools.filter(ToolView::enabled)
    }

    fn server_of_segment(
        &self,
        search_index: &SearchIndex,
        segment: usize,
    ) -> Option<&Arc<ServerEntry>> {
        self.server_at(*search_index.servers.get(segment)?)
    }

    fn tool_at(&self, search_index: &SearchIndex, at: ToolPosition) -> Option<ToolView<'_>> {
        match self.server_of_segment(search_index, at.segment) {
            Some(entry) => {
                let view = entry.tool_of_segment(at.tool)?;
                let is_hidden = self.static_tool(view.exposed().as_str()).is_some();
                (!is_hidden).then_some(view)
            }
            None => self.offered_static_tools().nth(at.tool),
        }
    }

    fn remembered(
        &self,
        search_index: &SearchIndex,
        past_searches: &[PastSearch],
    ) -> Vec<PastCall> {
        let place = |past: &PastSearch| {
            let position = self.position(&past.server)?;
            let segment = search_index.servers.binary_search(&position).ok()?;
            let entry = self.server_at(position)?;
            let tool = entry.place_in_segment(&past.tool)?;
            let present = entry.tool_of_segment(tool)?.tool()?.fingerprint;
            let at = ToolPosition { segment, tool };
            (present == past.fingerprint).then_some(PastCall {
                at,
                similarity: past.similarity,
            })
        };
        past_searches.iter().filter_map(place).collect()
    }

    /// The tools of which the query contains an alias. They count like a past search with the same words.
    fn aliased(&self, search_index: &SearchIndex, text: &str) -> Vec<PastCall> {
        let mut found = Vec::new();
        for (segment, server) in search_index.servers.iter().enumerate() {
            let Some(entry) = self.server_at(*server) else {
                continue;
            };
            for (name, own) in &entry.spec.tools {
                let is_meant = own.aliases.iter().any(|alias| contains_phrase(text, alias));
                let tool = is_meant.then(|| entry.place_in_segment(name)).flatten();
                found.extend(tool.map(|tool| PastCall {
                    at: ToolPosition { segment, tool },
                    similarity: 1.0,
                }));
            }
        }
        found
    }
}

struct KnownVectors<'a> {
    catalog: &'a Catalog,
    servers: &'a [usize],
}

impl Vectors for KnownVectors<'_> {
    fn similarity(&self, segment: usize, query: &[f32], document: &mut [f32], short: &mut [f32]) {
        let entry = self
            .servers
            .get(segment)
            .and_then(|at| self.catalog.server_at(*at));
        if let Some(vectors) = entry.and_then(|entry| entry.vectors()) {
            vectors.similarity(query, document, short);
        }
    }

    fn server_similarity(&self, segment: usize, query: &[f32]) -> Option<f32> {
        let entry = self.catalog.server_at(*self.servers.get(segment)?)?;
        entry.vectors()?.server_similarity(query)
    }
}
