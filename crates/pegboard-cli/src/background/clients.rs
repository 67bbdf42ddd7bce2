//! The clients that the process serves through its socket.

use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use pegboard_background::{ControlMessage, write_message};
use pegboard_gateway::stdio::SessionObserver;
use pegboard_hub::{SessionId, SystemClock};
use pegboard_model::{Clock, Timestamp};
use tokio::sync::watch;

use super::views::View;

/// Maximum number of clients. Further ones serve themselves.
const CLIENTS_MAX: usize = 1_000;

/// All connected clients.
pub(super) struct Clients {
    all: Mutex<BTreeMap<u64, Arc<Client>>>,
    next: AtomicU64,
    /// The number of connected clients.
    count: watch::Sender<usize>,
}

/// How a client uses the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClientKind {
    /// A bridge relays the messages of an MCP client.
    Bridge,
    /// A command of the user runs one call.
    Command,
}

/// One connected client.
pub(super) struct Client {
    pub(super) kind: ClientKind,
    /// Its bridge or command.
    pub(super) pid: u32,
    pub(super) profile: String,
    pub(super) since: Timestamp,
    pub(super) view: Arc<View>,
    /// Its session in the hub of its view.
    pub(super) session: OnceLock<SessionId>,
    /// Whether it has received the reply that it is served. Control messages follow that.
    is_accepted: AtomicBool,
    control: Mutex<UnixStream>,
}

/// Removes the client when it is dropped.
pub(super) struct Registered<'a> {
    clients: &'a Clients,
    id: u64,
    pub(super) client: Arc<Client>,
}

impl Client {
    pub(super) fn new(
        kind: ClientKind,
        pid: u32,
        profile: String,
        view: Arc<View>,
        control: UnixStream,
    ) -> Self {
        Self {
            kind,
            pid,
            profile,
            since: SystemClock.now(),
            view,
            session: OnceLock::new(),
            is_accepted: AtomicBool::new(false),
            control: Mutex::new(control),
        }
    }

    /// Control messages may be sent from now on.
    pub(super) fn accept(&self) {
        self.is_accepted.store(true, Ordering::Release);
    }

    /// Sends a control message to an accepted bridge. A bridge that is gone misses nothing.
    pub(super) fn send(&self, message: &ControlMessage) {
        if self.kind == ClientKind::Bridge && self.is_accepted.load(Ordering::Acquire) {
            let mut control = self.control.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = write_message(&mut *control, message);
        }
    }
}

impl SessionObserver for Client {
    fn begun(&self, session: &SessionId) {
        let _ = self.session.set(session.clone());
    }

    fn opened(&self, id: &str) {
        let token = id.to_owned();
        self.send(&ControlMessage::Session { token });
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
    /// Adds a client. Returns `None` if there are too many.
    pub(super) fn register(&self, client: Client) -> Option<Registered<'_>> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let client = Arc::new(client);
        let count = {
            let mut all = self.lock();
            if all.len() >= CLIENTS_MAX {
                return None;
            }
            all.insert(id, client.clone());
            all.len()
        };
        self.count.send_replace(count);
        Some(Registered {
            clients: self,
            id,
            client,
        })
    }

    /// The connected clients, oldest first.
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
