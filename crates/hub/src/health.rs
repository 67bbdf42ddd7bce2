//! Health of the servers.

use pegboard_catalog::{CacheStatistics, ServerEntry};
use pegboard_model::{DiscoveryStatus, ErrorSummary, LoginState, ServerName, Timestamp};
use pegboard_upstream::Health;
use serde::Serialize;

use crate::hub::Hub;

/// Runtime state of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// The tools are not known yet.
    Configured,
    /// The tools are known; the server is not running.
    Known,
    /// The server is running.
    Running,
    /// The server is processing requests.
    Busy,
}

/// Health of one server.
#[derive(Clone, Debug, Serialize)]
pub struct ServerHealth {
    /// The server's name.
    pub server: ServerName,
    /// Its runtime state.
    pub state: RunState,
    /// The result of its last discovery.
    pub status: DiscoveryStatus,
    /// Whether its list is past its TTL or could not be renewed.
    pub stale: bool,
    /// When its tools were last received.
    pub last_discovered: Option<Timestamp>,
    /// Why the last discovery failed.
    pub last_error: Option<ErrorSummary>,
    /// Why its newest list was not stored. The list is lost when the program ends.
    pub not_stored: Option<ErrorSummary>,
    /// Consecutive failures.
    pub failures: u32,
    /// When it exited unexpectedly, if it was not started since.
    pub crashed_at: Option<Timestamp>,
    /// Its login, if it requires one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub login: Option<LoginState>,
    /// Number of running instances; more than one only if each session has its own.
    pub instances: usize,
    /// Its connection, if it is running; one of them if there are several.
    pub connection: Option<Health>,
}

impl Hub {
    /// Returns the health of every configured server, sorted by name, without contacting any.
    pub fn health(&self) -> Vec<ServerHealth> {
        let catalog = self.catalog();
        let health = catalog.servers().map(|entry| self.health_of(entry));
        health.collect()
    }

    /// Returns the health of one server without contacting it.
    pub fn health_of(&self, entry: &ServerEntry) -> ServerHealth {
        // Slots of the same name with another definition belong to another server.
        let slots = match self.is_present(entry) {
            true => self.inner.slots.of_server(&entry.spec.name),
            false => Vec::new(),
        };
        let running: Vec<_> = slots.iter().filter_map(|slot| slot.running()).collect();
        let state = match running.first() {
            Some(_) if running.iter().any(|running| running.users() > 0) => RunState::Busy,
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
            crashed_at: slots.iter().filter_map(|slot| slot.crashed_at()).max(),
            failures: slots.iter().map(|slot| slot.failures()).max().unwrap_or(0),
            login: self.login_state(entry),
            instances: running.len(),
            connection: running.first().map(|running| running.upstream.health()),
        }
    }

    fn is_present(&self, entry: &ServerEntry) -> bool {
        let catalog = self.inner.catalog.load();
        let present = catalog.server(entry.name());
        present.is_some_and(|present| present.spec.hash == entry.spec.hash)
    }

    /// Returns the catalog's statistics and hit rate.
    pub fn stats(&self) -> CacheStatistics {
        let (hits, misses) = self.inner.telemetry.lookups();
        self.catalog()
            .cache_statistics(self.inner.clock.now(), hits, misses)
    }
}
