//! The memory of searches that led to a successful call, when the user wants one.
//!
//! Only a call that follows a search of the same session counts, only for a tool that the search showed, only
//! once per search, and never when it failed. What a tool can gain is capped, and each tool holds only so many
//! queries, so that no server lifts itself above others by calling itself.

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

/// Below this cosine a past query has nothing to do with a new one.
const CLOSE: f32 = 0.5;
/// Sessions whose last searches are at hand.
const SESSIONS: usize = 256;
/// Searches of one session that a call can follow.
const SEARCHES: usize = 4;
/// Tools of one search that a call can follow.
const SHOWN: usize = 10;
/// A new query this close to one that is remembered for the tool says nothing new.
const SAME: f32 = 0.97;

/// What is remembered, and what may be next.
pub(super) struct SearchMemory {
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

impl SearchMemory {
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
                    tracing::warn!(target: "pegboard", "past searches are not read: {error}")
                }
            }
        };
        self.loaded.get_or_init(load).await;
    }

    /// The past queries that are close to this one.
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

    /// A session was shown tools.
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

    /// A session called a tool with success. The search that showed it is used up for that tool.
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
    /// Forgets every search that was remembered and says how many there were.
    pub async fn forget_searches(&self) -> ToolResult<usize> {
        lock(&self.inner.search.memory.remembered).clear();
        self.inner.store.clear_queries().await
    }
}

impl Inner {
    /// Remembers the search that led to a successful call, if one did.
    pub(crate) fn remember_successful_search(
        self: &Arc<Self>,
        session: &SessionId,
        view: &ToolView<'_>,
    ) {
        if !self.search.memory.enabled {
            return;
        }
        let (Some(meaning), Some(server), Some(tool)) =
            (&self.search.meaning, view.server(), view.tool())
        else {
            return;
        };
        let Some(vector) = self.search.memory.led_to(session, view.exposed().as_str()) else {
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
            let mut remembered = lock(&self.search.memory.remembered);
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
                tracing::warn!(target: "pegboard", "a search is not remembered: {error}");
            }
        });
    }
}
