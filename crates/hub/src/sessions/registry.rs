//! The connected sessions: clients of the gateway and embedding programs. The code that serves a session records its
//! requests here.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pegboard_model::Timestamp;
use serde::Serialize;

use crate::calls::SessionId;
use crate::hub::Hub;
use crate::sync::lock;

/// Upper bound for the listed sessions. A new one replaces the one that was silent for longest.
const MAX_SESSIONS: usize = 1_000;
/// How long a modern client, which never disconnects, stays listed after its last request.
const SILENT_CLIENT_TTL: Duration = Duration::from_secs(30 * 60);

/// How a client is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClientTransport {
    /// A client that started Pegboard and communicates over stdin and stdout.
    Stdio,
    /// An HTTP client of a protocol revision with sessions.
    HttpLegacy,
    /// An HTTP client of a protocol revision without sessions. Clients with the same name and profile count as one.
    HttpModern,
    /// A program that embeds Pegboard as a library.
    Embedder,
}

impl ClientTransport {
    /// The name in output and in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::HttpLegacy => "http-legacy",
            Self::HttpModern => "http-modern",
            Self::Embedder => "embedder",
        }
    }
}

/// A snapshot of one session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SessionInfo {
    /// Its id, as in the activity log.
    pub id: SessionId,
    /// How it is connected.
    pub transport: ClientTransport,
    /// The client's name and version. Untrusted text.
    pub client: Option<Arc<str>>,
    /// Its profile; empty for the default one.
    pub profile: String,
    /// When it was opened.
    pub since: Timestamp,
    /// When it made its last request.
    pub last_seen: Timestamp,
    /// Number of requests.
    pub requests: u64,
    /// Number of tool calls.
    pub calls: u64,
}

/// A connected session, for recording its requests. Recording never waits.
#[derive(Debug)]
pub struct SessionHandle {
    last_seen: AtomicU64,
    requests: AtomicU64,
    calls: AtomicU64,
}

impl SessionHandle {
    fn seen(&self, at: Timestamp, is_call: bool) {
        self.last_seen.store(at.0, Ordering::Relaxed);
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.calls.fetch_add(u64::from(is_call), Ordering::Relaxed);
    }
}

#[derive(Default)]
pub(super) struct SessionRegistry {
    present: Mutex<HashMap<String, (SessionInfo, Arc<SessionHandle>)>>,
    count: AtomicU64,
}

impl SessionRegistry {
    fn add(&self, key: &str, info: SessionInfo) -> Arc<SessionHandle> {
        let presence = Arc::new(SessionHandle {
            last_seen: AtomicU64::new(info.last_seen.0),
            requests: AtomicU64::new(info.requests),
            calls: AtomicU64::new(info.calls),
        });
        let mut present = lock(&self.present);
        if present.len() >= MAX_SESSIONS && !present.contains_key(key) {
            let seen =
                |held: &(SessionInfo, Arc<SessionHandle>)| held.1.last_seen.load(Ordering::Relaxed);
            let silent = present.iter().min_by_key(|(_, held)| seen(held));
            if let Some(key) = silent.map(|(key, _)| key.clone()) {
                present.remove(&key);
            }
        }
        present.insert(key.to_owned(), (info, presence.clone()));
        presence
    }
}

impl SessionRegistry {
    pub(super) fn is_open(&self, id: &SessionId) -> bool {
        lock(&self.present).contains_key(&id.0)
    }

    pub(super) fn remove(&self, id: &SessionId) {
        lock(&self.present).remove(&id.0);
    }
}

impl Hub {
    /// Adds a session, which stays listed until [`Hub::session_ended`].
    pub fn session_opened(
        &self,
        id: &SessionId,
        transport: ClientTransport,
        client: Option<Arc<str>>,
        profile: &str,
    ) -> Arc<SessionHandle> {
        let now = self.inner.clock.now();
        let info = SessionInfo {
            id: id.clone(),
            transport,
            client,
            profile: profile.to_owned(),
            since: now,
            last_seen: now,
            requests: 0,
            calls: 0,
        };
        self.inner.sessions.registry.add(&id.0, info)
    }

    /// Returns the handle of a client without sessions, adding it if it is new. `key` identifies the client; `client`
    /// is called for a new one.
    pub fn open_or_find_client(
        &self,
        key: &str,
        profile: &str,
        client: impl FnOnce() -> Option<Arc<str>>,
    ) -> Arc<SessionHandle> {
        let registry = &self.inner.sessions.registry;
        if let Some((_, presence)) = lock(&registry.present).get(key) {
            return presence.clone();
        }
        let number = registry.count.fetch_add(1, Ordering::Relaxed) + 1;
        let now = self.inner.clock.now();
        let info = SessionInfo {
            id: SessionId(format!("http-{number}")),
            transport: ClientTransport::HttpModern,
            client: client(),
            profile: profile.to_owned(),
            since: now,
            last_seen: now,
            requests: 0,
            calls: 0,
        };
        registry.add(key, info)
    }

    /// Records a request of a session.
    pub fn record_session_request(&self, presence: &SessionHandle, is_call: bool) {
        presence.seen(self.inner.clock.now(), is_call);
    }

    /// Returns the connected sessions, newest first. Clients without sessions stay listed for a while after their
    /// last request.
    pub fn sessions(&self) -> Vec<SessionInfo> {
        let now = self.inner.clock.now();
        let mut present = lock(&self.inner.sessions.registry.present);
        present.retain(|_, (info, presence)| {
            let seen = Timestamp(presence.last_seen.load(Ordering::Relaxed));
            info.transport != ClientTransport::HttpModern || now.since(seen) < SILENT_CLIENT_TTL
        });
        let sessions = present.values().map(|(info, presence)| SessionInfo {
            last_seen: Timestamp(presence.last_seen.load(Ordering::Relaxed)),
            requests: presence.requests.load(Ordering::Relaxed),
            calls: presence.calls.load(Ordering::Relaxed),
            ..info.clone()
        });
        let mut sessions: Vec<SessionInfo> = sessions.collect();
        sessions.sort_by(|a, b| b.since.cmp(&a.since).then_with(|| a.id.0.cmp(&b.id.0)));
        sessions
    }
}
