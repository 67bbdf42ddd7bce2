//! How each server is doing.

use pegboard_catalog::{CacheStatistics, ServerEntry};
use pegboard_model::{DiscoveryStatus, ErrorSummary, ServerName, Timestamp};
use pegboard_upstream::Health;
use serde::Serialize;

use crate::hub::Hub;

/// How far a server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// Its definition is known, its tools are not.
    Configured,
    /// Its tools are known.
    Known,
    /// It runs.
    Running,
    /// It works on calls.
    Busy,
}

/// How one server is doing.
#[derive(Clone, Debug, Serialize)]
pub struct ServerHealth {
    /// Which.
    pub server: ServerName,
    /// How far it is.
    pub state: RunState,
    /// How its last discovery ended.
    pub status: DiscoveryStatus,
    /// Whether its list is past its time or could not be renewed.
    pub stale: bool,
    /// When its tools were last received.
    pub last_discovered: Option<Timestamp>,
    /// Why the last try failed.
    pub last_error: Option<ErrorSummary>,
    /// Why its newest list was not stored: it is known until the program ends.
    pub not_stored: Option<ErrorSummary>,
    /// How often in a row it failed.
    pub failures: u32,
    /// When it ended by itself, if it was not started since.
    pub crashed_at: Option<Timestamp>,
    /// Its connection, when there is one.
    pub connection: Option<Health>,
}

impl Hub {
    /// The health of every configured server, sorted by name. Nothing is started or asked.
    pub fn health(&self) -> Vec<ServerHealth> {
        let catalog = self.catalog();
        let health = catalog.servers().map(|entry| self.health_of(entry));
        health.collect()
    }

    /// The health of one server. Nothing is started or asked.
    pub fn health_of(&self, entry: &ServerEntry) -> ServerHealth {
        let slot = self.inner.slots.get(&entry.spec.name);
        // A server of the same name and another definition is not this one.
        let slot = slot.filter(|_| self.is_present(entry));
        let running = slot.as_ref().and_then(|slot| slot.running());
        let state = match &running {
            Some(running) if running.users() > 0 => RunState::Busy,
            Some(_) => RunState::Running,
            None if entry.record.is_known() => RunState::Known,
            None => RunState::Configured,
        };
        ServerHealth {
            server: entry.spec.name.clone(),
            state,
            status: entry.status(),
            stale: self.inner.freshness(entry).is_stale(),
            last_discovered: entry.record.discovered_at,
            last_error: entry.record.last_error.clone(),
            not_stored: self.inner.catalog.not_stored(&entry.spec.name),
            crashed_at: slot.as_ref().and_then(|slot| slot.crashed_at()),
            failures: slot.map_or(0, |slot| slot.failures()),
            connection: running.map(|running| running.upstream.health()),
        }
    }

    fn is_present(&self, entry: &ServerEntry) -> bool {
        let catalog = self.inner.catalog.load();
        let present = catalog.server(entry.name());
        present.is_some_and(|present| present.spec.hash == entry.spec.hash)
    }

    /// What the catalog holds and how often it sufficed.
    pub fn stats(&self) -> CacheStatistics {
        let (hits, misses) = self.inner.telemetry.lookups();
        self.catalog()
            .cache_statistics(self.inner.clock.now(), hits, misses)
    }
}
