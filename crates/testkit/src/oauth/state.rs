//! What both servers know: clients, codes, grants and tokens.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::behaviour::Behaviour;
use super::clients::Client;
use super::route::Route;
use super::seen::SeenRequest;

/// What all requests share.
pub(super) struct Shared {
    pub(super) behaviour: Mutex<Behaviour>,
    pub(super) state: Mutex<State>,
    pub(super) seen: Mutex<Vec<SeenRequest>>,
    pub(super) server_origin: String,
    pub(super) resource_origin: String,
}

impl Shared {
    pub(super) fn behaviour(&self) -> Behaviour {
        lock(&self.behaviour).clone()
    }

    pub(super) fn mcp_url(&self) -> String {
        format!("{}{}", self.resource_origin, self.behaviour().resource.path)
    }

    pub(super) fn issuer(&self) -> String {
        let behaviour = self.behaviour();
        let origin = match behaviour.same_origin {
            true => &self.resource_origin,
            false => &self.server_origin,
        };
        format!("{origin}{}", behaviour.metadata.issuer_path)
    }

    pub(super) fn endpoint(&self, route: Route) -> String {
        format!("{}{}", self.issuer(), route.path())
    }
}

/// Clients, codes, grants and tokens.
#[derive(Default)]
pub(super) struct State {
    pub(super) registered: Vec<Client>,
    /// How many clients registered ever, so that no id is issued twice.
    pub(super) registrations: usize,
    pub(super) codes: BTreeMap<String, Code>,
    pub(super) grants: Vec<Grant>,
    pub(super) access: BTreeMap<String, Access>,
    pub(super) refresh: BTreeMap<String, Refresh>,
    pub(super) devices: BTreeMap<String, Device>,
    pub(super) tools_run: Vec<String>,
    /// Every secret that was issued, for searches for leaks.
    pub(super) issued: Vec<String>,
    /// What was added to the system's time.
    pub(super) offset: Duration,
}

impl State {
    /// The time in milliseconds since 1970.
    pub(super) fn now(&self) -> u64 {
        let system = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        u64::try_from((system + self.offset).as_millis()).unwrap_or(u64::MAX)
    }

    /// A new unguessable value that begins with this word.
    pub(super) fn secret(&mut self, kind: &str) -> String {
        let mut random = [0; 24];
        getrandom::fill(&mut random).expect("random bytes of the system");
        let text: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let secret = format!("{kind}-{text}");
        self.issued.push(secret.clone());
        secret
    }
}

/// An authorization code and what it was issued for.
#[derive(Clone, Debug)]
pub(super) struct Code {
    pub(super) client: String,
    pub(super) redirect: String,
    pub(super) challenge: Option<String>,
    pub(super) scope: String,
    pub(super) resource: Option<String>,
    /// The grant that came out of it; a second use revokes that grant.
    pub(super) used: Option<usize>,
}

/// What a person agreed to. Tokens refer to it by its place in the list.
#[derive(Clone, Debug)]
pub(super) struct Grant {
    pub(super) client: String,
    pub(super) scope: String,
    pub(super) resource: Option<String>,
    pub(super) is_revoked: bool,
}

/// An access token.
#[derive(Clone, Debug)]
pub(super) struct Access {
    pub(super) grant: usize,
    pub(super) scope: String,
    pub(super) audience: Option<String>,
    pub(super) expires: u64,
}

/// A refresh token.
#[derive(Clone, Debug)]
pub(super) struct Refresh {
    pub(super) grant: usize,
    /// When it was replaced by another.
    pub(super) replaced: Option<u64>,
}

/// A device that waits for a person.
#[derive(Clone, Debug)]
pub(super) struct Device {
    pub(super) client: String,
    pub(super) user_code: String,
    pub(super) scope: String,
    pub(super) resource: Option<String>,
    pub(super) approved: Option<bool>,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
