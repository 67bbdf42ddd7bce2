//! Logged-in browsers, each identified by a cookie and a page key.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use blake3::Hash;
use pegboard_gateway::http::Login;
use pegboard_model::{Clock, Secret, Timestamp};

use super::random_token;

/// A login without requests for this long ends.
const IDLE_TIMEOUT: Duration = Duration::from_secs(12 * 3600);
/// A login ends after this time in any case.
const MAX_LIFETIME: Duration = Duration::from_secs(7 * 24 * 3600);
/// Maximum number of logins; a new one replaces the one that was idle for longest.
const MAX_BROWSERS: usize = 64;
/// How often the time of the last request is stored. After a restart a login looks idle for at most this much longer.
const SEEN_STORE_INTERVAL: Duration = Duration::from_secs(600);
/// Hex digits of a login's id.
const ID_LENGTH: usize = 8;

/// A stored login. It contains only hashes of the cookie and the page key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredLogin {
    /// The hash of the cookie's value.
    pub name: Hash,
    /// The hash of the page key.
    pub page_key: Hash,
    /// When the person logged in.
    pub since: Timestamp,
    /// When the browser last sent a request, within a few minutes.
    pub seen: Timestamp,
}

impl StoredLogin {
    /// Whether the login has expired.
    pub fn is_over(&self, now: Timestamp) -> bool {
        now.since(self.seen) >= IDLE_TIMEOUT || now.since(self.since) >= MAX_LIFETIME
    }
}

/// Storage for logins, so that they survive a restart.
pub trait LoginStore: Send + Sync {
    /// Loads the stored logins.
    fn load(&self) -> Vec<StoredLogin>;

    /// Replaces the stored logins.
    fn save(&self, logins: &[StoredLogin]);
}

/// Stores nothing: users log in again after a restart.
pub(super) struct NoLoginStore;

impl LoginStore for NoLoginStore {
    fn load(&self) -> Vec<StoredLogin> {
        Vec::new()
    }

    fn save(&self, _: &[StoredLogin]) {}
}

/// The logins, by the hash of their cookie value.
pub(super) struct Browsers {
    known: Mutex<HashMap<Hash, Browser>>,
    clock: Arc<dyn Clock>,
    store: Arc<dyn LoginStore>,
    /// Held while logins are stored, so that an older state never replaces a newer one.
    storing: Mutex<()>,
}

struct Browser {
    login: StoredLogin,
    seen_stored: Timestamp,
}

/// The two secrets of a new login.
pub(super) struct LoginSecrets {
    /// The value of the cookie.
    pub(super) name: Secret,
    /// The page key.
    pub(super) page_key: Secret,
}

impl Browsers {
    pub(super) fn new(clock: Arc<dyn Clock>, store: Arc<dyn LoginStore>) -> Self {
        let now = clock.now();
        let stored = store.load().into_iter();
        let stored = stored.filter(|login| !login.is_over(now));
        let known = stored.take(MAX_BROWSERS).map(|login| {
            let seen_stored = login.seen;
            (login.name, Browser { login, seen_stored })
        });
        Self {
            known: Mutex::new(known.collect()),
            clock,
            store,
            storing: Mutex::default(),
        }
    }

    /// Creates a login. Returns `None` if the system has no randomness.
    pub(super) fn admit(&self) -> Option<LoginSecrets> {
        let (name, page_key) = (random_token()?, random_token()?);
        let now = self.clock.now();
        let login = StoredLogin {
            name: blake3::hash(name.as_bytes()),
            page_key: blake3::hash(page_key.as_bytes()),
            since: now,
            seen: now,
        };
        let mut known = self.known();
        known.retain(|_, browser| !browser.login.is_over(now));
        if known.len() >= MAX_BROWSERS {
            let idlest = known.iter().min_by_key(|(_, browser)| browser.login.seen);
            if let Some(hash) = idlest.map(|(hash, _)| *hash) {
                known.remove(&hash);
            }
        }
        let seen_stored = now;
        known.insert(login.name, Browser { login, seen_stored });
        drop(known);
        self.store();
        Some(LoginSecrets {
            name: Secret::new(name),
            page_key: Secret::new(page_key),
        })
    }

    /// The login with this cookie value, if it has not expired.
    pub(super) fn recognise(self: &Arc<Self>, name: &str) -> Option<Login> {
        let hash = blake3::hash(name.as_bytes());
        let now = self.clock.now();
        let mut known = self.known();
        if known.get(&hash)?.login.is_over(now) {
            known.remove(&hash);
            return None;
        }
        let browser = known.get_mut(&hash)?;
        browser.login.seen = now;
        let login = Login::new(id_of(&browser.login), browser.login.page_key);
        let is_due = now.since(browser.seen_stored) >= SEEN_STORE_INTERVAL;
        if is_due {
            browser.seen_stored = now;
        }
        drop(known);
        if is_due {
            self.store_later();
        }
        Some(login)
    }

    pub(super) fn remove(&self, name: &str) {
        self.known().remove(&blake3::hash(name.as_bytes()));
        self.store();
    }

    fn store(&self) {
        let _storing = self.storing.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.known();
        let logins: Vec<StoredLogin> = known.values().map(|one| one.login.clone()).collect();
        drop(known);
        self.store.save(&logins);
    }

    /// Stores in the background, so that a request does not wait for the disk.
    fn store_later(self: &Arc<Self>) {
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let browsers = self.clone();
            runtime.spawn_blocking(move || browsers.store());
        }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Hash, Browser>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The first digits of a hash of the cookie's hash: identifies a login without revealing it.
fn id_of(login: &StoredLogin) -> String {
    let hash = blake3::hash(login.name.as_bytes()).to_hex();
    hash.as_str().chars().take(ID_LENGTH).collect()
}

#[cfg(test)]
mod tests {
    use pegboard_testkit::FakeClock;

    use super::*;

    #[derive(Default)]
    struct MemoryLogins(Mutex<Vec<StoredLogin>>);

    impl LoginStore for MemoryLogins {
        fn load(&self) -> Vec<StoredLogin> {
            self.0.lock().unwrap().clone()
        }

        fn save(&self, logins: &[StoredLogin]) {
            *self.0.lock().unwrap() = logins.to_vec();
        }
    }

    fn browsers(clock: &Arc<FakeClock>, store: &Arc<MemoryLogins>) -> Arc<Browsers> {
        Arc::new(Browsers::new(clock.clone(), store.clone()))
    }

    #[tokio::test]
    async fn r_sec_03_a_login_ends_when_it_is_idle_when_it_is_old_and_when_there_are_too_many() {
        let clock = Arc::new(FakeClock::at(1_000_000));
        let browsers = browsers(&clock, &Arc::default());
        let idle = browsers.admit().unwrap().name;
        let busy = browsers.admit().unwrap().name;
        for _ in 0..14 {
            clock.advance(IDLE_TIMEOUT - Duration::from_secs(1));
            assert!(browsers.recognise(busy.reveal()).is_some());
        }
        assert!(browsers.recognise(idle.reveal()).is_none());
        clock.advance(Duration::from_secs(14));
        assert!(
            browsers.recognise(busy.reveal()).is_none(),
            "a week is over"
        );
        let first = browsers.admit().unwrap().name;
        for _ in 0..MAX_BROWSERS {
            clock.advance(Duration::from_secs(1));
            browsers.admit().unwrap();
        }
        assert!(browsers.recognise(first.reveal()).is_none(), "replaced");
        assert_eq!(browsers.known().len(), MAX_BROWSERS);
    }

    #[tokio::test]
    async fn r_ui_02_a_login_survives_a_restart_until_expiry_or_logout() {
        let clock = Arc::new(FakeClock::at(1_000_000));
        let store = Arc::new(MemoryLogins::default());
        let first = browsers(&clock, &store);
        let (stays, leaves) = (first.admit().unwrap(), first.admit().unwrap());
        let id = first.recognise(stays.name.reveal()).unwrap().id;
        first.remove(leaves.name.reveal());
        drop(first);
        let second = browsers(&clock, &store);
        assert_eq!(second.recognise(stays.name.reveal()).unwrap().id, id);
        assert!(second.recognise(leaves.name.reveal()).is_none());
        let text = format!("{:?}", store.load());
        for secret in [&stays.name, &stays.page_key] {
            assert!(!text.contains(secret.reveal()), "only hashes are stored");
        }
        drop(second);
        clock.advance(IDLE_TIMEOUT);
        let third = browsers(&clock, &store);
        assert!(third.recognise(stays.name.reveal()).is_none(), "expired");
    }
}
