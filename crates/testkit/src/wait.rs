//! Waiting for a condition in place of sleeping for a while.

use std::time::{Duration, Instant};

/// How often a condition is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Waits until a condition holds.
///
/// # Panics
/// With the description when the condition does not hold within the time-out.
pub async fn wait_until(description: &str, timeout: Duration, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        give_up(description, timeout, started);
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// The same for tests without an async runtime.
///
/// # Panics
/// With the description when the condition does not hold within the time-out.
pub fn wait_until_sync(description: &str, timeout: Duration, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        give_up(description, timeout, started);
        #[expect(
            clippy::disallowed_methods,
            reason = "this is the one place where waiting is built"
        )]
        std::thread::sleep(POLL_INTERVAL);
    }
}

fn give_up(description: &str, timeout: Duration, started: Instant) {
    if started.elapsed() >= timeout {
        panic!("waited {timeout:?} in vain: {description}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_ends_when_the_condition_holds() {
        let mut looks = 0;
        wait_until_sync("three looks", Duration::from_secs(5), || {
            looks += 1;
            looks == 3
        });
        assert_eq!(looks, 3);
    }

    #[tokio::test]
    #[should_panic(expected = "in vain: pigs fly")]
    async fn waiting_in_vain_names_the_condition() {
        wait_until("pigs fly", Duration::from_millis(20), || false).await;
    }
}
