//! Pacing of the fetches that `list_changed` notifications cause.

use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

use crate::publication::PendingNotices;
use crate::sync::lock;

/// The announced list changes of one server.
#[derive(Default)]
pub(crate) struct ListChanges(Mutex<State>);

#[derive(Default)]
struct State {
    pacing: Pacing,
    /// Whether a fetch is scheduled, which covers all changes announced until then.
    is_scheduled: bool,
    pending: PendingNotices,
}

impl ListChanges {
    /// Adds announced changes. Returns when to fetch the lists, or `None` if a fetch is scheduled already.
    pub(crate) fn schedule(&self, changes: PendingNotices, interval: Duration) -> Option<Instant> {
        let mut state = lock(&self.0);
        state.pending.prompts |= changes.prompts;
        state.pending.resources |= changes.resources;
        if state.is_scheduled {
            return None;
        }
        state.is_scheduled = true;
        Some(state.pacing.next_at(interval))
    }

    /// The scheduled fetch starts now.
    pub(crate) fn begin_fetch(&self, interval: Duration) {
        let mut state = lock(&self.0);
        state.is_scheduled = false;
        state.pacing.count_fetch(interval);
    }

    /// Changes that subscribers have not been notified of.
    pub(crate) fn pending(&self) -> PendingNotices {
        lock(&self.0).pending
    }

    /// Subscribers are notified of these changes.
    pub(crate) fn clear_pending(&self, notified: PendingNotices) {
        let pending = &mut lock(&self.0).pending;
        pending.prompts &= !notified.prompts;
        pending.resources &= !notified.resources;
    }
}

#[derive(Default)]
struct Pacing {
    /// When all fetches so far would be over if each took its interval.
    spent_until: Option<Instant>,
}

impl Pacing {
    /// Fetches that need not wait for each other: a few changes in a row are not a flood.
    const AT_ONCE: u32 = 4;

    /// The earliest time of the next fetch.
    fn next_at(&self, interval: Duration) -> Instant {
        let now = Instant::now();
        let credit = interval.saturating_mul(Self::AT_ONCE - 1);
        let free = self.spent_until.and_then(|until| until.checked_sub(credit));
        free.unwrap_or(now).max(now)
    }

    fn count_fetch(&mut self, interval: Duration) {
        let now = Instant::now();
        self.spent_until = Some(self.spent_until.unwrap_or(now).max(now) + interval);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn r_disc_12_a_few_changes_are_followed_at_once_and_a_flood_is_not() {
        let (mut pacing, interval) = (Pacing::default(), Duration::from_secs(5));
        let begun = Instant::now();
        let mut waits = Vec::new();
        for _ in 0..7 {
            tokio::time::sleep_until(pacing.next_at(interval)).await;
            pacing.count_fetch(interval);
            waits.push(begun.elapsed().as_secs());
        }
        assert_eq!(waits, [0, 0, 0, 0, 5, 10, 15]);
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(pacing.next_at(interval), Instant::now());
    }
}
