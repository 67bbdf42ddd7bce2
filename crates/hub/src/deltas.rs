//! What the last discovery of each server changed, as far as it happened since the start.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use pegboard_catalog::Delta;
use pegboard_model::{ServerName, Timestamp};

use crate::hub::Hub;
use crate::seat::lock;

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
pub(crate) struct Deltas {
    last: Mutex<HashMap<ServerName, LastDelta>>,
}

impl Deltas {
    pub(crate) fn note(&self, server: &ServerName, last: LastDelta) {
        lock(&self.last).insert(server.clone(), last);
    }

    pub(crate) fn forget(&self, server: &ServerName) {
        lock(&self.last).remove(server);
    }
}

impl Hub {
    /// The last discovery of a server that answered since the start, and what it changed.
    pub fn last_delta(&self, server: &ServerName) -> Option<LastDelta> {
        lock(&self.inner.deltas.last).get(server).cloned()
    }
}
