//! A changed configuration, taken over while everything runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use pegboard_model::{EventKind, ServerName, ServerSpec};
use serde::Serialize;

use crate::events::new_trace;
use crate::hub::Hub;
use crate::refresh::may_start;

/// What a new configuration changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ConfigChange {
    /// Servers that are new.
    pub added: Vec<ServerName>,
    /// Servers that are gone.
    pub removed: Vec<ServerName>,
    /// Servers that are reached in another way than before.
    pub redefined: Vec<ServerName>,
    /// Servers whose other settings changed.
    pub adjusted: Vec<ServerName>,
}

impl ConfigChange {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Hub {
    /// Takes over a new configuration. Servers that are gone or redefined are stopped; new and redefined
    /// ones are discovered in the background; what is known of the others stays.
    pub async fn apply(&self, servers: impl IntoIterator<Item = ServerSpec>) -> ConfigChange {
        let trace = new_trace();
        let wanted: BTreeMap<ServerName, ServerSpec> = servers
            .into_iter()
            .map(|spec| (spec.name.clone(), spec))
            .collect();
        let mut change = ConfigChange::default();
        let before = self.catalog();
        for entry in before
            .servers()
            .filter(|entry| !wanted.contains_key(&entry.spec.name))
        {
            let server = entry.spec.name.clone();
            let removed = self.inner.unplace(&server);
            self.stop_server(&server, "removed").await;
            self.inner.events.tell(
                &trace,
                EventKind::ServerRemoved {
                    server: server.clone(),
                    removed,
                },
            );
            change.removed.push(server);
        }
        for (name, spec) in wanted {
            let spec = Arc::new(spec);
            match before.server(&name) {
                Some(entry) if *entry.spec == *spec => {}
                Some(entry) if entry.spec.hash == spec.hash => {
                    let left = (entry.spec.enabled && !spec.enabled)
                        .then(|| entry.visible_tools().count());
                    let record = Some(entry.record.clone());
                    self.inner.place(self.inner.entry(spec.clone(), record));
                    if let Some(removed) = left {
                        self.stop_server(&name, "disabled").await;
                        let server = name.clone();
                        self.inner
                            .events
                            .tell(&trace, EventKind::ServerRemoved { server, removed });
                    } else if !entry.record.is_known() {
                        self.inner.refresh_soon(spec, &trace);
                    }
                    change.adjusted.push(name);
                }
                present => {
                    let record = self.inner.store.load_server(&name, &spec.hash).await;
                    let record = record.ok().flatten().map(Arc::new);
                    let is_known = record.as_ref().is_some_and(|record| record.is_known());
                    self.inner.place(self.inner.entry(spec.clone(), record));
                    self.stop_server(&name, "changed").await;
                    if !is_known && may_start(&spec).is_ok() {
                        self.inner.refresh_soon(spec, &trace);
                    }
                    if present.is_some() {
                        &mut change.redefined
                    } else {
                        &mut change.added
                    }
                    .push(name);
                }
            }
        }
        let servers = self.catalog().servers().count();
        self.inner
            .events
            .tell(&trace, EventKind::ConfigReloaded { servers });
        if !change.is_empty() {
            self.inner.tell_registry(&trace);
        }
        change
    }

    async fn stop_server(&self, server: &ServerName, why: &str) {
        if let Some(seat) = self.inner.existing_seat(server) {
            self.inner.stop(&seat, &new_trace(), why).await;
        }
    }
}
