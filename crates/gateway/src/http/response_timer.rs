//! One timer for all requests that wait for a plain response.
//!
//! A timer per request would become the earliest deadline each time, which costs the runtime's driver a system call.
//! This timer is set once and rescheduled when it fires.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::conversation::lock;

/// The waiting requests.
#[derive(Default)]
pub(super) struct ResponseTimer {
    state: Mutex<TimerState>,
}

#[derive(Default)]
struct TimerState {
    /// In start order, which is also deadline order because all wait equally long.
    waiting: BTreeMap<u64, TimerEntry>,
    next: u64,
    is_running: bool,
}

struct TimerEntry {
    until: Instant,
    waker: Waker,
}

impl ResponseTimer {
    /// Registers a request with a timeout of `time`, which must be the same for all requests.
    pub(super) fn register(self: &Arc<Self>, time: Duration, context: &Context<'_>) -> TimerGuard {
        let until = Instant::now() + time;
        let waker = context.waker().clone();
        let mut state = self.state();
        let number = state.next;
        state.next += 1;
        state.waiting.insert(number, TimerEntry { until, waker });
        if !std::mem::replace(&mut state.is_running, true) {
            tokio::spawn(Arc::clone(self).run(until));
        }
        TimerGuard {
            response_timer: Arc::clone(self),
            number,
        }
    }

    /// Wakes requests whose deadline has passed, until none are left.
    async fn run(self: Arc<Self>, mut next: Instant) {
        loop {
            sleep_until(next).await;
            let now = Instant::now();
            let mut state = self.state();
            while let Some(first) = state.waiting.first_entry() {
                next = first.get().until;
                if next > now {
                    break;
                }
                first.remove().waker.wake();
            }
            if state.waiting.is_empty() {
                state.is_running = false;
                return;
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, TimerState> {
        lock(&self.state)
    }
}

/// A registered request. Removed when dropped.
pub(super) struct TimerGuard {
    response_timer: Arc<ResponseTimer>,
    number: u64,
}

impl TimerGuard {
    /// Ready if the deadline has passed. Otherwise wakes the task at the deadline.
    pub(super) fn poll_elapsed(&self, context: &Context<'_>) -> Poll<()> {
        match self.response_timer.state().waiting.get_mut(&self.number) {
            None => Poll::Ready(()),
            Some(waiting) => {
                waiting.waker.clone_from(context.waker());
                Poll::Pending
            }
        }
    }
}

impl Drop for TimerGuard {
    fn drop(&mut self) {
        self.response_timer.state().waiting.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    async fn wait(response_timer: Arc<ResponseTimer>, seconds: u64) -> u64 {
        let begun = Instant::now();
        let mut wait = None;
        poll_fn(|context| {
            let time = Duration::from_secs(seconds);
            let wait = wait.get_or_insert_with(|| response_timer.register(time, context));
            wait.poll_elapsed(context)
        })
        .await;
        begun.elapsed().as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn each_request_waits_its_own_time_whenever_it_began() {
        let response_timer = Arc::new(ResponseTimer::default());
        let first = tokio::spawn(wait(response_timer.clone(), 2));
        let forgotten = tokio::spawn(wait(response_timer.clone(), 2));
        tokio::time::sleep(Duration::from_secs(1)).await;
        forgotten.abort();
        let second = tokio::spawn(wait(response_timer.clone(), 2));
        assert_eq!((first.await.unwrap(), second.await.unwrap()), (2, 2));
        assert_eq!(wait(response_timer.clone(), 2).await, 2, "and again later");
        assert!(response_timer.state().waiting.is_empty());
    }
}
