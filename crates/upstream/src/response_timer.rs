//! A timeout that is renewed by activity, with a hard limit.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// The longest time a client may take for a request of the server; a person may have to look something up.
const LONGEST_QUESTION: Duration = Duration::from_secs(3600);

/// When a call was last active. The time that the server waits for its client does not count.
#[derive(Debug)]
pub(crate) struct CallActivity {
    begun: Instant,
    /// Milliseconds since `begun`.
    last: AtomicU64,
    questions: Mutex<ClientWait>,
}

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
            questions: Mutex::default(),
        }
    }

    /// Records activity.
    pub(crate) fn touch(&self) {
        let millis = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.fetch_max(millis, Ordering::Relaxed);
    }

    /// Records that a request was sent to the client.
    pub(crate) fn question_opened(&self) {
        let mut questions = self.questions();
        questions.open += 1;
        questions.since.get_or_insert_with(Instant::now);
    }

    /// Records that a client request was answered or is no longer pending.
    pub(crate) fn question_closed(&self) {
        self.touch();
        let mut questions = self.questions();
        questions.open = questions.open.saturating_sub(1);
        if questions.open == 0
            && let Some(since) = questions.since.take()
        {
            questions.before += since.elapsed();
        }
    }

    fn last(&self) -> Instant {
        self.begun + Duration::from_millis(self.last.load(Ordering::Relaxed))
    }

    /// Returns the total time of earlier waits for the client, and until when the current wait may last.
    fn waited(&self) -> (Duration, Option<Instant>) {
        let questions = self.questions();
        let until = questions.since.map(|since| since + LONGEST_QUESTION);
        (questions.before, until)
    }

    fn questions(&self) -> MutexGuard<'_, ClientWait> {
        self.questions
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
    async fn run(work: u64, beats: bool, idle: u64, max_duration: u64) -> (Result<(), u64>, u64) {
        let time_limit = TimeLimit {
            idle: Duration::from_secs(idle),
            max_duration: Duration::from_secs(max_duration),
        };
        let activity = CallActivity::new();
        let working = async {
            for _ in 0..work {
                tokio::time::sleep(Duration::from_secs(1)).await;
                if beats {
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
            activity.question_opened();
            tokio::time::sleep(Duration::from_secs(100)).await;
            activity.question_closed();
            tokio::time::sleep(Duration::from_secs(2)).await;
        };
        assert_eq!(limit.limit(&activity, asking).await, Ok(()));
        let idle = async {
            activity.question_opened();
            std::future::pending::<()>().await;
        };
        let begun = Instant::now();
        assert!(limit.limit(&activity, idle).await.is_err(), "not for ever");
        assert!(begun.elapsed() >= LONGEST_QUESTION);
    }
}
