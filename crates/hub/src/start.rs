//! Holding a server's connection: the one that is there, or one that is opened for it.

use std::sync::Arc;

use pegboard_model::{EventKind, ServerRecord, ServerSpec, ToolResult, TraceId, Transport};
use pegboard_upstream::ConnectHint;
use tokio::time::{Instant, timeout_at};

use crate::discover::{Backoff, timed_out};
use crate::hub::Inner;
use crate::refresh::shutting_down;
use crate::slot::{ConnectionHold, ServerConnection};

impl Inner {
    /// Holds the server's connection, opening it when there is none. The flag tells whether it was
    /// opened just now.
    pub(crate) async fn acquire(
        self: &Arc<Self>,
        spec: &Arc<ServerSpec>,
        known: &ServerRecord,
        deadline: Instant,
        backoff: Backoff,
        trace: &TraceId,
    ) -> ToolResult<(ConnectionHold, bool)> {
        let slot = self.slot(&spec.name);
        if let Some(hold) = slot.hold(&spec.hash) {
            return Ok((hold, false));
        }
        let budget = deadline.saturating_duration_since(Instant::now());
        let starting = timeout_at(deadline, slot.starting.lock()).await;
        let Ok(_starting) = starting else {
            return Err(timed_out(spec, "a sign of life", budget));
        };
        if let Some(hold) = slot.hold(&spec.hash) {
            return Ok((hold, false));
        }
        if let Some(dead) = slot.running().filter(|r| !r.upstream.is_alive()) {
            let error = dead.upstream.ended().await;
            self.connection_lost(&slot, &dead, &error);
        }
        if backoff == Backoff::Respect {
            slot.check_pause(&spec.hash)?;
        }
        // A shutdown waits for this start, and this start does not keep it waiting.
        let Some(_begun) = self.tasks.enter() else {
            return Err(shutting_down());
        };
        let hint = ConnectHint {
            era: known.era,
            protocol_version: known.protocol_version.clone(),
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
        let running = Arc::new(ServerConnection::new(upstream, spec.hash, known));
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
        self.watch(slot.clone(), hold.running().clone(), spec.clone());
        self.restore_watches(&spec.name, || slot.hold(&spec.hash));
        Ok((hold, true))
    }

    /// A server that was started just for its list is stopped again, unless a call waits for it; one reached by HTTP costs nothing
    /// and stays to tell of changes until it is idle. A server that failed is never kept.
    pub(crate) fn release_after_discovery(
        self: &Arc<Self>,
        spec: &ServerSpec,
        hold: ConnectionHold,
        opened: bool,
        failed: bool,
        trace: &TraceId,
    ) {
        let slot = self.slot(&spec.name);
        let running = hold.running().clone();
        drop(hold);
        let is_stdio = matches!(spec.transport, Transport::Stdio { .. });
        if opened && (is_stdio || failed) && slot.retire_if_uncalled(&running, failed) {
            // The list is there; nobody waits for a process that is slow to go.
            self.end(running, &spec.name, "discovered", *trace);
        }
    }
}
