//! Who is connected: clients of the gateway and programs that embed Pegboard. It is told by whoever serves them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pegboard_model::Timestamp;
use serde::Serialize;

use crate::calls::SessionId;
use crate::hub::Hub;
use crate::sync::lock;

/// Sessions that are shown at once; a new one takes the place of the one that was silent for longest.
const MAX_SESSIONS: usize = 1_000;
/// A client that never says goodbye is shown for this long after its last word.
const SILENT_CLIENT_TTL: Duration = Duration::from_secs(30 * 60);

/// How a session reaches us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClientTransport {
    /// A client that started Pegboard and speaks on its standard input and output.
    Stdio,
    /// An HTTP client of a revision with sessions.
    HttpLegacy,
    /// An HTTP client of a revision without sessions; requests of one name count as one.
    HttpModern,
    /// A program that uses Pegboard as a library.
    Embedder,
}

impl ClientTransport {
    /// The word shown to people and programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::HttpLegacy => "http-legacy",
            Self::HttpModern => "http-modern",
            Self::Embedder => "embedder",
        }
    }
}

/// One session, as of the moment it was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SessionInfo {
    /// Its id, as in the activity log.
    pub id: SessionId,
    /// How it reaches us.
    pub face: ClientTransport,
    /// What the client calls itself, with its version; foreign text.
    pub client: Option<Arc<str>>,
    /// The profile that it uses; empty for the one without a name.
    pub profile: String,
    /// When it began.
    pub since: Timestamp,
    /// When it last asked for something.
    pub last_seen: Timestamp,
    /// How many tools it called.
    pub calls: u64,
}

/// A session that is there; whoever serves it notes what it does. Noting never waits.
#[derive(Debug)]
pub struct SessionHandle {
    last_seen: AtomicU64,
    calls: AtomicU64,
}

impl SessionHandle {
    fn seen(&self, at: Timestamp, is_call: bool) {
        self.last_seen.store(at.0, Ordering::Relaxed);
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
    pub(super) fn remove(&self, id: &SessionId) {
        lock(&self.present).remove(&id.0);
    }
}

impl Hub {
    /// A session is there from now on, until [`Hub::session_ended`].
    pub fn session_opened(
        &self,
        id: &SessionId,
        face: ClientTransport,
        client: Option<Arc<str>>,
        profile: &str,
    ) -> Arc<SessionHandle> {
        let now = self.inner.clock.now();
        let info = SessionInfo {
            id: id.clone(),
            face,
            client,
            profile: profile.to_owned(),
            since: now,
            last_seen: now,
            calls: 0,
        };
        self.inner.sessions.registry.add(&id.0, info)
    }

    /// Somebody without a session asks for something; `key` tells such clients apart, and `client` gives what one
    /// calls itself when it is seen for the first time.
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
            face: ClientTransport::HttpModern,
            client: client(),
            profile: profile.to_owned(),
            since: now,
            last_seen: now,
            calls: 0,
        };
        registry.add(key, info)
    }

    /// Notes that a session asked for something.
    pub fn record_session_request(&self, presence: &SessionHandle, is_call: bool) {
        presence.seen(self.inner.clock.now(), is_call);
    }

    /// Who is connected, the newest first. Clients without sessions are shown for a while after their last request.
    pub fn sessions(&self) -> Vec<SessionInfo> {
        let now = self.inner.clock.now();
        let mut present = lock(&self.inner.sessions.registry.present);
        present.retain(|_, (info, presence)| {
            let seen = Timestamp(presence.last_seen.load(Ordering::Relaxed));
            info.face != ClientTransport::HttpModern || now.since(seen) < SILENT_CLIENT_TTL
        });
        let sessions = present.values().map(|(info, presence)| SessionInfo {
            last_seen: Timestamp(presence.last_seen.load(Ordering::Relaxed)),
            calls: presence.calls.load(Ordering::Relaxed),
            ..info.clone()
        });
        let mut sessions: Vec<SessionInfo> = sessions.collect();
        sessions.sort_by(|a, b| b.since.cmp(&a.since).then_with(|| a.id.0.cmp(&b.id.0)));
        sessions
    }
}
