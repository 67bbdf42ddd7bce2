//! Retries of servers that were never discovered. Readers never wait for them.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use pegboard_catalog::ServerEntry;
use pegboard_model::{EventKind, ServerName, ServerRecord, ServerSpec, Timestamp};

use super::Backoff;
use super::freshness::{Freshness, is_recent};
use super::refresh::may_start;
use crate::hub::{Hub, Inner};
use crate::telemetry::TraceScope;

/// The pause before the first retry; each further failure doubles it.
const FIRST_RETRY: Duration = Duration::from_secs(30);
/// The longest pause between two attempts.
const LONGEST_RETRY: Duration = Duration::from_secs(30 * 60);

/// The pause after a number of consecutive failures.
fn retry_pause(failures: u32) -> Duration {
    let doublings = failures.saturating_sub(1).min(16);
    FIRST_RETRY
        .saturating_mul(1 << doublings)
        .min(LONGEST_RETRY)
}

impl Hub {
    /// Discovers the undiscovered servers in the background, each after its pause if it failed before. Never blocks.
    pub fn discover_unknown_in_background(&self) {
        self.inner.discovery.mark_needed();
        self.watch_logins();
        let trace = TraceScope::new();
        for entry in self.catalog().servers() {
            let is_unknown = self.inner.freshness(entry) == Freshness::Unknown;
            if is_unknown && self.inner.is_retry_due(entry) {
                self.inner.refresh_in_background(entry.spec.clone(), &trace);
            }
        }
    }

    /// Waits for the first discovery of the servers that were never tried, or of one of them, each within its own
    /// timeout. For commands that show the progress.
    pub async fn wait_for_first_discoveries(&self, only: Option<&ServerName>) {
        let specs = self.inner.undiscovered(only);
        if specs.is_empty() {
            return;
        }
        let trace = TraceScope::new();
        let servers = specs.len();
        self.inner
            .telemetry
            .emit(&trace, EventKind::DiscoveryStarted { servers });
        let work = specs
            .into_iter()
            .map(|spec| self.inner.discover_once(spec, &trace, Backoff::Respect));
        join_all(work).await;
    }

    /// The servers whose first discovery has neither finished nor failed, all or one, sorted by name.
    pub fn undiscovered(&self, only: Option<&ServerName>) -> Vec<ServerName> {
        let specs = self.inner.undiscovered(only);
        specs.iter().map(|spec| spec.name.clone()).collect()
    }

    /// A client opened a session before the catalog was loaded: [`Hub::start_deferred_session`] starts it later.
    pub fn defer_session_start(&self) {
        self.inner.discovery.defer_session();
    }

    /// Starts the deferred session, if there is one.
    pub fn start_deferred_session(&self) {
        if self.inner.discovery.take_deferred_session() {
            self.session_started();
        }
    }
}

impl Inner {
    /// Whether a server may be tried again now. An attempt that did not finish, because its process ended, needs no
    /// pause.
    pub(crate) fn is_retry_due(&self, entry: &ServerEntry) -> bool {
        if self.waits_for_login(entry) {
            return false;
        }
        let Some(failed_at) = failed_at(&entry.record) else {
            return true;
        };
        let slot = self.slots.get(&entry.spec.name);
        let failures = slot.map_or(1, |slot| slot.failures().max(1));
        !is_recent(failed_at, self.clock.now(), retry_pause(failures))
    }

    /// Stores that an attempt takes longer than a reader waits, so that other processes do not wait for it either.
    /// The attempt's result replaces it.
    pub(crate) fn record_overrun(self: &Arc<Self>, spec: &ServerSpec) {
        let started = self.discovery.starts().is_starting(&spec.name);
        if !started || self.known_record(spec).attempted_at.is_some() {
            return;
        }
        let attempt = ServerRecord {
            attempted_at: Some(self.clock.now()),
            ..ServerRecord::undiscovered(spec.name.clone(), spec.hash)
        };
        let inner = self.clone();
        self.tasks.spawn_to_end(async move {
            if let Err(error) = inner.store.save_attempt(&attempt).await {
                tracing::warn!(target: "pegboard", server = %attempt.server, "cannot store the attempt: {error}");
            }
        });
    }

    /// The servers whose first discovery has neither finished nor failed, all or one.
    pub(crate) fn undiscovered(&self, only: Option<&ServerName>) -> Vec<Arc<ServerSpec>> {
        let catalog = self.catalog.load();
        let wanted = catalog.servers().filter(|entry| {
            only.is_none_or(|only| entry.spec.name == *only)
                && may_start(&entry.spec).is_ok()
                && self.freshness(entry) == Freshness::Unknown
                && failed_at(&entry.record).is_none()
        });
        wanted.map(|entry| entry.spec.clone()).collect()
    }
}

/// When the last attempt failed.
fn failed_at(record: &ServerRecord) -> Option<Timestamp> {
    record.last_error.as_ref().and(record.attempted_at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_between_tries_double_up_to_half_an_hour() {
        let pauses: Vec<_> = (0..9).map(|n| retry_pause(n).as_secs()).collect();
        assert_eq!(pauses, [30, 30, 60, 120, 240, 480, 960, 1800, 1800]);
        assert_eq!(retry_pause(u32::MAX), LONGEST_RETRY);
    }
}
