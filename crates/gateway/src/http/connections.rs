//! The open connections, and which of them gives way when there is no room for another.
//!
//! Without that, as many idle connections as the limit allows would shut everybody out.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// The open connections.
pub(super) struct Connections {
    open: Mutex<HashMap<u64, Arc<Connection>>>,
    next: AtomicU64,
    most: usize,
    since: Instant,
}

/// One open connection.
pub(super) struct Connection {
    number: u64,
    since: Instant,
    /// Requests that are answered at the moment, streams included.
    busy: AtomicUsize,
    /// Whether a whole request head came.
    has_request: AtomicBool,
    /// Whether one of its requests passed the check of token or login.
    is_authenticated: AtomicBool,
    /// When its last request ended, in milliseconds after `since`.
    idle_since: AtomicU64,
    evicted: Notify,
}

/// A connection's place; dropping it gives the place back.
pub(super) struct ConnectionGuard {
    connections: Arc<Connections>,
    pub(super) connection: Arc<Connection>,
}

/// A request that is answered; the connection is idle again when the last one is dropped.
pub(super) struct BusyGuard(Arc<Connection>);

impl Connections {
    pub(super) fn new(most: usize) -> Self {
        Self {
            open: Mutex::default(),
            next: AtomicU64::new(0),
            most,
            since: Instant::now(),
        }
    }

    /// A place for a new connection. When all are taken, the connection that needs its place least is closed; `None`
    /// when every connection is being answered.
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
        if open.len() >= self.most {
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
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connection {
    /// A request begins.
    pub(super) fn begin(self: &Arc<Self>) -> BusyGuard {
        self.has_request.store(true, Ordering::Release);
        self.busy.fetch_add(1, Ordering::AcqRel);
        BusyGuard(self.clone())
    }

    /// A request passed the check of token or login.
    pub(super) fn mark_authenticated(&self) {
        self.is_authenticated.store(true, Ordering::Release);
    }

    /// Returns when the connection must be closed: another one gets its place, or no request came in time.
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

    /// How soon it gives way, the smallest first: idle strangers, then idle clients, then strangers whose request takes
    /// long; among those the one that waits for longest. `None` for a client that is being answered.
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
    async fn r_sec_03_strangers_give_way_before_clients_and_clients_that_are_answered_never_do() {
        let connections = Arc::new(Connections::new(3));
        let admit = || connections.admit();
        let is_open =
            |place: &ConnectionGuard| connections.open().contains_key(&place.connection.number);
        let client = admit().unwrap();
        client.connection.mark_authenticated();
        drop(client.connection.begin());
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
            place.connection.begin()
        });
        assert!(admit().is_none(), "all are being answered");
        drop(busy_guards);
        assert!(admit().is_some());
        drop((old, new, fourth, client));
        assert!(connections.open().is_empty(), "places are given back");
    }
}
