//! An open connection to a server, and the holds that keep it open.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pegboard_model::{ConfigHash, ServerRecord, ShareScope};
use pegboard_upstream::Upstream;
use tokio::time::Instant;

use crate::calls::SessionId;
use crate::discovery::SessionResources;
use crate::sync::lock;

/// How soon an idle server is checked again while its list is being fetched.
const LISTING_PAUSE: Duration = Duration::from_millis(200);

/// An open connection to a server.
pub(crate) struct ServerConnection {
    pub(crate) upstream: Arc<dyn Upstream>,
    pub(crate) config: ConfigHash,
    /// Which clients share it.
    pub(crate) scope: ShareScope,
    /// The session that it is for; `None` if the server has one connection for all.
    pub(crate) session: Option<SessionId>,
    pub(crate) since: Instant,
    /// Requests in progress, including discoveries.
    users: AtomicUsize,
    /// Requests that a caller waits for. Only they keep a server from becoming idle.
    callers: AtomicUsize,
    called: AtomicBool,
    last_used: Mutex<Instant>,
    /// The resources that the server watches; locked while that changes.
    pub(crate) watched: tokio::sync::Mutex<BTreeSet<String>>,
    watches: AtomicUsize,
    pub(crate) session_resources: Arc<SessionResources>,
}

impl ServerConnection {
    pub(crate) fn new(
        upstream: Arc<dyn Upstream>,
        config: ConfigHash,
        known: &ServerRecord,
        scope: ShareScope,
        session: Option<SessionId>,
    ) -> Self {
        let now = Instant::now();
        Self {
            upstream,
            config,
            scope,
            session,
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

    /// Whether a call used it.
    pub(super) fn was_called(&self) -> bool {
        self.called.load(Ordering::Acquire)
    }

    pub(crate) fn set_watched(&self, resources: usize) {
        self.watches.store(resources, Ordering::Release);
    }

    /// Whether a request is in progress or a resource is watched.
    pub(super) fn is_needed(&self) -> bool {
        self.users() > 0 || self.watches.load(Ordering::Acquire) > 0
    }

    pub(crate) fn users(&self) -> usize {
        self.users.load(Ordering::Acquire)
    }

    /// Whether a call is in progress, or ended at most `window` ago.
    pub(crate) fn was_called_within(&self, window: Duration) -> bool {
        let is_calling = self.callers.load(Ordering::Acquire) > 0;
        is_calling || (self.was_called() && lock(&self.last_used).elapsed() <= window)
    }

    /// Whether a call is in progress or a resource is watched.
    fn is_used(&self) -> bool {
        self.callers.load(Ordering::Acquire) > 0 || self.watches.load(Ordering::Acquire) > 0
    }

    /// Whether it stops as soon as its last discovery ends, so that no other one should begin.
    pub(crate) fn is_past_idle(&self, idle: Duration) -> bool {
        !self.is_used() && Instant::now() >= *lock(&self.last_used) + idle
    }

    /// When it may be stopped if no caller uses it until then. Discoveries do not count: a list that is renewed more
    /// often than the idle timeout would keep the server running forever.
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

/// Keeps a connection open while it exists.
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

    pub(super) fn new(running: Arc<ServerConnection>) -> Self {
        running.users.fetch_add(1, Ordering::AcqRel);
        Self {
            running,
            is_call: AtomicBool::new(false),
        }
    }

    /// Marks the connection as used by a call: it then stays open until it is idle, even if it was opened for a
    /// discovery.
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
