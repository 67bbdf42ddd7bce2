//! The optional search history: searches that led to a successful call.
//!
//! A call counts only if it follows a search of the same session that showed the tool, once per search, and only if
//! it succeeded. A tool's gain is capped and the number of queries per tool is limited, so that a server cannot
//! promote itself by its own calls.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use pegboard_catalog::{PastSearch, SearchResults, ToolView};
use pegboard_model::ToolResult;
use pegboard_store::RememberedQuery;
use tokio::sync::OnceCell;

use super::Meaning;
use crate::calls::SessionId;
use crate::hub::{Hub, Inner};
use crate::sync::lock;

/// Cosine below which a past query is unrelated.
const CLOSE: f32 = 0.5;
/// Sessions whose last searches are kept.
const SESSIONS: usize = 256;
/// Searches kept per session.
const SEARCHES: usize = 4;
/// Tools kept per search.
const SHOWN: usize = 10;
/// Cosine above which a query adds nothing to one that is remembered for the same tool.
const SAME: f32 = 0.97;

/// The remembered queries and the recent searches that may be added to them.
pub(super) struct SearchHistory {
    enabled: bool,
    remembered: Mutex<VecDeque<RememberedQuery>>,
    loaded: OnceCell<()>,
    searched: Mutex<RecentSearches>,
}

#[derive(Default)]
struct RecentSearches {
    by_session: HashMap<SessionId, VecDeque<Search>>,
    order: VecDeque<SessionId>,
}

struct Search {
    vector: Arc<[f32]>,
    /// The exposed names of the tools that were shown.
    shown: Vec<String>,
}

impl SearchHistory {
    pub(super) fn new(enabled: bool) -> Self {
        Self {
            enabled,
            remembered: Mutex::default(),
            loaded: OnceCell::new(),
            searched: Mutex::default(),
        }
    }

    pub(super) async fn load(&self, inner: &Inner, meaning: &Meaning) {
        if !self.enabled {
            return;
        }
        let load = || async {
            match inner.store.load_queries(meaning.encoder.model()).await {
                Ok(kept) => *lock(&self.remembered) = kept.into(),
                Err(error) => {
                    tracing::warn!(target: "pegboard", "cannot read past searches: {error}")
                }
            }
        };
        self.loaded.get_or_init(load).await;
    }

    /// Returns the past queries that are close to this one.
    pub(super) fn close_to(&self, meaning: &Meaning, vector: &[f32]) -> Vec<PastSearch> {
        if !self.enabled {
            return Vec::new();
        }
        let remembered = lock(&self.remembered);
        let close = remembered.iter().filter_map(|past| {
            let similarity = meaning.encoder.cosine(vector, &past.vector)?;
            (similarity > CLOSE).then(|| PastSearch {
                server: past.server.clone(),
                tool: past.tool.clone(),
                fingerprint: past.fingerprint,
                similarity,
            })
        });
        close.collect()
    }

    /// Records that a session was shown tools.
    pub(super) fn searched(
        &self,
        session: &SessionId,
        vector: &Arc<[f32]>,
        found: &SearchResults<'_>,
    ) {
        if !self.enabled || found.hits.is_empty() {
            return;
        }
        let shown = found.hits.iter().take(SHOWN);
        let search = Search {
            vector: vector.clone(),
            shown: shown.map(|hit| hit.tool.exposed().to_string()).collect(),
        };
        let mut searched = lock(&self.searched);
        if !searched.by_session.contains_key(session) {
            if searched.order.len() >= SESSIONS
                && let Some(oldest) = searched.order.pop_front()
            {
                searched.by_session.remove(&oldest);
            }
            searched.order.push_back(session.clone());
        }
        let searches = searched.by_session.entry(session.clone()).or_default();
        if searches.len() >= SEARCHES {
            searches.pop_front();
        }
        searches.push_back(search);
    }

    /// Returns the search that led a session to this tool, and uses it up for that tool.
    fn led_to(&self, session: &SessionId, exposed: &str) -> Option<Arc<[f32]>> {
        let mut searched = lock(&self.searched);
        let searches = searched.by_session.get_mut(session)?;
        let search = searches
            .iter_mut()
            .rev()
            .find(|search| search.shown.iter().any(|name| name == exposed))?;
        search.shown.retain(|name| name != exposed);
        Some(search.vector.clone())
    }
}

impl Hub {
    /// Deletes all remembered searches and returns their number.
    ///
    /// # Errors
    /// Fails if the store cannot be written.
    pub async fn forget_searches(&self) -> ToolResult<usize> {
        lock(&self.inner.search.history.remembered).clear();
        self.inner.store.clear_queries().await
    }
}

impl Inner {
    /// Remembers the search that led to a successful call, if there was one.
    pub(crate) fn remember_successful_search(
        self: &Arc<Self>,
        session: &SessionId,
        view: &ToolView<'_>,
    ) {
        if !self.search.history.enabled {
            return;
        }
        let (Some(meaning), Some(server), Some(tool)) =
            (&self.search.meaning, view.server(), view.tool())
        else {
            return;
        };
        let Some(vector) = self.search.history.led_to(session, view.exposed().as_str()) else {
            return;
        };
        let query = RememberedQuery {
            server: server.clone(),
            tool: tool.name.clone(),
            fingerprint: tool.fingerprint,
            vector: meaning.encoder.pack(&vector),
            at: self.clock.now(),
        };
        {
            let mut remembered = lock(&self.search.history.remembered);
            let is_known = remembered.iter().any(|past| {
                past.server == query.server
                    && past.tool == query.tool
                    && past.fingerprint == query.fingerprint
                    && meaning.encoder.cosine(&vector, &past.vector) > Some(SAME)
            });
            if is_known {
                return;
            }
            remembered.push_front(query.clone());
            remembered.truncate(pegboard_store::MAX_REMEMBERED_QUERIES);
        }
        let inner = self.clone();
        self.tasks.spawn_to_end(async move {
            let Some(meaning) = &inner.search.meaning else {
                return;
            };
            if let Err(error) = inner.store.remember(meaning.encoder.model(), query).await {
                tracing::warn!(target: "pegboard", "cannot store a search: {error}");
            }
        });
    }
}
