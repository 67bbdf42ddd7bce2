//! Finding tools in a snapshot.

mod search_data;

use std::sync::{Arc, OnceLock};

use pegboard_model::{Fingerprint, ServerName};
use pegboard_search::{
    Index, PastCall, Query, QueryKind, SemanticQuery, ToolPosition, Vectors, build_segments,
};
pub use pegboard_search::{ScoreExplanation, SemanticCoverage};

pub use self::search_data::ToolVectors;
pub(crate) use self::search_data::{SearchData, segment_of_host};
use crate::entry::ServerEntry;
use crate::snapshot::Catalog;
use crate::view::ToolView;

/// What is looked for.
#[derive(Clone, Copy, Default)]
pub struct SearchRequest<'q> {
    /// The request, in words or as a name.
    pub text: &'q str,
    /// Tools that are wanted at the most.
    pub limit: usize,
    /// The vector of the request, when tools are to be found by meaning too.
    pub vector: Option<&'q [f32]>,
    /// Past requests close to this one that ended in a successful call.
    pub past_searches: &'q [PastSearch],
    /// Whether each hit says why it was found.
    pub explain: bool,
}

/// A past request that ended in a successful call of a tool.
#[derive(Clone, Debug)]
pub struct PastSearch {
    /// The tool's server.
    pub server: ServerName,
    /// The server's own name for the tool.
    pub tool: String,
    /// The tool as it was then; a changed one starts anew.
    pub fingerprint: Fingerprint,
    /// The cosine between that request and this one.
    pub similarity: f32,
}

/// What a search found.
#[derive(Debug)]
pub struct SearchResults<'a> {
    /// The best tools, the best first; equal ones by name.
    pub hits: Vec<Hit<'a>>,
    /// How many tools match at all.
    pub total: usize,
    /// How far meaning took part.
    pub by_meaning: SemanticCoverage,
    /// The server that the request names, when it asks for nothing else.
    pub server: Option<&'a Arc<ServerEntry>>,
}

/// A tool that a search found.
#[derive(Clone, Debug)]
pub struct Hit<'a> {
    /// The tool.
    pub tool: ToolView<'a>,
    /// How well it matches; comparable within one answer only.
    pub score: f32,
    /// Why it was found, when that was asked for.
    pub why: Option<Box<ScoreExplanation>>,
}

/// Finds tools for whoever asks.
pub trait ToolSearch {
    /// The tools that match a request.
    fn find<'a>(&self, catalog: &'a Catalog, text: &str, limit: usize) -> SearchResults<'a>;

    /// Whether an answer would be better later, when more tools were read for their meaning.
    fn misses_meaning(&self, catalog: &Catalog, found: &SearchResults<'_>) -> bool;
}

/// Finds tools by words alone.
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

/// The index over all servers, and which segment is which server's.
#[derive(Debug)]
struct SearchIndex {
    index: Index,
    /// The place in the catalog of each segment's server; the segment after the last is the host program's.
    servers: Vec<usize>,
}

/// The index of a snapshot, made at the first search and handed on to snapshots with the same texts.
#[derive(Clone, Debug, Default)]
pub(crate) struct LazyIndex(Arc<OnceLock<SearchIndex>>);

impl Catalog {
    /// The tools that match a request by words, the best first.
    pub fn search(&self, text: &str, limit: usize) -> Vec<Hit<'_>> {
        LexicalSearch.find(self, text, limit).hits
    }

    /// The tools that match a request.
    pub fn find_tools(&self, request: &SearchRequest<'_>) -> SearchResults<'_> {
        let search_index = self.search_index();
        let vectors = KnownVectors {
            catalog: self,
            servers: &search_index.servers,
        };
        let memory = self.remembered(search_index, request.past_searches);
        let query = Query {
            text: request.text,
            meaning: request.vector.map(|query| SemanticQuery {
                query,
                vectors: &vectors,
            }),
            memory: &memory,
            explain: request.explain,
        };
        // A tool of the host program hides a server's of the same name, which the index does not know.
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
            let of_host = Arc::new(segment_of_host(self.offered_static_tools()));
            SearchIndex {
                index: Index::new(segments.into_iter().chain([of_host])),
                servers,
            }
        })
    }

    fn offered_static_tools(&self) -> impl Iterator<Item = ToolView<'_>> {
        let tools = self.static_tools().map(ToolView::of_host);
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
