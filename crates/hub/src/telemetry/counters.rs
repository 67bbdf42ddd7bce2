//! Hit and miss counters of the catalog.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pegboard_catalog::Catalog;
use pegboard_model::ServerSpec;

use super::Telemetry;

/// Counters since the hub was opened.
#[derive(Default)]
pub(super) struct Counters {
    hits: AtomicU64,
    misses: AtomicU64,
}

impl Counters {
    fn count(&self, known: usize, unknown: usize) {
        self.hits.fetch_add(known as u64, Ordering::Relaxed);
        self.misses.fetch_add(unknown as u64, Ordering::Relaxed);
    }
}

impl Telemetry {
    /// Counts a read of the catalog that first contacts the servers in `asked`. Returns the hits and misses: a server
    /// is a hit if its tools are known and it is not contacted, and a miss otherwise. Disabled and untrusted servers
    /// count as neither, because their tools cannot be read.
    pub(crate) fn count_lookup(
        &self,
        catalog: &Catalog,
        asked: &[Arc<ServerSpec>],
    ) -> (usize, usize) {
        let (mut known, mut unknown) = (0_usize, 0);
        for entry in catalog.servers().filter(|entry| entry.is_offered()) {
            match entry.needs_discovery() {
                false => known += 1,
                true => unknown += 1,
            }
        }
        let is_known = |spec: &&Arc<ServerSpec>| {
            let entry = catalog.server(&spec.name);
            entry.is_some_and(|entry| !entry.needs_discovery())
        };
        let asked = asked.iter().filter(is_known).count();
        let (hits, misses) = (known.saturating_sub(asked), unknown + asked);
        self.counters.count(hits, misses);
        (hits, misses)
    }

    /// All hits and misses since the hub was opened.
    pub(crate) fn lookups(&self) -> (u64, u64) {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        (read(&self.counters.hits), read(&self.counters.misses))
    }
}
