//! Waiting for conditions.

use std::time::{Duration, Instant};

/// Interval between checks of a condition.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Waits until a condition holds.
///
/// # Panics
/// With the description if the condition does not hold within the timeout.
pub async fn wait_until(description: &str, timeout: Duration, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        check_timeout(description, timeout, started);
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Waits until a condition holds, without an async runtime.
///
/// # Panics
/// With the description if the condition does not hold within the timeout.
pub fn wait_until_sync(description: &str, timeout: Duration, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        check_timeout(description, timeout, started);
        #[expect(clippy::disallowed_methods, reason = "the only place that polls")]
        std::thread::sleep(POLL_INTERVAL);
    }
}

fn check_timeout(description: &str, timeout: Duration, started: Instant) {
    if started.elapsed() >= timeout {
        panic!("timed out after {timeout:?}: {description}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_ends_when_the_condition_holds() {
        let mut checks = 0;
        wait_until_sync("three checks", Duration::from_secs(5), || {
            checks += 1;
            checks == 3
        });
        assert_eq!(checks, 3);
    }

    #[tokio::test]
    #[should_panic(expected = "timed out after 20ms: pigs fly")]
    async fn a_timeout_names_the_condition() {
        wait_until("pigs fly", Duration::from_millis(20), || false).await;
    }
}
