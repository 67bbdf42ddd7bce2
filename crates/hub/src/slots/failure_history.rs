//! The failures of a server, and the pause that they cause.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;
use std::time::Duration;

use pegboard_model::ConfigHash;
use tokio::time::Instant;

/// The pause after the second consecutive failure; each further failure doubles it.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// The longest pause between two starts.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// The consecutive failures of a server.
#[derive(Default)]
pub(super) struct FailureHistory {
    /// The definition that failed. Another one starts without failures.
    config: Option<ConfigHash>,
    failures: u32,
    not_before: Option<Instant>,
    last: Option<String>,
}

impl FailureHistory {
    /// Counts a failure and begins the pause before the next start.
    pub(super) fn record(&mut self, config: &ConfigHash, message: &str) {
        if self.config.as_ref() != Some(config) {
            *self = Self::default();
            self.config = Some(*config);
        }
        self.failures = self.failures.saturating_add(1);
        self.last = Some(message.to_owned());
        let failures = self.failures;
        let pause = pause_after(failures);
        self.not_before =
            (!pause.is_zero()).then(|| Instant::now() + jittered(pause, config, failures));
    }

    pub(super) fn failures(&self) -> u32 {
        self.failures
    }

    pub(super) fn last(&self) -> Option<&str> {
        self.last.as_deref()
    }

    /// The rest of the pause of this definition.
    pub(super) fn pause(&self, config: &ConfigHash) -> Option<Duration> {
        let until = self
            .not_before
            .filter(|_| self.config.as_ref() == Some(config))?;
        until.checked_duration_since(Instant::now())
    }
}

/// A single failure may be a coincidence; from the second on the pause doubles.
fn pause_after(failures: u32) -> Duration {
    match failures {
        0 | 1 => Duration::ZERO,
        n => FIRST_PAUSE
            .saturating_mul(1 << (n - 2).min(16))
            .min(LONGEST_PAUSE),
    }
}

/// Adds up to a fifth, so that servers that failed together are not retried together. The addition is random for each
/// process and fixed within it, so that a simulation can be repeated.
fn jittered(pause: Duration, config: &ConfigHash, failures: u32) -> Duration {
    static SEED: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    let [share, ..] = SEED.hash_one((config.0, failures)).to_le_bytes();
    pause + pause.mul_f32(f32::from(share) / 255.0 / 5.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_minute() {
        let pauses: Vec<_> = (0..12).map(|n| pause_after(n).as_millis()).collect();
        assert_eq!(
            pauses,
            [
                0, 0, 500, 1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000, 60000
            ]
        );
        assert_eq!(pause_after(u32::MAX), LONGEST_PAUSE);
    }
}
