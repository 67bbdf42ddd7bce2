//! The clients that the background process serves.

use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use pegboard_background::{ControlMessage, write_message};
use tokio::sync::watch;

/// All connected clients.
pub(super) struct Clients {
    all: Mutex<BTreeMap<u64, Arc<Client>>>,
    next: AtomicU64,
    /// The number of connected clients.
    count: watch::Sender<usize>,
}

/// One connected client.
pub(super) struct Client {
    /// Its bridge.
    pub(super) pid: u32,
    pub(super) folder: PathBuf,
    pub(super) profile: String,
    pub(super) since: Instant,
    control: Mutex<UnixStream>,
}

/// Removes the client when it is dropped.
pub(super) struct Registered<'a> {
    clients: &'a Clients,
    id: u64,
    pub(super) client: Arc<Client>,
}

impl Client {
    pub(super) fn new(pid: u32, folder: PathBuf, profile: String, control: UnixStream) -> Self {
        Self {
            pid,
            folder,
            profile,
            since: Instant::now(),
            control: Mutex::new(control),
        }
    }

    /// Sends a control message to the bridge. A bridge that is gone misses nothing.
    pub(super) fn send(&self, message: &ControlMessage) {
        let mut control = self.control.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = write_message(&mut *control, message);
    }
}

impl Default for Clients {
    fn default() -> Self {
        Self {
            all: Mutex::default(),
            next: AtomicU64::new(1),
            count: watch::Sender::new(0),
        }
    }
}

impl Clients {
    pub(super) fn register(&self, client: Client) -> Registered<'_> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let client = Arc::new(client);
        let count = {
            let mut all = self.lock();
            all.insert(id, client.clone());
            all.len()
        };
        self.count.send_replace(count);
        Registered {
            clients: self,
            id,
            client,
        }
    }

    pub(super) fn all(&self) -> Vec<Arc<Client>> {
        self.lock().values().cloned().collect()
    }

    pub(super) fn watch_count(&self) -> watch::Receiver<usize> {
        self.count.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Client>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        let count = {
            let mut all = self.clients.lock();
            all.remove(&self.id);
            all.len()
        };
        self.clients.count.send_replace(count);
    }
}
