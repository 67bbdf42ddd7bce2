//! Browsers that are logged in, each known by a name in its cookie.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use blake3::Hash;
use pegboard_gateway::http::Login;
use pegboard_model::Secret;
use tokio::time::Instant;

use super::unguessable;

/// A browser that shows nothing for so long is forgotten.
const IDLE: Duration = Duration::from_secs(12 * 3600);
/// A browser is forgotten after this time, whatever it shows.
const LONGEST: Duration = Duration::from_secs(7 * 24 * 3600);
/// Browsers that are logged in at once; a new one takes the place of the one that was idle for longest.
const MOST_BROWSERS: usize = 64;

/// The browsers, by the hash of their names.
#[derive(Default)]
pub(super) struct Browsers {
    known: Mutex<HashMap<Hash, Browser>>,
}

struct Browser {
    csrf: Arc<str>,
    since: Instant,
    seen: Instant,
}

impl Browser {
    fn is_over(&self) -> bool {
        self.seen.elapsed() >= IDLE || self.since.elapsed() >= LONGEST
    }
}

impl Browsers {
    /// Lets a browser in, and gives its name.
    pub(super) fn admit(&self) -> Secret {
        let (Some(name), Some(csrf)) = (unguessable(), unguessable()) else {
            return Secret::new("");
        };
        let now = Instant::now();
        let browser = Browser {
            csrf: csrf.into(),
            since: now,
            seen: now,
        };
        let mut known = self.known();
        known.retain(|_, browser| !browser.is_over());
        if known.len() >= MOST_BROWSERS {
            let idlest = known.iter().min_by_key(|(_, browser)| browser.seen);
            if let Some(hash) = idlest.map(|(hash, _)| *hash) {
                known.remove(&hash);
            }
        }
        known.insert(blake3::hash(name.as_bytes()), browser);
        Secret::new(name)
    }

    /// The browser of a name.
    pub(super) fn recognise(&self, name: &str) -> Option<Login> {
        let hash = blake3::hash(name.as_bytes());
        let mut known = self.known();
        if known.get(&hash)?.is_over() {
            known.remove(&hash);
            return None;
        }
        let browser = known.get_mut(&hash)?;
        browser.seen = Instant::now();
        Some(Login {
            csrf: browser.csrf.clone(),
        })
    }

    pub(super) fn dismiss(&self, name: &str) {
        self.known().remove(&blake3::hash(name.as_bytes()));
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Hash, Browser>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn r_sec_03_a_login_ends_when_it_is_idle_when_it_is_old_and_when_there_are_too_many() {
        let browsers = Browsers::default();
        let idle = browsers.admit();
        let busy = browsers.admit();
        for _ in 0..14 {
            tokio::time::advance(IDLE - Duration::from_secs(1)).await;
            assert!(browsers.recognise(busy.reveal()).is_some());
        }
        assert!(browsers.recognise(idle.reveal()).is_none());
        tokio::time::advance(Duration::from_secs(14)).await;
        assert!(
            browsers.recognise(busy.reveal()).is_none(),
            "a week is over"
        );
        let first = browsers.admit();
        for _ in 0..MOST_BROWSERS {
            tokio::time::advance(Duration::from_secs(1)).await;
            browsers.admit();
        }
        assert!(browsers.recognise(first.reveal()).is_none(), "it gave way");
        assert_eq!(browsers.known().len(), MOST_BROWSERS);
    }
}
