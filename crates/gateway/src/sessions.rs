//! Legacy sessions: evicted when idle, and restored from their ids after a restart.
//!
//! A session id contains, sealed, everything needed to restore the session, so neither eviction nor a restart ends it.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pegboard_hub::ClientCapabilities;
use pegboard_model::Limits;
use serde::{Deserialize, Serialize};

use crate::conversation::{Conversation, LegacySession, lock};
use crate::gateway::Shared;

/// A session that is unused for this long is evicted.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// Minimum time between two sweeps for idle sessions.
const SWEEP_INTERVAL: Duration = Duration::from_secs(60);
/// Longer capabilities are not stored in the id. After a restart such a client has none.
const CAPABILITIES_BYTES: usize = 2 * 1024;
/// How many ended sessions are remembered, so that they cannot be restored.
const ENDED_MAX: usize = 10_000;

const PURPOSE: &str = "session";

/// The sessions in memory.
pub(crate) struct Sessions {
    state: Mutex<SessionTable>,
    max: usize,
}

#[derive(Default)]
struct SessionTable {
    held: HashMap<Arc<str>, SessionEntry>,
    ended: HashSet<Arc<str>>,
    ended_order: VecDeque<Arc<str>>,
    swept: Option<Instant>,
}

struct SessionEntry {
    conversation: Arc<Conversation>,
    used: Instant,
}

/// The sealed content of a session id. The short keys keep the id short.
#[derive(Serialize, Deserialize)]
struct SessionToken {
    /// A nonce.
    n: String,
    /// The profile.
    p: String,
    /// The revision.
    v: String,
    /// The client's capabilities.
    c: String,
    /// The client's name and version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    i: Option<String>,
}

impl Sessions {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            state: Mutex::default(),
            max: limits.sessions.max(1),
        }
    }

    /// Opens a session after a handshake.
    pub(crate) fn open(
        &self,
        conversation: &Arc<Conversation>,
        revision: &str,
        capabilities: ClientCapabilities,
    ) {
        let carried = SessionToken {
            n: random_name(),
            p: conversation.profile.clone(),
            v: revision.to_owned(),
            c: match capabilities.as_str() {
                text if text.len() <= CAPABILITIES_BYTES => text.to_owned(),
                _ => "{}".to_owned(),
            },
            i: conversation.client.get().map(|name| name.to_string()),
        };
        let sealed = conversation.shared.sealer.seal(PURPOSE, &carried);
        let id: Arc<str> = sealed.unwrap_or_else(random_name).into();
        let legacy = LegacySession::new(revision, capabilities, id.clone());
        if conversation.legacy.set(legacy).is_ok() {
            self.insert(id, conversation.clone());
        }
    }

    /// Finds or restores the session of an id. Returns `None` if the id is invalid or the session was ended.
    pub(crate) fn find(
        &self,
        shared: &Arc<Shared>,
        profile: &str,
        id: &str,
    ) -> Option<Arc<Conversation>> {
        let found = {
            let mut state = lock(&self.state);
            if state.ended.contains(id) {
                return None;
            }
            state.held.get_mut(id).map(|held| {
                held.used = Instant::now();
                held.conversation.clone()
            })
        };
        if let Some(conversation) = found {
            return Some(conversation).filter(|found| found.profile == profile);
        }
        let carried: SessionToken = shared.sealer.open(PURPOSE, id)?;
        if carried.p != profile || shared.view(profile).is_none() {
            return None;
        }
        let conversation = Arc::new(Conversation::new(shared.clone(), profile));
        let id: Arc<str> = id.into();
        let legacy = LegacySession::new(
            &carried.v,
            ClientCapabilities::parse(&carried.c),
            id.clone(),
        );
        conversation.legacy.set(legacy).ok()?;
        if let Some(name) = carried.i {
            let _ = conversation.client.set(name.into());
        }
        Some(self.insert(id, conversation))
    }

    /// Ends a session permanently.
    pub(crate) fn end(&self, id: &str) {
        let mut state = lock(&self.state);
        state.held.remove(id);
        let id: Arc<str> = id.into();
        if state.ended.insert(id.clone()) {
            state.ended_order.push_back(id);
        }
        if state.ended_order.len() > ENDED_MAX
            && let Some(oldest) = state.ended_order.pop_front()
        {
            state.ended.remove(&oldest);
        }
    }

    /// Closes all sessions.
    pub(crate) fn close(&self) {
        let held = std::mem::take(&mut lock(&self.state).held);
        for held in held.into_values() {
            held.conversation.close();
        }
    }

    fn insert(&self, id: Arc<str>, conversation: Arc<Conversation>) -> Arc<Conversation> {
        let now = Instant::now();
        let mut state = lock(&self.state);
        state.make_room(self.max, now);
        let held = state.held.entry(id).or_insert(SessionEntry {
            conversation,
            used: now,
        });
        held.conversation.clone()
    }
}

impl SessionTable {
    fn make_room(&mut self, max: usize, now: Instant) {
        let is_due = self
            .swept
            .is_none_or(|swept| now.duration_since(swept) >= SWEEP_INTERVAL);
        if is_due {
            self.swept = Some(now);
            let is_idle = |held: &SessionEntry| now.duration_since(held.used) >= IDLE_TIMEOUT;
            self.held
                .retain(|_, held| !is_idle(held) || held.conversation.is_busy());
        }
        if self.held.len() < max {
            return;
        }
        let oldest = self
            .held
            .iter()
            .min_by_key(|(_, held)| (held.conversation.is_busy(), held.used));
        if let Some(id) = oldest.map(|(id, _)| id.clone()) {
            self.held.remove(&id);
        }
    }
}

/// An unguessable name.
pub(crate) fn random_name() -> String {
    let mut bytes = [0; 18];
    // If the system has no randomness, names are guessable, but then TLS and tokens do not work either.
    let _ = getrandom::fill(&mut bytes);
    URL_SAFE_NO_PAD.encode(bytes)
}
