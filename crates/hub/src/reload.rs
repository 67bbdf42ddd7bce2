//! Applying a changed configuration at runtime.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::join_all;
use pegboard_model::{ActivityKind, EventKind, ServerName, ServerSpec, TraceId};
use serde::Serialize;

use crate::discovery::may_start;
use crate::hub::{Hub, Inner};
use crate::telemetry::TraceScope;

/// The differences between two configurations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ConfigChange {
    /// New servers.
    pub added: Vec<ServerName>,
    /// Removed servers.
    pub removed: Vec<ServerName>,
    /// Servers with a changed definition.
    pub redefined: Vec<ServerName>,
    /// Servers with other changed settings.
    pub adjusted: Vec<ServerName>,
}

impl ConfigChange {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Hub {
    /// Applies a new configuration. Removed and redefined servers are stopped; new and redefined ones are discovered
    /// in the background; the known tools of the others stay.
    pub async fn apply(&self, servers: impl IntoIterator<Item = ServerSpec>) -> ConfigChange {
        let trace = TraceScope::new();
        let wanted: BTreeMap<ServerName, ServerSpec> = servers
            .into_iter()
            .map(|spec| (spec.name.clone(), spec))
            .collect();
        let mut change = ConfigChange::default();
        let mut stopping = Vec::new();
        let before = self.catalog();
        for entry in before
            .servers()
            .filter(|entry| !wanted.contains_key(&entry.spec.name))
        {
            let server = entry.spec.name.clone();
            let removed = self.inner.remove_server(&server);
            stopping.push(self.inner.detach_and_stop(&server, "removed", &trace, None));
            // The tools of a disabled server left the registry when it was disabled.
            if entry.is_offered() {
                let kind = EventKind::ServerRemoved {
                    server: server.clone(),
                    removed,
                };
                self.inner.telemetry.emit(&trace, kind);
            }
            change.removed.push(server);
        }
        for (name, spec) in wanted {
            let spec = Arc::new(spec);
            match before.server(&name) {
                Some(entry) if *entry.spec == *spec => {}
                Some(entry) if entry.spec.hash == spec.hash => {
                    let left = (entry.is_offered() && may_start(&spec).is_err())
                        .then(|| before.offered_by(entry));
                    self.inner.adjust(spec.clone());
                    if let Some(removed) = left {
                        stopping.push(self.inner.detach_and_stop(&name, "disabled", &trace, None));
                        let server = name.clone();
                        self.inner
                            .telemetry
                            .emit(&trace, EventKind::ServerRemoved { server, removed });
                    } else if !entry.record.is_known() {
                        self.inner.refresh_in_background(spec, &trace);
                    }
                    change.adjusted.push(name);
                }
                present => {
                    let record = self.inner.store.load_server(&name, &spec.hash).await;
                    let record = record.ok().flatten().map(Arc::new);
                    let is_known = record.as_ref().is_some_and(|record| record.is_known());
                    self.inner
                        .insert_server(self.inner.catalog.entry(spec.clone(), record));
                    let next = (!is_known).then_some(spec);
                    stopping.push(self.inner.detach_and_stop(&name, "changed", &trace, next));
                    if present.is_some() {
                        &mut change.redefined
                    } else {
                        &mut change.added
                    }
                    .push(name);
                }
            }
        }
        join_all(stopping).await;
        for server in &change.removed {
            self.inner.slots.remove_unused(server);
        }
        let servers = self.catalog().servers().count();
        self.inner
            .telemetry
            .emit(&trace, EventKind::ConfigReloaded { servers });
        self.inner.record_change(&change, &trace);
        if !change.is_empty() {
            self.inner.emit_registry_updated(&trace);
        }
        change
    }
}

impl Inner {
    fn record_change(&self, change: &ConfigChange, trace: &TraceId) {
        for (outcome, servers) in [
            ("added", &change.added),
            ("removed", &change.removed),
            ("redefined", &change.redefined),
            ("adjusted", &change.adjusted),
        ] {
            for server in servers {
                self.telemetry
                    .record(ActivityKind::Config, outcome, |line| {
                        line.server = Some(server.clone());
                        line.trace = Some(*trace);
                    });
            }
        }
    }

    /// Detaches a server's connection at once and returns the work of closing it, so that slow servers are closed
    /// concurrently. A new definition is discovered after the old process exited, because both may need the same
    /// file.
    fn detach_and_stop<'a>(
        self: &'a Arc<Self>,
        server: &ServerName,
        why: &'static str,
        trace: &'a TraceScope,
        next: Option<Arc<ServerSpec>>,
    ) -> impl Future<Output = ()> + use<'a> {
        let slots = self.slots.of_server(server);
        let running: Vec<_> = slots.iter().filter_map(|slot| slot.take()).collect();
        let server = server.clone();
        async move {
            let closing = running
                .iter()
                .map(|running| self.close(running, &server, trace, why));
            join_all(closing).await;
            if let Some(spec) = next {
                self.refresh_in_background(spec, trace);
            }
        }
    }
}
