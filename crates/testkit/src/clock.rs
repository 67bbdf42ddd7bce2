//! A clock that only tests advance.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use pegboard_model::{Clock, Timestamp};

/// A clock that does not advance by itself. Clones share the same time.
#[derive(Clone, Debug)]
pub struct FakeClock {
    now: Arc<AtomicU64>,
}

impl FakeClock {
    /// A clock at this time, in milliseconds since 1970.
    pub fn at(ms: u64) -> Self {
        Self {
            now: Arc::new(AtomicU64::new(ms)),
        }
    }

    /// Advances the clock.
    pub fn advance(&self, by: Duration) {
        let by = u64::try_from(by.as_millis()).unwrap_or(u64::MAX);
        self.now.fetch_add(by, Ordering::SeqCst);
    }

    /// Sets the clock, forwards or backwards.
    pub fn set(&self, ms: u64) {
        self.now.store(ms, Ordering::SeqCst);
    }
}

impl Clock for FakeClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.now.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_share_the_time() {
        let clock = FakeClock::at(1_000);
        let other = clock.clone();
        clock.advance(Duration::from_secs(2));
        assert_eq!(other.now(), Timestamp(3_000));
        other.set(5);
        assert_eq!(clock.now(), Timestamp(5));
    }
}
