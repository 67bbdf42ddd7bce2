//! What the last change of each server's tools was, as far as it happened since the start.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use pegboard_catalog::Delta;
use pegboard_model::{ServerName, Timestamp};

use crate::hub::Hub;
use crate::seat::lock;

/// When the tools of a server last changed, and how.
#[derive(Clone, Debug)]
pub struct LastDelta {
    /// When.
    pub at: Timestamp,
    /// How.
    pub delta: Arc<Delta>,
}

/// One entry for each server at the most.
#[derive(Default)]
pub(crate) struct Deltas {
    last: Mutex<HashMap<ServerName, LastDelta>>,
}

impl Deltas {
    pub(crate) fn note(&self, server: &ServerName, at: Timestamp, delta: &Delta) {
        let delta = Arc::new(delta.clone());
        lock(&self.last).insert(server.clone(), LastDelta { at, delta });
    }

    pub(crate) fn forget(&self, server: &ServerName) {
        lock(&self.last).remove(server);
    }
}

impl Hub {
    /// The last change of a server's tools since the start; none when they did not change.
    pub fn last_delta(&self, server: &ServerName) -> Option<LastDelta> {
        lock(&self.inner.deltas.last).get(server).cloned()
    }
}
