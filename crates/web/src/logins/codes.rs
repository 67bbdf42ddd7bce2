//! One-time codes: each logs one browser in, soon or never.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use blake3::Hash;
use pegboard_model::Secret;
use tokio::time::Instant;

use super::{LOGIN_CODE_LIFETIME, random_token};

/// Codes that are good at once; a new one takes the place of the oldest.
const MAX_CODES: usize = 32;

/// The codes that were given out and not used yet, as hashes: comparing those takes the same time for every guess.
#[derive(Default)]
pub(super) struct Codes {
    given: Mutex<VecDeque<(Hash, Instant)>>,
}

impl Codes {
    pub(super) fn mint(&self) -> Secret {
        let Some(code) = random_token() else {
            return Secret::new("");
        };
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        if given.len() >= MAX_CODES {
            given.pop_front();
        }
        given.push_back((blake3::hash(code.as_bytes()), Instant::now()));
        Secret::new(code)
    }

    /// Uses a code up; whether it was good.
    pub(super) fn redeem(&self, code: &str) -> bool {
        let shown = blake3::hash(code.as_bytes());
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        given.retain(|(_, since)| since.elapsed() < LOGIN_CODE_LIFETIME);
        let place = given.iter().position(|(hash, _)| *hash == shown);
        place.is_some_and(|place| given.remove(place).is_some())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn r_sec_03_a_code_is_good_for_its_time_and_only_so_many_are() {
        let codes = Codes::default();
        let first = codes.mint();
        tokio::time::advance(LOGIN_CODE_LIFETIME - Duration::from_secs(1)).await;
        let second = codes.mint();
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(!codes.redeem(first.reveal()));
        assert!(codes.redeem(second.reveal()));
        let old = codes.mint();
        let many: Vec<Secret> = (0..MAX_CODES).map(|_| codes.mint()).collect();
        assert!(!codes.redeem(old.reveal()), "it gave way");
        assert!(many.iter().all(|code| codes.redeem(code.reveal())));
        assert!(!codes.redeem(""));
    }
}
