//! A token bucket: limits a burst and a sustained rate.

use std::time::Duration;

use tokio::time::Instant;

/// A limit that refills over time.
#[derive(Debug)]
pub(crate) struct TokenBucket {
    burst: u64,
    per_second: u64,
    left: u64,
    /// The instant up to which `left` was refilled.
    refilled: Instant,
}

impl TokenBucket {
    /// Creates a full bucket that allows `burst` at once and `per_second` over time.
    pub(crate) fn new(burst: u64, per_second: u64) -> Self {
        Self {
            burst,
            per_second,
            left: burst,
            refilled: Instant::now(),
        }
    }

    /// Takes `count` tokens. Returns `false` if there are fewer, and empties the bucket in that case.
    pub(crate) fn take(&mut self, count: u64) -> bool {
        if count > self.left {
            self.refill();
        }
        let is_enough = count <= self.left;
        self.left = self.left.saturating_sub(count);
        is_enough
    }

    fn refill(&mut self) {
        let elapsed = self.refilled.elapsed();
        let milliseconds = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
        let gained = milliseconds.saturating_mul(self.per_second) / 1_000;
        if gained == 0 {
            return;
        }
        self.left = self.left.saturating_add(gained).min(self.burst);
        // Keep the fraction of a millisecond that yielded no token for the next refill.
        self.refilled += Duration::from_millis(milliseconds);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn r_sec_01_a_limit_refills_with_time_up_to_its_burst() {
        let mut bucket = TokenBucket::new(10, 5);
        assert!(bucket.take(10));
        assert!(!bucket.take(1));
        tokio::time::advance(Duration::from_millis(400)).await;
        assert!(bucket.take(2));
        assert!(!bucket.take(1));
        tokio::time::advance(Duration::from_secs(3_600)).await;
        assert!(bucket.take(10));
        assert!(!bucket.take(1), "no more than the burst is saved up");
    }
}
