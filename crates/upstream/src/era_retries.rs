//! Servers whose protocol era must be detected again.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use pegboard_model::ConfigHash;

/// Definitions whose stored era failed with a dead or silent process. The next connection detects the era again.
#[derive(Default)]
pub(crate) struct EraRetries(Mutex<HashSet<ConfigHash>>);

impl EraRetries {
    /// Beyond this many all are forgotten, which costs one failed attempt for each.
    const MOST: usize = 5_000;

    pub(crate) fn add(&self, hash: ConfigHash) {
        let mut era_retries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if era_retries.len() >= Self::MOST {
            era_retries.clear();
        }
        era_retries.insert(hash);
    }

    /// Removes a definition. Returns whether it was present.
    pub(crate) fn take(&self, hash: ConfigHash) -> bool {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&hash)
    }
}
