//! Searching the catalog.

use pegboard_catalog::{Catalog, SearchRequest, SearchResults, SemanticCoverage, ToolSearch};
use pegboard_model::{SearchFacts, SpanContext};
use tokio::time::Instant;

use crate::calls::SessionId;
use crate::hub::Hub;
use crate::telemetry::TraceScope;

/// Searches tools for one session, by words, by meaning and by past searches.
#[derive(Clone)]
pub struct Finder {
    hub: Hub,
    session: Option<SessionId>,
    explain: bool,
    words_only: bool,
    above: Option<SpanContext>,
}

impl Hub {
    /// Returns a finder. With a session, a call that follows a search can be remembered for it.
    pub fn finder(&self, session: Option<SessionId>) -> Finder {
        Finder {
            hub: self.clone(),
            session,
            explain: false,
            words_only: false,
            above: None,
        }
    }
}

impl Finder {
    /// Also explains why each tool was found.
    #[must_use]
    pub fn explaining(mut self) -> Self {
        self.explain = true;
        self
    }

    /// Records the search below this span.
    #[must_use]
    pub fn below(mut self, span: Option<SpanContext>) -> Self {
        self.above = span;
        self
    }

    /// Searches by words only.
    #[must_use]
    pub fn by_words(mut self) -> Self {
        self.words_only = true;
        self
    }
}

impl ToolSearch for Finder {
    fn find<'a>(&self, catalog: &'a Catalog, text: &str, limit: usize) -> SearchResults<'a> {
        let started = Instant::now();
        let recorder = self.hub.inner.telemetry.recorder();
        let span = match recorder.is_tracing() {
            true => {
                let trace = TraceScope::below(self.above.as_ref());
                self.hub.inner.telemetry.begin(&trace, "search")
            }
            false => None,
        };
        let found = self.found(catalog, text, limit);
        let names = || {
            let hits = found.hits.iter();
            hits.map(|hit| hit.tool.exposed().to_string()).collect()
        };
        let facts = SearchFacts {
            query: text,
            found: found.total,
            names: &names,
            took: started.elapsed(),
        };
        recorder.search(span.as_ref(), &facts);
        found
    }

    fn misses_meaning(&self, catalog: &Catalog, found: &SearchResults<'_>) -> bool {
        // Tools of the host program have no vectors.
        let is_unread = || catalog.servers().any(|entry| entry.needs_vectors());
        let wants_meaning = self.hub.has_encoder() && !self.words_only;
        wants_meaning && found.by_meaning != SemanticCoverage::All && is_unread()
    }
}

impl Finder {
    fn found<'a>(&self, catalog: &'a Catalog, text: &str, limit: usize) -> SearchResults<'a> {
        let inner = &self.hub.inner;
        let request = SearchRequest {
            text,
            limit,
            explain: self.explain,
            ..SearchRequest::default()
        };
        let has_vectors = || catalog.servers().any(|entry| entry.vectors().is_some());
        let meaning = inner
            .search
            .meaning
            .as_ref()
            .filter(|_| !self.words_only && has_vectors());
        let Some(meaning) = meaning else {
            return catalog.find_tools(&request);
        };
        let vectors = meaning.vectors(text);
        let past_searches = inner.search.history.close_to(meaning, &vectors.whole);
        let found = catalog.find_tools(&SearchRequest {
            vectors: Some(&vectors),
            past_searches: &past_searches,
            ..request
        });
        if let Some(session) = &self.session {
            inner.search.history.searched(session, &vectors, &found);
        }
        found
    }
}
