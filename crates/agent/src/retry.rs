//! When a provider that could not answer is asked again.

use std::time::Duration;

use crate::provider::ModelError;

/// Longest pause that a provider may ask for; with a longer one the run ends.
const LONGEST_ASKED: Duration = Duration::from_secs(120);
/// Longest pause of our own.
const LONGEST: Duration = Duration::from_secs(30);

/// How often, and after which pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// Tries after the first one, in a row.
    pub times: u32,
    /// The pause before the first of them; it doubles with each.
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
    /// The pause before the next try; `None` when there is none. Up to half of a pause of our own is left to chance,
    /// so that many agents do not come back together.
    pub(crate) fn pause(&self, tried: u32, error: &ModelError) -> Option<Duration> {
        if !error.is_transient || tried >= self.times {
            return None;
        }
        let own = self.pause.saturating_mul(1 << tried.min(16)).min(LONGEST);
        let own = own.mul_f64(1.0 - chance() / 2.0);
        match error.retry_after {
            Some(asked) if asked > LONGEST_ASKED => None,
            Some(asked) => Some(asked.max(own)),
            None => Some(own),
        }
    }
}

/// A number from 0 to 1; without randomness 0, which only means the longest pause.
fn chance() -> f64 {
    let mut bytes = [0; 4];
    let _ = getrandom::fill(&mut bytes);
    f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pegboard_model::{Reason, ToolError};

    #[test]
    fn r_agent_02_pauses_grow_have_chance_in_them_and_honour_what_is_asked() {
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
