//! A lock-free table of fixed size with counters per server.

use std::hash::{Hash, Hasher};
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use crate::histogram::{Histogram, SERVER_BOUNDS};

/// Maximum number of servers with their own counters. Further ones share one entry, which limits the number of series.
const SERVERS_MAX: usize = 512;
/// Maximum number of probes before a server uses the shared entry.
const PROBES: usize = 64;
/// Server label of the shared entry. Not a valid server name.
const OTHERS: &str = "_others";

/// The counters of one server.
pub(crate) struct ServerCounters {
    pub(crate) server: Box<str>,
    pub(crate) succeeded: AtomicU64,
    pub(crate) failed: AtomicU64,
    durations: Histogram,
}

impl ServerCounters {
    fn new(server: &str) -> Self {
        Self {
            server: server.into(),
            succeeded: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            durations: Histogram::new(SERVER_BOUNDS),
        }
    }

    pub(crate) fn record(&self, took: Duration) {
        self.durations.record(took);
    }

    pub(crate) fn durations(&self) -> &Histogram {
        &self.durations
    }
}

/// The counters of all called servers. An entry is created at the server's first call.
pub(crate) struct PerServer {
    slots: Box<[OnceLock<Box<ServerCounters>>]>,
    others: OnceLock<Box<ServerCounters>>,
}

impl PerServer {
    pub(crate) fn new() -> Self {
        Self {
            slots: (0..SERVERS_MAX).map(|_| OnceLock::new()).collect(),
            others: OnceLock::new(),
        }
    }

    /// The counters of a server.
    pub(crate) fn get(&self, server: &str) -> &ServerCounters {
        let first = slot_of(server);
        for step in 0..PROBES {
            let Some(slot) = self.slots.get((first + step) % SERVERS_MAX) else {
                break;
            };
            let counters = slot.get_or_init(|| Box::new(ServerCounters::new(server)));
            if &*counters.server == server {
                return counters;
            }
        }
        let others = || Box::new(ServerCounters::new(OTHERS));
        self.others.get_or_init(others)
    }

    /// The counters of all called servers, sorted by name.
    pub(crate) fn all(&self) -> Vec<&ServerCounters> {
        let slots = self.slots.iter().chain([&self.others]);
        let mut all: Vec<_> = slots
            .filter_map(|slot| slot.get().map(AsRef::as_ref))
            .collect();
        all.sort_by(|a, b| a.server.cmp(&b.server));
        all
    }
}

fn slot_of(server: &str) -> usize {
    let mut hasher = std::hash::DefaultHasher::new();
    server.hash(&mut hasher);
    usize::try_from(hasher.finish() % SERVERS_MAX as u64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn many_servers_on_many_threads_lose_no_count_and_stay_bounded() {
        let table = PerServer::new();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for number in 0..2000 {
                        let server = format!("server_{number}");
                        table.get(&server).succeeded.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        let all = table.all();
        let total: u64 = all
            .iter()
            .map(|one| one.succeeded.load(Ordering::Relaxed))
            .sum();
        assert_eq!(total, 8000);
        assert!(
            all.len() > 400 && all.len() <= SERVERS_MAX + 1,
            "{}",
            all.len()
        );
        let mut names: Vec<_> = all.iter().map(|one| &one.server).collect();
        names.dedup();
        assert_eq!(names.len(), all.len());
    }
}
