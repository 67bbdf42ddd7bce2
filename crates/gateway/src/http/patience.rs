//! How long requests wait for a plain answer: one timer for all of them.
//!
//! A timer for each request would be the earliest of all each time, and the runtime's driver would have to be told of
//! it by a call to the system. This one is set once and moved when it rings.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// The requests that wait.
#[derive(Default)]
pub(super) struct Patience {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// In the order in which they began, which is the order in which their time is up.
    waiting: BTreeMap<u64, Waiting>,
    next: u64,
    is_ringing: bool,
}

struct Waiting {
    until: Instant,
    waker: Waker,
}

impl Patience {
    /// Begins to wait for at most `time`, which is the same for all.
    pub(super) fn begin(self: &Arc<Self>, time: Duration, context: &Context<'_>) -> Wait {
        let until = Instant::now() + time;
        let waker = context.waker().clone();
        let mut state = self.state();
        let number = state.next;
        state.next += 1;
        state.waiting.insert(number, Waiting { until, waker });
        if !std::mem::replace(&mut state.is_ringing, true) {
            tokio::spawn(Arc::clone(self).ring(until));
        }
        Wait {
            patience: Arc::clone(self),
            number,
        }
    }

    /// Wakes whoever waited long enough, until nobody waits.
    async fn ring(self: Arc<Self>, mut next: Instant) {
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
                state.is_ringing = false;
                return;
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One request that waits.
pub(super) struct Wait {
    patience: Arc<Patience>,
    number: u64,
}

impl Wait {
    /// Whether the time is up. If not, the task is woken once it is.
    pub(super) fn poll_over(&self, context: &Context<'_>) -> Poll<()> {
        match self.patience.state().waiting.get_mut(&self.number) {
            None => Poll::Ready(()),
            Some(waiting) => {
                waiting.waker.clone_from(context.waker());
                Poll::Pending
            }
        }
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        self.patience.state().waiting.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    async fn wait(patience: Arc<Patience>, seconds: u64) -> u64 {
        let begun = Instant::now();
        let mut wait = None;
        poll_fn(|context| {
            let time = Duration::from_secs(seconds);
            let wait = wait.get_or_insert_with(|| patience.begin(time, context));
            wait.poll_over(context)
        })
        .await;
        begun.elapsed().as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn each_request_waits_its_own_time_whenever_it_began() {
        let patience = Arc::new(Patience::default());
        let first = tokio::spawn(wait(patience.clone(), 2));
        let forgotten = tokio::spawn(wait(patience.clone(), 2));
        tokio::time::sleep(Duration::from_secs(1)).await;
        forgotten.abort();
        let second = tokio::spawn(wait(patience.clone(), 2));
        assert_eq!((first.await.unwrap(), second.await.unwrap()), (2, 2));
        assert_eq!(wait(patience.clone(), 2).await, 2, "and again later");
        assert!(patience.state().waiting.is_empty());
    }
}
