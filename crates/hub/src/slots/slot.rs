//! The runtime state of one server: its connection, the holders of the connection, and its failure history.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pegboard_model::{ConfigHash, Limits, Reason, ServerName, Timestamp, ToolError, ToolResult};
use pegboard_upstream::needs_login;
use tokio::sync::{MutexGuard, Notify};
use tokio::time::Instant;

use super::call_places::{CallPlace, CallPlaces};
use super::connection::{ConnectionHold, ServerConnection};
use super::failure_history::FailureHistory;
use super::list_changes::ListChanges;
use crate::calls::SessionId;
use crate::sync::lock;

/// The runtime state of one server.
pub(crate) struct ServerSlot {
    server: ServerName,
    /// The session that it belongs to; `None` for the common slot of the server.
    session: Option<SessionId>,
    /// Whether the session ended.
    is_retired: AtomicBool,
    /// Held while the server is being started, so that concurrent first calls start one process.
    starting: tokio::sync::Mutex<()>,
    running: Mutex<Option<Arc<ServerConnection>>>,
    failures: Mutex<FailureHistory>,
    /// When the server exited unexpectedly; `None` once it was started again.
    crashed_at: Mutex<Option<Timestamp>>,
    places: Arc<CallPlaces>,
    /// Calls that wait for the server's first list and need the server right after.
    expected_calls: AtomicUsize,
    /// Callers that wait for this server's discovery specifically.
    urgent_waiters: AtomicUsize,
    urgent: Notify,
    list_changes: ListChanges,
}

impl ServerSlot {
    pub(crate) fn new(server: ServerName, session: Option<SessionId>, limits: &Limits) -> Self {
        Self {
            places: CallPlaces::new(server.clone(), limits),
            server,
            session,
            is_retired: AtomicBool::new(false),
            starting: tokio::sync::Mutex::new(()),
            running: Mutex::new(None),
            failures: Mutex::default(),
            crashed_at: Mutex::default(),
            expected_calls: AtomicUsize::new(0),
            urgent_waiters: AtomicUsize::new(0),
            urgent: Notify::new(),
            list_changes: ListChanges::default(),
        }
    }

    pub(crate) fn server(&self) -> &ServerName {
        &self.server
    }

    pub(crate) fn session(&self) -> Option<&SessionId> {
        self.session.as_ref()
    }

    /// Marks the slot of a session that ended.
    pub(super) fn retire(&self) {
        self.is_retired.store(true, Ordering::Release);
    }

    pub(super) fn is_retired(&self) -> bool {
        self.is_retired.load(Ordering::Acquire)
    }

    pub(crate) fn list_changes(&self) -> &ListChanges {
        &self.list_changes
    }

    /// Waits until no other task is starting the server, and excludes others until the guard is dropped.
    pub(crate) async fn lock_start(&self) -> MutexGuard<'_, ()> {
        self.starting.lock().await
    }

    /// Holds the connection if it is alive and has the configured definition.
    pub(crate) fn hold(&self, config: &ConfigHash) -> Option<ConnectionHold> {
        let running = lock(&self.running);
        let running = running
            .as_ref()
            .filter(|r| r.config == *config && r.upstream.is_alive())?;
        Some(ConnectionHold::new(running.clone()))
    }

    /// Installs a new connection and holds it. Returns the replaced one, which the caller closes.
    pub(crate) fn install(
        &self,
        running: Arc<ServerConnection>,
    ) -> (ConnectionHold, Option<Arc<ServerConnection>>) {
        *lock(&self.crashed_at) = None;
        let hold = ConnectionHold::new(running.clone());
        let replaced = lock(&self.running).replace(running);
        (hold, replaced)
    }

    pub(crate) fn running(&self) -> Option<Arc<ServerConnection>> {
        lock(&self.running).clone()
    }

    /// Removes the connection if it is this one and `condition` holds. It cannot be held from then on.
    fn take_if(
        &self,
        this: &Arc<ServerConnection>,
        condition: impl FnOnce(&ServerConnection) -> bool,
    ) -> bool {
        let mut running = lock(&self.running);
        let is_this = running.as_ref().is_some_and(|r| Arc::ptr_eq(r, this));
        if is_this && condition(this) {
            *running = None;
            return true;
        }
        false
    }

    pub(crate) fn remove(&self, this: &Arc<ServerConnection>) -> bool {
        self.take_if(this, |_| true)
    }

    pub(crate) fn retire_if_idle(&self, this: &Arc<ServerConnection>, idle: Duration) -> bool {
        self.take_if(this, |r| {
            !r.is_needed() && Instant::now() >= r.idle_at(idle)
        })
    }

    /// Removes a connection that was opened for a discovery and is not used otherwise.
    pub(crate) fn retire_if_uncalled(&self, this: &Arc<ServerConnection>, failed: bool) -> bool {
        self.take_if(this, |r| {
            let is_wanted = !failed && self.expected_calls.load(Ordering::Acquire) > 0;
            !r.is_needed() && !r.was_called() && !is_wanted
        })
    }

    /// Announces that a call follows the discovery, until it is dropped.
    pub(crate) fn expect_call(&self) -> CountGuard<'_> {
        self.expected_calls.fetch_add(1, Ordering::AcqRel);
        CountGuard(&self.expected_calls)
    }

    /// Lets this server's discovery start ahead of queued ones, until it is dropped.
    pub(crate) fn prioritize(&self) -> CountGuard<'_> {
        self.urgent_waiters.fetch_add(1, Ordering::AcqRel);
        self.urgent.notify_waiters();
        CountGuard(&self.urgent_waiters)
    }

    /// Resolves when a caller waits for this server's discovery specifically.
    pub(crate) async fn prioritized(&self) {
        loop {
            let urgent = self.urgent.notified();
            if self.urgent_waiters.load(Ordering::Acquire) > 0 {
                return;
            }
            urgent.await;
        }
    }

    pub(crate) fn take(&self) -> Option<Arc<ServerConnection>> {
        lock(&self.running).take()
    }

    /// Waits for a place for a request of a session. Refuses if too many requests wait already, or after `longest`.
    pub(crate) async fn acquire_call_place(
        &self,
        session: &SessionId,
        longest: Duration,
    ) -> ToolResult<CallPlace> {
        self.places.acquire(&session.0, longest).await
    }

    /// Refuses a start during the pause after failures.
    pub(crate) fn check_pause(&self, config: &ConfigHash) -> ToolResult<()> {
        let failures = lock(&self.failures);
        let Some(wait) = failures.pause(config) else {
            return Ok(());
        };
        let message = format!(
            "server `{}` failed {} times in a row and is retried in {:.1} s; last error: {}",
            self.server,
            failures.failures(),
            wait.as_secs_f32(),
            failures.last().unwrap_or("unknown"),
        );
        Err(ToolError::new(Reason::ServerBackoff, message).at_server(&self.server))
    }

    pub(crate) fn record_success(&self) {
        let mut failures = lock(&self.failures);
        if failures.failures() > 0 {
            *failures = FailureHistory::default();
        }
    }

    pub(crate) fn record_failure(&self, config: &ConfigHash, error: &ToolError) {
        // A cancelled start was stopped by the hub. A server that requires a login works; a pause would hide from the
        // next caller what is needed.
        if error.reason != Reason::Cancelled && !needs_login(error.reason) {
            lock(&self.failures).record(config, &error.message);
        }
    }

    pub(crate) fn record_crash(&self, now: Timestamp) {
        *lock(&self.crashed_at) = Some(now);
    }

    pub(crate) fn crashed_at(&self) -> Option<Timestamp> {
        *lock(&self.crashed_at)
    }

    pub(crate) fn failures(&self) -> u32 {
        lock(&self.failures).failures()
    }
}

/// A counter that is decremented on drop.
pub(crate) struct CountGuard<'a>(&'a AtomicUsize);

impl Drop for CountGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pegboard_testkit::wait_until;

    #[tokio::test]
    async fn a_server_that_keeps_failing_is_left_alone_for_a_while() {
        let slot = ServerSlot::new(pegboard_testkit::server("bad"), None, &Limits::default());
        let error = ToolError::new(Reason::ServerExited, "it ended");
        let (config, other) = (ConfigHash([1; 32]), ConfigHash([2; 32]));
        slot.record_failure(&config, &error);
        assert!(
            slot.check_pause(&config).is_ok(),
            "one failure may be chance"
        );
        slot.record_failure(&config, &error);
        let refused = slot.check_pause(&config).unwrap_err();
        assert!(slot.check_pause(&other).is_ok(), "another definition");
        assert_eq!(refused.reason, Reason::ServerBackoff);
        assert!(refused.message.contains("2 times"), "{}", refused.message);
        let over = || slot.check_pause(&config).is_ok();
        wait_until("the pause is over", Duration::from_secs(10), over).await;
        slot.record_success();
        assert_eq!(slot.failures(), 0);
    }
}
