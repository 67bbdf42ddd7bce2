//! The search history: searches that led to a successful call, and those that the user taught.
//!
//! A call counts only if it follows a search of the same session that showed the tool, once per search, and only if
//! it succeeded. A tool's gain is capped and the number of queries per tool is limited, so that a server cannot
//! promote itself by its own calls.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use pegboard_catalog::{PastSearch, QueryVectors, SearchResults, ToolView};
use pegboard_model::{Reason, ServerName, Tool, ToolError, ToolResult};
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
/// Longest query that the user may teach.
const TAUGHT_CHARACTERS: usize = 500;

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
    vectors: Arc<QueryVectors>,
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
        vectors: &Arc<QueryVectors>,
        found: &SearchResults<'_>,
    ) {
        if !self.enabled || found.hits.is_empty() {
            return;
        }
        let shown = found.hits.iter().take(SHOWN);
        let search = Search {
            vectors: vectors.clone(),
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
    fn led_to(&self, session: &SessionId, exposed: &str) -> Option<Arc<QueryVectors>> {
        let mut searched = lock(&self.searched);
        let searches = searched.by_session.get_mut(session)?;
        let search = searches
            .iter_mut()
            .rev()
            .find(|search| search.shown.iter().any(|name| name == exposed))?;
        search.shown.retain(|name| name != exposed);
        Some(search.vectors.clone())
    }
}

fn cannot_teach(reason: &str, setting: &str) -> ToolError {
    let message = format!("cannot remember the query: {reason}");
    ToolError::new(Reason::ArgsInvalid, message)
        .with_remedy(format!("Set `{setting} = true` in the settings."))
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

    /// Remembers on the user's behalf that a query means a tool, given by any of its names. Only a person's own
    /// channel may call this.
    ///
    /// # Errors
    /// Fails with `TOOL_UNKNOWN` if the tool is unknown or belongs to the host program, with `ARGS_INVALID` if
    /// nothing may be remembered or searches do not compare meaning, and if the store cannot be written.
    pub async fn teach_search(&self, query: &str, tool: &str) -> ToolResult<()> {
        let inner = &self.inner;
        let Some(meaning) = inner.search.meaning.as_ref() else {
            return Err(cannot_teach(
                "searches do not compare meaning",
                "search_by_meaning",
            ));
        };
        if !inner.search.history.enabled {
            return Err(cannot_teach(
                "searches are not remembered",
                "remember_searches",
            ));
        }
        let query = query.trim();
        if query.is_empty() || query.chars().count() > TAUGHT_CHARACTERS {
            let message = format!("the query must have 1 to {TAUGHT_CHARACTERS} characters");
            return Err(ToolError::new(Reason::ArgsInvalid, message).at_field("query"));
        }
        inner.search.history.load(inner, meaning).await;
        let catalog = self.catalog();
        let view = catalog.find(tool)?;
        let (Some(server), Some(tool)) = (view.server(), view.tool()) else {
            let message = format!("`{}` is a tool of the host program", view.exposed());
            return Err(ToolError::new(Reason::ToolUnknown, message));
        };
        let vectors = meaning.vectors(query);
        let past = Past { server, tool };
        match inner.add_to_history(meaning, &vectors.whole, past) {
            Some(query) => inner.store.remember(meaning.encoder.model(), query).await,
            None => Ok(()),
        }
    }
}

/// The tool that a search led to.
struct Past<'a> {
    server: &'a ServerName,
    tool: &'a Tool,
}

impl Inner {
    /// Adds a query to the history in memory and returns it, unless the history has it.
    fn add_to_history(
        &self,
        meaning: &Meaning,
        vector: &[f32],
        Past { server, tool }: Past<'_>,
    ) -> Option<RememberedQuery> {
        let query = RememberedQuery {
            server: server.clone(),
            tool: tool.name.clone(),
            fingerprint: tool.fingerprint,
            vector: meaning.encoder.pack(vector),
            at: self.clock.now(),
        };
        let mut remembered = lock(&self.search.history.remembered);
        let is_known = remembered.iter().any(|past| {
            past.server == query.server
                && past.tool == query.tool
                && past.fingerprint == query.fingerprint
                && meaning.encoder.cosine(vector, &past.vector) > Some(SAME)
        });
        if is_known {
            return None;
        }
        remembered.push_front(query.clone());
        remembered.truncate(pegboard_store::MAX_REMEMBERED_QUERIES);
        Some(query)
    }

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
        let Some(vectors) = self.search.history.led_to(session, view.exposed().as_str()) else {
            return;
        };
        let past = Past { server, tool };
        let Some(query) = self.add_to_history(meaning, &vectors.whole, past) else {
            return;
        };
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
