//! Which definitions are asked anew how they speak.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use pegboard_model::ConfigHash;

/// Definitions whose remembered era failed by a dead or silent process: the next connection learns anew.
#[derive(Default)]
pub(crate) struct EraRetries(Mutex<HashSet<ConfigHash>>);

impl EraRetries {
    /// Beyond this many, forgetting all of them only costs a failed try each.
    const MOST: usize = 5_000;

    pub(crate) fn add(&self, hash: ConfigHash) {
        let mut era_retries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if era_retries.len() >= Self::MOST {
            era_retries.clear();
        }
        era_retries.insert(hash);
    }

    /// Whether there was a doubt; it is taken away.
    pub(crate) fn take(&self, hash: ConfigHash) -> bool {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&hash)
    }
}
