//! One-time login codes with a limited lifetime.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use blake3::Hash;
use pegboard_model::Secret;
use tokio::time::Instant;

use super::{LOGIN_CODE_LIFETIME, random_token};

/// Maximum number of valid codes; a new one replaces the oldest.
const MAX_CODES: usize = 32;

/// The unused codes, as hashes, so that comparing takes the same time for every guess.
#[derive(Default)]
pub(super) struct Codes {
    issued: Mutex<VecDeque<(Hash, Instant)>>,
}

impl Codes {
    pub(super) fn mint(&self) -> Secret {
        let Some(code) = random_token() else {
            return Secret::new("");
        };
        let mut issued = self.issued.lock().unwrap_or_else(PoisonError::into_inner);
        if issued.len() >= MAX_CODES {
            issued.pop_front();
        }
        issued.push_back((blake3::hash(code.as_bytes()), Instant::now()));
        Secret::new(code)
    }

    /// Consumes a code and returns whether it was valid.
    pub(super) fn redeem(&self, code: &str) -> bool {
        let hash = blake3::hash(code.as_bytes());
        let mut issued = self.issued.lock().unwrap_or_else(PoisonError::into_inner);
        issued.retain(|(_, since)| since.elapsed() < LOGIN_CODE_LIFETIME);
        let index = issued.iter().position(|(issued, _)| *issued == hash);
        index.is_some_and(|index| issued.remove(index).is_some())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn r_sec_03_login_codes_expire_and_their_number_is_limited() {
        let codes = Codes::default();
        let first = codes.mint();
        tokio::time::advance(LOGIN_CODE_LIFETIME - Duration::from_secs(1)).await;
        let second = codes.mint();
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(!codes.redeem(first.reveal()));
        assert!(codes.redeem(second.reveal()));
        let old = codes.mint();
        let many: Vec<Secret> = (0..MAX_CODES).map(|_| codes.mint()).collect();
        assert!(!codes.redeem(old.reveal()), "replaced");
        assert!(many.iter().all(|code| codes.redeem(code.reveal())));
        assert!(!codes.redeem(""));
    }
}
