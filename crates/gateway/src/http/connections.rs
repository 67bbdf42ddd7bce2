//! Tracks open connections, and evicts one when the limit is reached.
//!
//! Without eviction, idle connections up to the limit would lock out all clients.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::conversation::lock;

/// The open connections.
pub(super) struct Connections {
    open: Mutex<HashMap<u64, Arc<Connection>>>,
    next: AtomicU64,
    max: usize,
    since: Instant,
}

/// One open connection.
pub(super) struct Connection {
    number: u64,
    since: Instant,
    /// Requests in progress, including streams.
    busy: AtomicUsize,
    /// Whether a complete request head was received.
    has_request: AtomicBool,
    /// Whether one of its requests had a valid token or login.
    is_authenticated: AtomicBool,
    /// When its last request ended, in milliseconds since `since`.
    idle_since: AtomicU64,
    evicted: Notify,
}

/// Counts a connection as open until dropped.
pub(super) struct ConnectionGuard {
    connections: Arc<Connections>,
    pub(super) connection: Arc<Connection>,
}

/// Marks the connection as busy until dropped.
pub(super) struct BusyGuard(Arc<Connection>);

impl Connections {
    pub(super) fn new(max: usize) -> Self {
        Self {
            open: Mutex::default(),
            next: AtomicU64::new(0),
            max,
            since: Instant::now(),
        }
    }

    /// Admits a new connection, and evicts the least important one if the limit is reached. Returns `None` if every
    /// connection belongs to an authenticated client with a request in progress.
    pub(super) fn admit(self: &Arc<Self>) -> Option<ConnectionGuard> {
        let connection = Arc::new(Connection {
            number: self.next.fetch_add(1, Ordering::Relaxed),
            since: self.since,
            busy: AtomicUsize::new(0),
            has_request: AtomicBool::new(false),
            is_authenticated: AtomicBool::new(false),
            idle_since: AtomicU64::new(0),
            evicted: Notify::new(),
        });
        connection.mark_idle();
        let mut open = self.open();
        if open.len() >= self.max {
            let candidates = open.values().filter(|one| one.eviction_rank().is_some());
            let victim = candidates.min_by_key(|one| one.eviction_rank())?.number;
            if let Some(victim) = open.remove(&victim) {
                victim.evicted.notify_one();
            }
        }
        open.insert(connection.number, connection.clone());
        drop(open);
        Some(ConnectionGuard {
            connections: self.clone(),
            connection,
        })
    }

    fn open(&self) -> MutexGuard<'_, HashMap<u64, Arc<Connection>>> {
        lock(&self.open)
    }
}

impl Connection {
    /// Marks the start of a request.
    pub(super) fn begin_request(self: &Arc<Self>) -> BusyGuard {
        self.has_request.store(true, Ordering::Release);
        self.busy.fetch_add(1, Ordering::AcqRel);
        BusyGuard(self.clone())
    }

    /// Records that a request had a valid token or login.
    pub(super) fn mark_authenticated(&self) {
        self.is_authenticated.store(true, Ordering::Release);
    }

    /// Completes when the connection must be closed: it was evicted, or no request arrived in time.
    pub(super) async fn must_close(&self, first_head_time: Duration) {
        let silent = async {
            tokio::time::sleep(first_head_time).await;
            if self.has_request.load(Ordering::Acquire) {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            () = silent => {}
            () = self.evicted.notified() => {}
        }
    }

    /// The eviction order, lowest first: idle unauthenticated connections, idle authenticated ones, busy unauthenticated
    /// ones; within each group the one that has been idle longest. `None` for a busy authenticated connection.
    fn eviction_rank(&self) -> Option<(u8, u64)> {
        let is_idle = self.busy.load(Ordering::Acquire) == 0;
        let rank = match (is_idle, self.is_authenticated.load(Ordering::Acquire)) {
            (true, false) => 0,
            (true, true) => 1,
            (false, false) => 2,
            (false, true) => return None,
        };
        Some((rank, self.idle_since.load(Ordering::Acquire)))
    }

    fn mark_idle(&self) {
        let passed = u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.idle_since.store(passed, Ordering::Release);
    }
}

impl Drop for BusyGuard {
    fn drop(&mut self) {
        self.0.mark_idle();
        self.0.busy.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.connections.open().remove(&self.connection.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn r_sec_03_unauthenticated_connections_are_evicted_first_and_busy_clients_never() {
        let connections = Arc::new(Connections::new(3));
        let admit = || connections.admit();
        let is_open =
            |place: &ConnectionGuard| connections.open().contains_key(&place.connection.number);
        let client = admit().unwrap();
        client.connection.mark_authenticated();
        drop(client.connection.begin_request());
        tokio::time::advance(Duration::from_secs(1)).await;
        let old = admit().unwrap();
        tokio::time::advance(Duration::from_secs(1)).await;
        let new = admit().unwrap();
        let fourth = admit().unwrap();
        assert!(!is_open(&old), "the idlest stranger gave way");
        assert!(is_open(&client) && is_open(&new));
        old.connection.must_close(Duration::MAX).await;

        let busy_guards = [&client, &new, &fourth].map(|place| {
            place.connection.mark_authenticated();
            place.connection.begin_request()
        });
        assert!(admit().is_none(), "all are being answered");
        drop(busy_guards);
        assert!(admit().is_some());
        drop((old, new, fourth, client));
        assert!(connections.open().is_empty(), "places are given back");
    }
}
