//! What the last discovery of each server changed since the program started.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use pegboard_catalog::Delta;
use pegboard_model::{ServerName, Timestamp, UntrustedText};

use super::CatalogPublisher;
use crate::hub::Hub;
use crate::sync::lock;

/// Number of tool names per kind of change in the activity log.
const NAMED: usize = 5;
/// Longest shown tool name, in characters.
const NAME_LENGTH: usize = 60;

/// A successful discovery.
#[derive(Clone, Debug)]
pub struct LastDelta {
    /// When it finished.
    pub at: Timestamp,
    /// Its duration in milliseconds.
    pub duration_ms: u64,
    /// The changed tools.
    pub delta: Arc<Delta>,
}

/// The last discovery of each server.
#[derive(Default)]
pub(super) struct Deltas {
    last: Mutex<HashMap<ServerName, LastDelta>>,
}

impl Deltas {
    pub(super) fn forget(&self, server: &ServerName) {
        lock(&self.last).remove(server);
    }
}

/// Summarizes changes with counts and the first names: `1 changed: wipe; 2 added: a, b`. Returns `None` if nothing
/// changed.
pub(crate) fn change_summary(delta: &Delta) -> Option<String> {
    let changed: Vec<&str> = delta
        .changed
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    let added: Vec<&str> = delta.added.iter().map(String::as_str).collect();
    let removed: Vec<&str> = delta.removed.iter().map(String::as_str).collect();
    let parts: Vec<String> = [("changed", changed), ("added", added), ("removed", removed)]
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
    (!parts.is_empty()).then(|| parts.join("; "))
}

impl CatalogPublisher {
    pub(crate) fn record_delta(&self, server: &ServerName, last: LastDelta) {
        lock(&self.deltas.last).insert(server.clone(), last);
    }
}

impl Hub {
    /// Returns the last successful discovery of a server since the program started.
    pub fn last_delta(&self, server: &ServerName) -> Option<LastDelta> {
        lock(&self.inner.catalog.deltas.last).get(server).cloned()
    }
}
