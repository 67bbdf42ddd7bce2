//! Discovery of servers that may have a tool that the catalog does not know yet.

use std::sync::Arc;

use pegboard_catalog::Catalog;
use pegboard_model::{Reason, ToolError, ToolRef, ToolResult};
use tokio::time::timeout;

use super::Backoff;
use super::records::from_summary;
use super::refresh::shutting_down;
use crate::hub::{Hub, Inner};
use crate::telemetry::TraceScope;

impl Inner {
    /// Discovers the undiscovered servers that a tool name may refer to: the server it begins with or, for a bare
    /// name, all of them.
    pub(crate) async fn discover_missing(
        self: &Arc<Self>,
        tool: &str,
        catalog: &Catalog,
        trace: &TraceScope,
    ) -> ToolResult<()> {
        let server = match ToolRef::parse(tool.trim()) {
            Some(ToolRef::Qualified { server, .. }) => catalog.server(&server),
            _ => None,
        };
        let Some(entry) = server else {
            let inner = self.clone();
            let pending = Hub { inner }.ensure_known_in_span(trace.above()).await;
            let pending = pending.discovering;
            if pending.is_empty() || self.catalog.load().find(tool).is_ok() {
                return Ok(());
            }
            let names: Vec<_> = pending.iter().map(|name| name.as_str()).collect();
            return Err(not_yet(format!(
                "the tool is not known yet; servers still being discovered: `{}`",
                names.join("`, `")
            )));
        };
        let spec = &entry.spec;
        if entry.record.is_known() {
            return Ok(());
        }
        if let Some(summary) = &entry.record.last_error
            && self.failed_recently(entry)
        {
            return Err(from_summary(summary, spec));
        }
        let slot = self.slots.get_or_create(&spec.name);
        // Keep the server running for the call that follows.
        let _kept = slot.expect_call();
        let _ahead = slot.prioritize();
        let flight = self.discover_once(spec.clone(), trace, Backoff::Respect);
        match timeout(spec.timeouts.call, flight).await {
            Ok(Some(outcome)) => outcome.result.as_ref().map(drop).map_err(Clone::clone),
            Ok(None) => Err(shutting_down()),
            Err(_) => {
                let message = format!("server `{}` is still being discovered", spec.name);
                Err(not_yet(message).at_server(&spec.name))
            }
        }
    }
}

/// A retryable error for a tool that is not known yet.
fn not_yet(message: impl Into<String>) -> ToolError {
    ToolError::new(Reason::DiscoveryTimeout, message)
}
