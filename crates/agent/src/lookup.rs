//! Runs lookups and searches for the agent's own model.

use std::sync::Arc;
use std::time::Instant;

use pegboard_catalog::{Catalog, ToolSearch};
use pegboard_metatools::{Lookup, is_slow_search};
use pegboard_model::{Reason, SpanContext, ToolError, ToolResult};

use crate::toolbox::Toolbox;

impl Toolbox {
    /// Runs a lookup and returns the text for the model.
    pub(crate) async fn look_up(
        &self,
        lookup: Lookup,
        span: Option<&SpanContext>,
    ) -> ToolResult<String> {
        let mut catalog = self.hub.catalog();
        if lookup.needs_discovery(&catalog) {
            catalog = self.discovered(span).await;
        }
        if lookup.is_search() {
            self.hub.load_vectors_once().await;
        }
        let finder = self.hub.finder(Some(self.session.clone()));
        let finder = finder.below(span.cloned());
        let is_slow = lookup.is_slow(&catalog, self.hub.has_encoder());
        let results = self.result_store.clone();
        let run = move || lookup.run(&catalog, &finder, &results, Instant::now());
        offload(is_slow, run).await?
    }

    /// Returns the exposed names of the best tools for a query.
    pub(crate) async fn search(
        &self,
        query: String,
        limit: usize,
        span: Option<&SpanContext>,
    ) -> ToolResult<Vec<String>> {
        let catalog = self.discovered(span).await;
        self.hub.load_vectors_once().await;
        let finder = self.hub.finder(Some(self.session.clone()));
        let finder = finder.below(span.cloned());
        let is_slow = is_slow_search(&catalog, self.hub.has_encoder());
        let search = move || {
            let hits = finder.find(&catalog, &query, limit).hits;
            let names = hits.iter().map(|hit| hit.tool.exposed().to_string());
            names.collect()
        };
        offload(is_slow, search).await
    }

    /// Returns the catalog after the discovery of unknown servers, which has a deadline.
    async fn discovered(&self, span: Option<&SpanContext>) -> Arc<Catalog> {
        self.hub.ensure_known_in_span(span).await;
        self.hub.catalog()
    }
}

/// Runs slow work on a blocking thread, so that it does not delay other tasks.
pub(crate) async fn offload<T: Send + 'static>(
    is_slow: bool,
    work: impl FnOnce() -> T + Send + 'static,
) -> ToolResult<T> {
    if !is_slow {
        return Ok(work());
    }
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| ToolError::new(Reason::Internal, format!("a task failed: {error}")))
}
