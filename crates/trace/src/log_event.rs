//! Logs events of servers and tools under fixed names.

use pegboard_model::{Event, EventKind, LookupFacts, Recorder, SpanContext, UntrustedText};

/// Maximum length of a server's error in a log line, in characters.
const ERROR_MAX: usize = 300;

/// A recorder that only logs events and catalog lookups.
#[derive(Clone, Copy, Debug, Default)]
pub struct LogRecorder;

impl Recorder for LogRecorder {
    fn event(&self, event: &Event) {
        log_event(event);
    }

    fn lookup(&self, _span: Option<&SpanContext>, facts: &LookupFacts) {
        log_lookup(facts);
    }
}

/// Logs a catalog lookup with its hits and misses.
pub(crate) fn log_lookup(facts: &LookupFacts) {
    let LookupFacts { hits, misses, .. } = *facts;
    let trace = facts.trace.as_str();
    tracing::debug!(target: "pegboard", event = "tools.cache.lookup", hits, misses, trace);
}

/// Logs an event with its name, trace id, ids and counts.
pub fn log_event(event: &Event) {
    let trace = event.trace.as_str();
    match &event.kind {
        EventKind::DiscoveryStarted { servers } => {
            tracing::info!(target: "pegboard", event = "tools.discovery.started", servers, trace);
        }
        EventKind::ServerDiscovered {
            server,
            tools,
            duration_ms,
        } => tracing::info!(
            target: "pegboard", event = "tools.discovery.server.success", %server, tools, duration_ms, trace,
        ),
        EventKind::ServerFailed {
            server,
            reason,
            error,
        } => {
            let error = UntrustedText::new(error).shortened(ERROR_MAX);
            tracing::warn!(
                target: "pegboard", event = "tools.discovery.server.failed", %server, reason, %error, trace,
            );
        }
        EventKind::ServerNotStored {
            server,
            reason,
            error,
        } => {
            let error = UntrustedText::new(error).shortened(ERROR_MAX);
            tracing::warn!(target: "pegboard", event = "store.server.failed", %server, reason, %error, trace);
        }
        EventKind::RegistryUpdated {
            static_tools,
            mcp_tools,
        } => tracing::info!(
            target: "pegboard", event = "tools.registry.updated", static_tools, mcp_tools, trace,
        ),
        EventKind::ServerRemoved { server, removed } => tracing::info!(
            target: "pegboard", event = "tools.registry.server.removed", %server, removed, trace,
        ),
        EventKind::ServerStarted { server } => {
            tracing::debug!(target: "pegboard", event = "server.started", %server, trace);
        }
        EventKind::ServerStopped { server, why } if why == "crashed" => {
            tracing::warn!(target: "pegboard", event = "server.stopped", %server, why, trace);
        }
        EventKind::ServerStopped { server, why } => {
            tracing::debug!(target: "pegboard", event = "server.stopped", %server, why, trace);
        }
        EventKind::ConfigReloaded { servers } => {
            tracing::info!(target: "pegboard", event = "config.reloaded", servers, trace);
        }
        EventKind::CallFinished {
            tool,
            outcome,
            duration_ms,
        } => tracing::debug!(
            target: "pegboard", event = "tools.call.finished", tool, outcome, duration_ms, trace,
        ),
        EventKind::OutputMismatch {
            tool,
            reason,
            error,
            ..
        } => {
            let error = UntrustedText::new(error).shortened(ERROR_MAX);
            tracing::warn!(target: "pegboard", event = "tools.call.mismatch", tool, reason, %error, trace);
        }
        EventKind::RequestFinished {
            server,
            method,
            outcome,
            duration_ms,
        } => tracing::debug!(
            target: "pegboard", event = "server.request.finished", %server, method, outcome, duration_ms, trace,
        ),
        // All other kinds are logged in their serialized form: events contain ids and counts, never content.
        other => {
            let serialized = serde_json::to_value(other).unwrap_or_default();
            let name = serialized
                .get("event")
                .and_then(|name| name.as_str())
                .unwrap_or("event");
            tracing::info!(target: "pegboard", event = name, about = %serialized, trace);
        }
    }
}
