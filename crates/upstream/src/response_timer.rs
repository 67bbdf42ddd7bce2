//! A timeout that is renewed by activity, with a hard limit.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// The longest time a client may take for a request of the server; a person may have to look something up.
const MAX_CLIENT_WAIT: Duration = Duration::from_secs(3600);

/// When a call was last active. The time that the server waits for its client does not count.
#[derive(Debug)]
pub(crate) struct CallActivity {
    begun: Instant,
    /// Milliseconds since `begun`.
    last: AtomicU64,
    client_wait: Mutex<ClientWait>,
}

/// The time that the server waited for its client.
#[derive(Debug, Default)]
struct ClientWait {
    open: usize,
    since: Option<Instant>,
    /// Total time of earlier waits, without the current one.
    before: Duration,
}

impl CallActivity {
    pub(crate) fn new() -> Self {
        Self {
            begun: Instant::now(),
            last: AtomicU64::new(0),
            client_wait: Mutex::default(),
        }
    }

    /// Records activity.
    pub(crate) fn touch(&self) {
        let millis = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.fetch_max(millis, Ordering::Relaxed);
    }

    /// Records that a request was sent to the client.
    pub(crate) fn client_wait_began(&self) {
        let mut client_wait = self.client_wait();
        client_wait.open += 1;
        client_wait.since.get_or_insert_with(Instant::now);
    }

    /// Records that a client request was answered or is no longer pending.
    pub(crate) fn client_wait_ended(&self) {
        self.touch();
        let mut client_wait = self.client_wait();
        client_wait.open = client_wait.open.saturating_sub(1);
        if client_wait.open == 0
            && let Some(since) = client_wait.since.take()
        {
            client_wait.before += since.elapsed();
        }
    }

    fn last(&self) -> Instant {
        self.begun + Duration::from_millis(self.last.load(Ordering::Relaxed))
    }

    /// Returns the total time of earlier waits for the client, and until when the current wait may last.
    fn waited(&self) -> (Duration, Option<Instant>) {
        let client_wait = self.client_wait();
        let until = client_wait.since.map(|since| since + MAX_CLIENT_WAIT);
        (client_wait.before, until)
    }

    fn client_wait(&self) -> MutexGuard<'_, ClientWait> {
        self.client_wait
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Time limits of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeLimit {
    /// Without activity.
    pub(crate) idle: Duration,
    /// In total; zero means ten times `idle`.
    pub(crate) max_duration: Duration,
}

impl TimeLimit {
    /// The default for the total time, as a multiple of the idle time.
    const ROUNDS: u32 = 10;

    pub(crate) fn max_duration(self) -> Duration {
        match self.max_duration {
            Duration::ZERO => self.idle.saturating_mul(Self::ROUNDS),
            max_duration => max_duration,
        }
    }

    /// Runs a future. The error is the limit that was exceeded. Renewing the timer costs nothing until it expires.
    pub(crate) async fn limit<T>(
        self,
        activity: &CallActivity,
        work: impl Future<Output = T>,
    ) -> Result<T, Duration> {
        let max_duration = self.max_duration();
        let end = activity.begun.checked_add(max_duration);
        let timer = sleep_until(later(activity.begun, self.idle.min(max_duration)));
        tokio::pin!(work, timer);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return Ok(done),
                () = &mut timer => {}
            }
            let now = Instant::now();
            let (waited, until) = activity.waited();
            if let Some(until) = until.filter(|until| now < *until) {
                timer.as_mut().reset(until.min(later(now, self.idle)));
                continue;
            }
            let end = end.and_then(|end| end.checked_add(waited));
            let next = later(activity.last(), self.idle);
            let next = end.map_or(next, |end| next.min(end));
            if end.is_some_and(|end| now >= end) && max_duration != self.idle {
                return Err(max_duration);
            }
            if now >= next {
                return Err(self.idle);
            }
            timer.as_mut().reset(next);
        }
    }
}

/// Adds a duration to an instant. A sum beyond what the clock can represent becomes a time that is never reached.
fn later(from: Instant, by: Duration) -> Instant {
    const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 3600);
    from.checked_add(by).unwrap_or_else(|| from + FAR)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs work of some seconds, active each second if `beats`. Returns the outcome and the elapsed seconds.
    async fn run(
        work: u64,
        is_active: bool,
        idle: u64,
        max_duration: u64,
    ) -> (Result<(), u64>, u64) {
        let time_limit = TimeLimit {
            idle: Duration::from_secs(idle),
            max_duration: Duration::from_secs(max_duration),
        };
        let activity = CallActivity::new();
        let working = async {
            for _ in 0..work {
                tokio::time::sleep(Duration::from_secs(1)).await;
                if is_active {
                    activity.touch();
                }
            }
        };
        let begun = Instant::now();
        let done = time_limit.limit(&activity, working).await;
        let seconds = begun.elapsed().as_secs();
        (done.map_err(|limit| limit.as_secs()), seconds)
    }

    #[tokio::test(start_paused = true)]
    async fn r_gate_03_signs_of_life_renew_the_time_up_to_a_hard_end() {
        assert_eq!(run(2, false, 3, 0).await, (Ok(()), 2));
        assert_eq!(run(5, false, 3, 0).await, (Err(3), 3));
        assert_eq!(run(5, true, 3, 0).await, (Ok(()), 5));
        assert_eq!(run(60, true, 3, 0).await, (Err(30), 30));
        assert_eq!(run(60, true, 3, 7).await, (Err(7), 7));
        assert_eq!(run(60, false, 3, 2).await, (Err(2), 2));
        assert_eq!(run(1, false, u64::MAX, 0).await, (Ok(()), 1));
    }

    #[tokio::test(start_paused = true)]
    async fn r_gate_03_the_time_that_a_client_takes_over_a_question_does_not_count() {
        let limit = TimeLimit {
            idle: Duration::from_secs(3),
            max_duration: Duration::from_secs(5),
        };
        let activity = CallActivity::new();
        let asking = async {
            tokio::time::sleep(Duration::from_secs(2)).await;
            activity.client_wait_began();
            tokio::time::sleep(Duration::from_secs(100)).await;
            activity.client_wait_ended();
            tokio::time::sleep(Duration::from_secs(2)).await;
        };
        assert_eq!(limit.limit(&activity, asking).await, Ok(()));
        let idle = async {
            activity.client_wait_began();
            std::future::pending::<()>().await;
        };
        let begun = Instant::now();
        assert!(limit.limit(&activity, idle).await.is_err(), "not for ever");
        assert!(begun.elapsed() >= MAX_CLIENT_WAIT);
    }
}
