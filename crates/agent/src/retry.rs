//! Retries of requests to a provider.

use std::time::Duration;

use crate::provider::ModelError;

/// Longest pause that a provider may request. If it asks for more, the run ends.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(120);
/// Longest pause of our own backoff.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// Retry settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// Retries in a row.
    pub times: u32,
    /// The pause before the first retry. It doubles with each further one.
    pub pause: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            times: 4,
            pause: Duration::from_millis(500),
        }
    }
}

impl Retry {
    /// Returns the pause before the next try, or `None` to give up. Up to half of our own pause is random, so that
    /// many agents do not retry at the same time.
    pub(crate) fn pause(&self, tried: u32, error: &ModelError) -> Option<Duration> {
        if !error.is_transient || tried >= self.times {
            return None;
        }
        let own = self.pause.saturating_mul(1 << tried.min(16)).min(MAX_PAUSE);
        let own = own.mul_f64(1.0 - random() / 2.0);
        match error.retry_after {
            Some(requested) if requested > MAX_RETRY_AFTER => None,
            Some(requested) => Some(requested.max(own)),
            None => Some(own),
        }
    }
}

/// Returns a random number from 0 to 1. Without a random source it is 0, which only means the longest pause.
fn random() -> f64 {
    let mut bytes = [0; 4];
    let _ = getrandom::fill(&mut bytes);
    f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pegboard_model::{Reason, ToolError};

    #[test]
    fn r_agent_02_pauses_grow_are_randomized_and_respect_retry_after() {
        let retry = Retry {
            times: 3,
            pause: Duration::from_secs(1),
        };
        let mut error = ModelError::transient(ToolError::new(Reason::ModelUnavailable, "busy"));
        for (tried, least, most) in [(0, 500, 1000), (1, 1000, 2000), (2, 2000, 4000)] {
            let pause = retry.pause(tried, &error).unwrap().as_millis();
            assert!((least..=most).contains(&pause), "{tried}: {pause}");
        }
        assert_eq!(retry.pause(3, &error), None);
        error.retry_after = Some(Duration::from_secs(7));
        assert_eq!(retry.pause(0, &error), Some(Duration::from_secs(7)));
        error.retry_after = Some(Duration::from_secs(3600));
        assert_eq!(retry.pause(0, &error), None);
        error.is_transient = false;
        error.retry_after = None;
        assert_eq!(retry.pause(0, &error), None);
    }
}
