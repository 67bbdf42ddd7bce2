//! Opening and holding connections to servers.

use std::sync::Arc;
use std::time::Duration;

use pegboard_catalog::decide_sharing;
use pegboard_model::{
    EventKind, Reason, ServerName, ServerRecord, ServerSpec, ToolError, ToolResult, TraceId,
    Transport,
};
use pegboard_upstream::ConnectHint;
use tokio::time::{Instant, timeout_at};

use super::{ConnectionHold, ServerConnection, ServerSlot};
use crate::discovery::shutting_down;
use crate::discovery::{Backoff, timed_out};
use crate::hub::Inner;
use crate::telemetry::new_trace;

/// A server that exits sooner than this after its start counts as failing to start.
const SHORT_LIFE: Duration = Duration::from_secs(10);

impl Inner {
    /// Holds the server's connection, opening it if necessary. The flag says whether it was opened just now.
    pub(crate) async fn acquire(
        self: &Arc<Self>,
        slot: &Arc<ServerSlot>,
        spec: &Arc<ServerSpec>,
        known: &ServerRecord,
        deadline: Instant,
        backoff: Backoff,
        trace: &TraceId,
    ) -> ToolResult<(ConnectionHold, bool)> {
        if let Some(hold) = slot.hold(&spec.hash) {
            return Ok((hold, false));
        }
        let budget = deadline.saturating_duration_since(Instant::now());
        let starting = timeout_at(deadline, slot.lock_start()).await;
        let Ok(_starting) = starting else {
            return Err(timed_out(spec, "a response", budget));
        };
        if let Some(hold) = slot.hold(&spec.hash) {
            return Ok((hold, false));
        }
        if let Some(dead) = slot.running().filter(|r| !r.upstream.is_alive()) {
            let error = dead.upstream.ended().await;
            self.connection_lost(slot, &dead, &error);
        }
        if backoff == Backoff::Respect {
            slot.check_pause(&spec.hash)?;
        }
        // A shutdown waits for this guard; the `select!` below ends the start early.
        let Some(_begun) = self.tasks.enter() else {
            return Err(shutting_down());
        };
        let sharing = decide_sharing(spec, known);
        let scope = sharing.scope;
        let hint = ConnectHint {
            era: known.era,
            protocol_version: known.protocol_version.clone(),
            old_sse: known.learnt.old_sse,
            sharing,
            session: slot.session().map(|session| session.0.clone()),
        };
        let budget = deadline.saturating_duration_since(Instant::now());
        let opened = tokio::select! {
            opened = self.connector.connect(spec, &hint, budget) => opened,
            () = self.tasks.closing() => return Err(shutting_down()),
        };
        let upstream = match opened {
            Ok(upstream) => upstream,
            Err(error) => {
                slot.record_failure(&spec.hash, &error);
                return Err(error);
            }
        };
        let running = Arc::new(ServerConnection::new(
            upstream,
            spec.hash,
            known,
            scope,
            slot.session().cloned(),
        ));
        let (hold, replaced) = slot.install(running);
        self.telemetry.emit(
            trace,
            EventKind::ServerStarted {
                server: spec.name.clone(),
            },
        );
        if let Some(replaced) = replaced {
            self.end(replaced, &spec.name, "replaced", *trace);
        }
        if slot.is_retired() {
            // The session ended while its server was starting.
            self.stop(slot, trace, "session ended").await;
            let message = format!("the session that called server `{}` has ended", spec.name);
            return Err(ToolError::new(Reason::Cancelled, message).at_server(&spec.name));
        }
        self.watch(slot.clone(), hold.running().clone(), spec.clone());
        self.restore_watches(&spec.name, || slot.hold(&spec.hash));
        Ok((hold, true))
    }

    /// Closes a server that was started only for its list, unless a call waits for it. An HTTP connection stays open
    /// until it is idle, because it costs nothing and delivers change notifications. A server that failed is always
    /// closed.
    pub(crate) fn release_after_discovery(
        self: &Arc<Self>,
        slot: &Arc<ServerSlot>,
        spec: &ServerSpec,
        hold: ConnectionHold,
        opened: bool,
        failed: bool,
        trace: &TraceId,
    ) {
        let running = hold.running().clone();
        drop(hold);
        let is_stdio = matches!(spec.transport, Transport::Stdio { .. });
        if opened && (is_stdio || failed) && slot.retire_if_uncalled(&running, failed) {
            // In the background: the caller already has the list and need not wait for a slow exit.
            self.end(running, &spec.name, "discovered", *trace);
        }
    }

    pub(crate) async fn stop(&self, slot: &ServerSlot, trace: &TraceId, why: &str) {
        if let Some(running) = slot.take() {
            self.close(&running, slot.server(), trace, why).await;
        }
    }

    pub(crate) async fn close(
        &self,
        running: &ServerConnection,
        server: &ServerName,
        trace: &TraceId,
        why: &str,
    ) {
        running.upstream.close().await;
        let kind = EventKind::ServerStopped {
            server: server.clone(),
            why: why.to_owned(),
        };
        self.telemetry.emit(trace, kind);
    }

    /// Closes a connection in the background. A shutdown waits for it.
    pub(crate) fn end(
        self: &Arc<Self>,
        running: Arc<ServerConnection>,
        server: &ServerName,
        why: &'static str,
        trace: TraceId,
    ) {
        let (inner, server) = (self.clone(), server.clone());
        self.tasks.spawn_to_end(async move {
            inner.close(&running, &server, &trace, why).await;
        });
    }

    /// Handles a connection that ended by itself. The first caller that notices removes it and emits the event. A
    /// short life counts as a failure to start.
    pub(crate) fn connection_lost(
        self: &Arc<Self>,
        slot: &ServerSlot,
        running: &Arc<ServerConnection>,
        error: &ToolError,
    ) {
        if slot.remove(running) {
            if running.since.elapsed() < SHORT_LIFE {
                slot.record_failure(&running.config, error);
            }
            if error.reason != Reason::Cancelled {
                slot.record_crash(self.clock.now());
            }
            let why = match error.reason {
                Reason::Cancelled => "disconnected",
                _ => "crashed",
            };
            self.end(running.clone(), slot.server(), why, new_trace());
        }
    }
}
