//! Counting what the catalog answered by itself.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters since the hub was opened.
#[derive(Default)]
pub(crate) struct Counters {
    hits: AtomicU64,
    misses: AtomicU64,
}

impl Counters {
    pub(crate) fn count(&self, known: usize, unknown: usize) {
        self.hits.fetch_add(known as u64, Ordering::Relaxed);
        self.misses.fetch_add(unknown as u64, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> (u64, u64) {
        (
            self.hits.load(Ordering::Relaxed),
            self.misses.load(Ordering::Relaxed),
        )
    }
}
