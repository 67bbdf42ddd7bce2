//! What the last discovery of each server changed, as far as it happened since the start.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use pegboard_catalog::Delta;
use pegboard_model::{ServerName, Timestamp, UntrustedText};

use super::CatalogPublisher;
use crate::hub::Hub;
use crate::sync::lock;

/// Tools of each kind of change that activity names.
const NAMED: usize = 5;
/// Characters of each of those names.
const NAME_LENGTH: usize = 60;

/// A discovery that answered.
#[derive(Clone, Debug)]
pub struct LastDelta {
    /// When.
    pub at: Timestamp,
    /// How long it took.
    pub duration_ms: u64,
    /// What it changed.
    pub delta: Arc<Delta>,
}

/// One entry for each server at the most.
#[derive(Default)]
pub(super) struct Deltas {
    last: Mutex<HashMap<ServerName, LastDelta>>,
}

impl Deltas {
    pub(super) fn forget(&self, server: &ServerName) {
        lock(&self.last).remove(server);
    }
}

/// What changed, with counts and the first names: `1 changed: wipe; 2 added: a, b`. `None` when nothing did.
pub(crate) fn change_summary(delta: &Delta) -> Option<String> {
    let changed: Vec<&str> = delta
        .changed
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    let added: Vec<&str> = delta.added.iter().map(String::as_str).collect();
    let removed: Vec<&str> = delta.removed.iter().map(String::as_str).collect();
    let told: Vec<String> = [("changed", changed), ("added", added), ("removed", removed)]
        .iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(what, names)| {
            let shown = names.iter().take(NAMED);
            let shown: Vec<String> = shown
                .map(|name| UntrustedText::new(name).shortened(NAME_LENGTH).to_string())
                .collect();
            let more = if names.len() > NAMED { ", …" } else { "" };
            format!("{} {what}: {}{more}", names.len(), shown.join(", "))
        })
        .collect();
    (!told.is_empty()).then(|| told.join("; "))
}

impl CatalogPublisher {
    pub(crate) fn record_delta(&self, server: &ServerName, last: LastDelta) {
        lock(&self.deltas.last).insert(server.clone(), last);
    }
}

impl Hub {
    /// The last discovery of a server that answered since the start, and what it changed.
    pub fn last_delta(&self, server: &ServerName) -> Option<LastDelta> {
        lock(&self.inner.catalog.deltas.last).get(server).cloned()
    }
}
