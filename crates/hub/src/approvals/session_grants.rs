//! Grants that live in memory: for a session, and for the next round of an approved call.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::time::Duration;

use pegboard_model::ToolVersion;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::calls::{CallRequest, SessionId};
use crate::sync::lock;

/// How long an approved call may wait for the client's input; the gateway keeps its state equally long.
const NEXT_ROUND: Duration = Duration::from_secs(10 * 60);

pub(super) struct SessionGrants {
    sessions: Mutex<HashMap<SessionId, HashSet<ToolVersion>>>,
    rounds: Mutex<HashMap<[u8; 32], Instant>>,
    most: usize,
}

impl SessionGrants {
    pub(super) fn new(most: usize) -> Self {
        Self {
            sessions: Mutex::default(),
            rounds: Mutex::default(),
            most,
        }
    }

    /// Whether the session holds a grant for this version of a tool.
    pub(super) fn covers(&self, session: &SessionId, version: &ToolVersion) -> bool {
        let sessions = lock(&self.sessions);
        sessions
            .get(session)
            .is_some_and(|versions| versions.contains(version))
    }

    /// Adds a grant for a session. Beyond the limit it is not stored, and the approval covers only its call.
    pub(super) fn add(&self, session: &SessionId, version: &ToolVersion) {
        let mut sessions = lock(&self.sessions);
        let held: usize = sessions.values().map(HashSet::len).sum();
        if held < self.most {
            let versions = sessions.entry(session.clone()).or_default();
            versions.insert(version.clone());
        }
    }

    pub(super) fn forget(&self, session: &SessionId) {
        lock(&self.sessions).remove(session);
    }

    /// Revokes the matching grants of all sessions.
    pub(super) fn revoke(&self, is_meant: impl Fn(&ToolVersion) -> bool) {
        let mut sessions = lock(&self.sessions);
        for versions in sessions.values_mut() {
            versions.retain(|version| !is_meant(version));
        }
    }

    /// An approved call returned `input_required`: its next round needs no second approval.
    pub(super) fn expect_next_round(
        &self,
        request: &CallRequest,
        version: &ToolVersion,
        result: &RawValue,
    ) {
        #[derive(Deserialize)]
        struct Wanted<'a> {
            #[serde(borrow, default, rename = "requestState")]
            state: Option<&'a RawValue>,
        }
        let wanted: Option<Wanted<'_>> = serde_json::from_str(result.get()).ok();
        let state = wanted.and_then(|wanted| wanted.state);
        let round = round(request, version, state.map(RawValue::get));
        let now = Instant::now();
        let mut rounds = lock(&self.rounds);
        rounds.retain(|_, until| *until > now);
        if rounds.len() < self.most {
            rounds.insert(round, now + NEXT_ROUND);
        }
    }

    /// Whether a call is the next round of an approved one. Each round counts once.
    pub(super) fn take_next_round(&self, request: &CallRequest, version: &ToolVersion) -> bool {
        let Some(input) = &request.input else {
            return false;
        };
        let state = input.state.as_deref().map(RawValue::get);
        let round = round(request, version, state);
        let until = lock(&self.rounds).remove(&round);
        until.is_some_and(|until| until > Instant::now())
    }
}

/// Identifies a round by the version, the arguments and the server's request state, or by the session if there is no
/// state.
fn round(request: &CallRequest, version: &ToolVersion, state: Option<&str>) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    let server = version.server.as_ref().map_or("", |server| server.as_str());
    let (kind, bound) = match state {
        Some(state) => ("state", state),
        None => ("session", request.session.0.as_str()),
    };
    let texts = [server, &version.tool, request.arguments.get(), kind, bound];
    for text in texts {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    hasher.update(&version.config.0);
    hasher.update(&version.fingerprint.0);
    *hasher.finalize().as_bytes()
}
