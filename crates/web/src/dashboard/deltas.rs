//! What the last discovery of each server changed, as far as it happened since the start.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use pegboard_catalog::Delta;
use pegboard_hub::{FirstSnapshot, Hub};
use pegboard_model::{EventKind, ServerName, ServerRecord, Timestamp};
use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinHandle;

/// A discovery that answered.
#[derive(Clone, Debug)]
pub(crate) struct LastDelta {
    pub(crate) at: Timestamp,
    pub(crate) duration_ms: u64,
    pub(crate) delta: Arc<Delta>,
}

type Known = Arc<Mutex<BTreeMap<ServerName, LastDelta>>>;

/// Follows the hub's events for as long as it is held. It holds one entry for each configured server.
pub(crate) struct Deltas {
    known: Known,
    following: Option<JoinHandle<()>>,
}

impl Deltas {
    /// Begins to follow. Without a runtime, as when only routes are listed, nothing is followed.
    pub(crate) fn follow(hub: &Hub) -> Self {
        let known = Known::default();
        let runtime = tokio::runtime::Handle::try_current().ok();
        let follow = || follow(hub.clone(), hub.first_snapshot(), known.clone());
        let following = runtime.map(|runtime| runtime.spawn(follow()));
        Self { known, following }
    }

    /// The last discovery of a server.
    pub(crate) fn of(&self, server: &ServerName) -> Option<LastDelta> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(server).cloned()
    }
}

impl Drop for Deltas {
    fn drop(&mut self) {
        if let Some(following) = &self.following {
            following.abort();
        }
    }
}

async fn follow(hub: Hub, first: FirstSnapshot, known: Known) {
    let mut events = hub.subscribe();
    // Not before the first event: reading what lasts is for whoever asks for it.
    let mut before = None;
    loop {
        let event = match events.recv().await {
            Ok(event) => event,
            // What was missed is compared as one step with the next discovery.
            Err(RecvError::Lagged(_)) => continue,
            Err(RecvError::Closed) => return,
        };
        match event.kind {
            EventKind::ServerDiscovered {
                server,
                duration_ms,
                ..
            } => {
                let Some(record) = record(&hub, &server) else {
                    continue;
                };
                let before = before.get_or_insert_with(|| records(&first));
                let former = before.insert(server.clone(), record.clone());
                let former = former.as_ref().map_or(&[][..], |former| &former.tools);
                let last = LastDelta {
                    at: event.at,
                    duration_ms,
                    delta: Arc::new(Delta::between(former, &record.tools)),
                };
                let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
                known.insert(server, last);
            }
            EventKind::ConfigReloaded { .. } => {
                let before = before.get_or_insert_with(|| records(&first));
                before.retain(|server, _| record(&hub, server).is_some());
                let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
                known.retain(|server, _| before.contains_key(server));
            }
            _ => {}
        }
    }
}

fn records(first: &FirstSnapshot) -> BTreeMap<ServerName, Arc<ServerRecord>> {
    let servers = first
        .get()
        .into_iter()
        .flat_map(|catalog| catalog.servers());
    let records = servers.map(|entry| (entry.name().clone(), entry.record.clone()));
    records.collect()
}

fn record(hub: &Hub, server: &ServerName) -> Option<Arc<ServerRecord>> {
    let catalog = hub.catalog();
    catalog.server(server).map(|entry| entry.record.clone())
}
