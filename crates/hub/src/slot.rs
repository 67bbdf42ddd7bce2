//! One server's place in the hub: its running connection, who holds it, and its recent trouble.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pegboard_model::{
    ConfigHash, Limits, Reason, ServerName, ServerRecord, Timestamp, ToolError, ToolResult,
};
use pegboard_upstream::Upstream;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

use crate::publication::PendingNotices;
use crate::session_resources::SessionResources;
use crate::sync::lock;

/// The second failure in a row costs this wait, each further one twice as much.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// No wait between two starts is longer.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// How soon an idle server is looked at again whose list is being fetched.
const LISTING_PAUSE: Duration = Duration::from_millis(200);

pub(crate) struct ServerSlot {
    server: ServerName,
    /// Held while the server is being started, so that many first calls start one process.
    pub(crate) starting: tokio::sync::Mutex<()>,
    running: Mutex<Option<Arc<ServerConnection>>>,
    trouble: Mutex<FailureHistory>,
    /// When the server ended by itself; `None` once it was started again.
    crashed_at: Mutex<Option<Timestamp>>,
    room: Arc<Semaphore>,
    /// Calls that wait for the server's first list and will need it right after.
    wanted: AtomicUsize,
    /// Callers that wait for this server's discovery and for no other.
    urgent_waiters: AtomicUsize,
    hurry: Notify,
    queued: AtomicUsize,
    queue_limit: usize,
    /// When the list was last fetched because the server said it changed.
    pub(crate) change: Mutex<ListChangeState>,
}

/// How far a server's `list_changed` was followed.
#[derive(Default)]
pub(crate) struct ListChangeState {
    /// When all fetches so far would be over if each took its pause.
    spent_until: Option<Instant>,
    pub(crate) scheduled: bool,
    /// What others are still to be told.
    pub(crate) pending: PendingNotices,
}

impl ListChangeState {
    /// Fetches that need not wait for each other: a few changes in a row are no flood.
    const AT_ONCE: u32 = 4;

    /// When the next fetch may be.
    pub(crate) fn next_at(&self, pause: Duration) -> Instant {
        let now = Instant::now();
        let credit = pause.saturating_mul(Self::AT_ONCE - 1);
        let free = self.spent_until.and_then(|until| until.checked_sub(credit));
        free.unwrap_or(now).max(now)
    }

    /// A fetch begins.
    pub(crate) fn fetched(&mut self, pause: Duration) {
        let now = Instant::now();
        self.spent_until = Some(self.spent_until.unwrap_or(now).max(now) + pause);
    }
}

#[derive(Default)]
struct FailureHistory {
    /// The definition that failed; another one starts with a clean slate.
    config: Option<ConfigHash>,
    failures: u32,
    not_before: Option<Instant>,
    last: Option<String>,
}

/// A connection in use.
pub(crate) struct ServerConnection {
    pub(crate) upstream: Arc<dyn Upstream>,
    pub(crate) config: ConfigHash,
    pub(crate) since: Instant,
    /// Requests under way, the discoveries among them.
    users: AtomicUsize,
    /// Those that a caller waits for: only they keep a server from becoming idle.
    callers: AtomicUsize,
    called: AtomicBool,
    last_used: Mutex<Instant>,
    /// The resources that the server was asked to watch; held while it is asked for more or less.
    pub(crate) watched: tokio::sync::Mutex<BTreeSet<String>>,
    watches: AtomicUsize,
    pub(crate) session_resources: Arc<SessionResources>,
}

impl ServerConnection {
    pub(crate) fn new(
        upstream: Arc<dyn Upstream>,
        config: ConfigHash,
        known: &ServerRecord,
    ) -> Self {
        let now = Instant::now();
        Self {
            upstream,
            config,
            since: now,
            users: AtomicUsize::new(0),
            callers: AtomicUsize::new(0),
            called: AtomicBool::new(false),
            last_used: Mutex::new(now),
            watched: tokio::sync::Mutex::default(),
            watches: AtomicUsize::new(0),
            session_resources: Arc::new(SessionResources::new(known)),
        }
    }

    pub(crate) fn set_watched(&self, resources: usize) {
        self.watches.store(resources, Ordering::Release);
    }

    /// Whether a request is under way, or somebody waits to be told of a change.
    fn is_needed(&self) -> bool {
        self.users() > 0 || self.watches.load(Ordering::Acquire) > 0
    }

    pub(crate) fn users(&self) -> usize {
        self.users.load(Ordering::Acquire)
    }

    /// Whether a call is under way, or a session watches one of its resources.
    fn is_used(&self) -> bool {
        self.callers.load(Ordering::Acquire) > 0 || self.watches.load(Ordering::Acquire) > 0
    }

    /// Whether it stops as soon as its last discovery is over: no other one should begin.
    pub(crate) fn is_past_idle(&self, idle: Duration) -> bool {
        !self.is_used() && Instant::now() >= *lock(&self.last_used) + idle
    }

    /// When it may be stopped if no caller uses it until then. A discovery is no use: a list that is renewed more
    /// often than the server may be idle would keep it running for ever.
    pub(crate) fn idle_at(&self, idle: Duration) -> Instant {
        let now = Instant::now();
        if self.is_used() {
            return now + idle;
        }
        let idle_at = *lock(&self.last_used) + idle;
        match self.users() {
            0 => idle_at,
            _ => idle_at.max(now + LISTING_PAUSE),
        }
    }
}

/// Keeps a connection from being stopped.
pub(crate) struct ConnectionHold {
    running: Arc<ServerConnection>,
    is_call: AtomicBool,
}

impl ConnectionHold {
    pub(crate) fn upstream(&self) -> &Arc<dyn Upstream> {
        &self.running.upstream
    }

    pub(crate) fn running(&self) -> &Arc<ServerConnection> {
        &self.running
    }

    fn new(running: Arc<ServerConnection>) -> Self {
        running.users.fetch_add(1, Ordering::AcqRel);
        Self {
            running,
            is_call: AtomicBool::new(false),
        }
    }

    /// Remembers that a call uses it: then it stays until it is idle, however it was started.
    pub(crate) fn mark_called(&self) {
        self.running.called.store(true, Ordering::Release);
        if !self.is_call.swap(true, Ordering::AcqRel) {
            self.running.callers.fetch_add(1, Ordering::AcqRel);
        }
    }
}

impl Drop for ConnectionHold {
    fn drop(&mut self) {
        if *self.is_call.get_mut() {
            *lock(&self.running.last_used) = Instant::now();
            self.running.callers.fetch_sub(1, Ordering::AcqRel);
        }
        self.running.users.fetch_sub(1, Ordering::AcqRel);
    }
}

impl ServerSlot {
    pub(crate) fn new(server: ServerName, limits: &Limits) -> Self {
        Self {
            server,
            starting: tokio::sync::Mutex::new(()),
            running: Mutex::new(None),
            trouble: Mutex::default(),
            crashed_at: Mutex::default(),
            room: Arc::new(Semaphore::new(limits.calls_per_server)),
            wanted: AtomicUsize::new(0),
            urgent_waiters: AtomicUsize::new(0),
            hurry: Notify::new(),
            queued: AtomicUsize::new(0),
            queue_limit: limits.queued_calls_per_server,
            change: Mutex::default(),
        }
    }

    pub(crate) fn server(&self) -> &ServerName {
        &self.server
    }

    /// Holds the running connection, if it is alive and still the configured one.
    pub(crate) fn hold(&self, config: &ConfigHash) -> Option<ConnectionHold> {
        let running = lock(&self.running);
        let running = running
            .as_ref()
            .filter(|r| r.config == *config && r.upstream.is_alive())?;
        Some(ConnectionHold::new(running.clone()))
    }

    /// Puts a new connection in place and holds it; the one it replaces is given back to be closed.
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

    /// Takes the connection out if it is this one and `condition` holds; nobody can hold it from then on.
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

    /// Takes out a connection that was opened for a discovery and serves nothing else.
    pub(crate) fn retire_if_uncalled(&self, this: &Arc<ServerConnection>, failed: bool) -> bool {
        self.take_if(this, |r| {
            let is_wanted = !failed && self.wanted.load(Ordering::Acquire) > 0;
            !r.is_needed() && !r.called.load(Ordering::Acquire) && !is_wanted
        })
    }

    /// Tells, until it is dropped, that a call follows the discovery.
    pub(crate) fn want(&self) -> CountGuard<'_> {
        self.wanted.fetch_add(1, Ordering::AcqRel);
        CountGuard(&self.wanted)
    }

    /// Lets this server's discovery start ahead of others that wait for their turn, until it is dropped.
    pub(crate) fn prioritize(&self) -> CountGuard<'_> {
        self.urgent_waiters.fetch_add(1, Ordering::AcqRel);
        self.hurry.notify_waiters();
        CountGuard(&self.urgent_waiters)
    }

    /// Resolves when a caller waits for this server's discovery and for no other.
    pub(crate) async fn prioritized(&self) {
        loop {
            let hurry = self.hurry.notified();
            if self.urgent_waiters.load(Ordering::Acquire) > 0 {
                return;
            }
            hurry.await;
        }
    }

    pub(crate) fn take(&self) -> Option<Arc<ServerConnection>> {
        lock(&self.running).take()
    }

    /// Waits for one of the server's places for calls; refuses when too many wait already, or too long.
    pub(crate) async fn enter(&self, longest: Duration) -> ToolResult<OwnedSemaphorePermit> {
        if let Ok(permit) = self.room.clone().try_acquire_owned() {
            return Ok(permit);
        }
        if self.queued.fetch_add(1, Ordering::AcqRel) >= self.queue_limit {
            self.queued.fetch_sub(1, Ordering::AcqRel);
            return Err(self.overloaded("has too many calls waiting"));
        }
        let _queued = CountGuard(&self.queued);
        match timeout(longest, self.room.clone().acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(self.overloaded("was busy with other calls all the time")),
        }
    }

    fn overloaded(&self, what: &str) -> ToolError {
        let message = format!("server `{}` {what}", self.server);
        ToolError::new(Reason::Overloaded, message).at_server(&self.server)
    }

    /// Refuses a start while the server is being left alone.
    pub(crate) fn check_pause(&self, config: &ConfigHash) -> ToolResult<()> {
        let trouble = lock(&self.trouble);
        let not_before = trouble
            .not_before
            .filter(|_| trouble.config.as_ref() == Some(config));
        let Some(wait) = not_before.and_then(|t| t.checked_duration_since(Instant::now())) else {
            return Ok(());
        };
        let message = format!(
            "server `{}` failed {} times in a row and is tried again in {:.1} s; last: {}",
            self.server,
            trouble.failures,
            wait.as_secs_f32(),
            trouble.last.as_deref().unwrap_or("unknown"),
        );
        Err(ToolError::new(Reason::ServerBackoff, message).at_server(&self.server))
    }

    pub(crate) fn record_success(&self) {
        let mut trouble = lock(&self.trouble);
        if trouble.failures > 0 {
            *trouble = FailureHistory::default();
        }
    }

    pub(crate) fn record_failure(&self, config: &ConfigHash, error: &ToolError) {
        if error.reason == Reason::Cancelled {
            // We stopped it ourselves.
            return;
        }
        let mut trouble = lock(&self.trouble);
        if trouble.config.as_ref() != Some(config) {
            *trouble = FailureHistory::default();
            trouble.config = Some(*config);
        }
        trouble.failures = trouble.failures.saturating_add(1);
        trouble.last = Some(error.message.clone());
        let pause = pause_after(trouble.failures);
        trouble.not_before = (!pause.is_zero()).then(|| Instant::now() + jittered(pause));
    }

    pub(crate) fn record_crash(&self, now: Timestamp) {
        *lock(&self.crashed_at) = Some(now);
    }

    pub(crate) fn crashed_at(&self) -> Option<Timestamp> {
        *lock(&self.crashed_at)
    }

    pub(crate) fn failures(&self) -> u32 {
        lock(&self.trouble).failures
    }
}

/// Counts one until it is dropped.
pub(crate) struct CountGuard<'a>(&'a AtomicUsize);

impl Drop for CountGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// One failure may be chance; from the second on the wait doubles.
fn pause_after(failures: u32) -> Duration {
    match failures {
        0 | 1 => Duration::ZERO,
        n => FIRST_PAUSE
            .saturating_mul(1 << (n - 2).min(16))
            .min(LONGEST_PAUSE),
    }
}

/// Up to a fifth longer, so that servers that failed together are not retried together.
fn jittered(pause: Duration) -> Duration {
    let mut byte = [0];
    let _ = getrandom::fill(&mut byte);
    pause + pause.mul_f32(f32::from(byte[0]) / 255.0 / 5.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pegboard_testkit::wait_until;

    #[test]
    fn pauses_double_up_to_a_minute() {
        let pauses: Vec<_> = (0..12).map(|n| pause_after(n).as_millis()).collect();
        assert_eq!(
            pauses,
            [
                0, 0, 500, 1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000, 60000
            ]
        );
        assert_eq!(pause_after(u32::MAX), LONGEST_PAUSE);
    }

    #[tokio::test(start_paused = true)]
    async fn r_disc_12_a_few_changes_are_followed_at_once_and_a_flood_is_not() {
        let (mut change, pause) = (ListChangeState::default(), Duration::from_secs(5));
        let begun = Instant::now();
        let mut waits = Vec::new();
        for _ in 0..7 {
            tokio::time::sleep_until(change.next_at(pause)).await;
            change.fetched(pause);
            waits.push(begun.elapsed().as_secs());
        }
        assert_eq!(waits, [0, 0, 0, 0, 5, 10, 15]);
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(change.next_at(pause), Instant::now());
    }

    #[tokio::test]
    async fn a_server_that_keeps_failing_is_left_alone_for_a_while() {
        let slot = ServerSlot::new(pegboard_testkit::server("bad"), &Limits::default());
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

    #[tokio::test(start_paused = true)]
    async fn a_call_waits_for_its_turn_no_longer_than_a_call_may_take() {
        let limits = Limits {
            calls_per_server: 1,
            ..Limits::default()
        };
        let slot = ServerSlot::new(pegboard_testkit::server("busy"), &limits);
        let longest = Duration::from_secs(5);
        let _first = slot.enter(longest).await.unwrap();
        let begun = Instant::now();
        let refused = slot.enter(longest).await.unwrap_err();
        assert_eq!(refused.reason, Reason::Overloaded);
        assert_eq!(begun.elapsed().as_secs(), 5);
        assert_eq!(slot.queued.load(Ordering::SeqCst), 0);
    }
}
