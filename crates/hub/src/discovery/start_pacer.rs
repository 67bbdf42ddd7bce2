//! Pacing of concurrent starts: a pure controller, time and load are parameters.
//!
//! Servers that start together compete for the processors, and if all start at once, most of them miss their timeout.
//! The width begins at twice the number of processors. It grows while the load is low and starts are quick, and
//! halves when starts become slow on a busy machine (additive increase, multiplicative decrease).

use std::time::Duration;

use pegboard_upstream::MachineLoad;
use tokio::time::Instant;

/// A start up to this duration leaves room for one more.
const QUICK_START: Duration = Duration::from_secs(2);
/// A start of this duration on a busy machine shows that too many run together.
const SLOW_START: Duration = Duration::from_secs(10);
/// A start of this duration gives up its place: it may wait for something other than a processor.
pub(super) const OVERDUE_START: Duration = Duration::from_secs(20);
/// Shortest time between two steps of growth after the width was first halved.
const STEP: Duration = Duration::from_millis(100);
/// The same if the load is unknown, so that servers that only wait do not delay the others.
const STEP_WITHOUT_LOAD: Duration = Duration::from_secs(1);

/// The number of starts that may run concurrently.
#[derive(Debug)]
pub(super) struct StartPacer {
    width: usize,
    first: usize,
    narrowest: usize,
    widest: usize,
    narrowed_at: Option<Instant>,
    widened_at: Instant,
}

impl StartPacer {
    /// Creates a pacer for a number of processors that never allows more than `widest` concurrent starts.
    pub(super) fn new(processors: usize, widest: usize, now: Instant) -> Self {
        let widest = widest.max(1);
        let narrowest = processors.clamp(1, widest);
        let first = processors.saturating_mul(2).clamp(1, widest);
        Self {
            width: first,
            first,
            narrowest,
            widest,
            narrowed_at: None,
            widened_at: now,
        }
    }

    /// Whether one more start may run.
    pub(super) fn admits(&self, starting: usize) -> bool {
        starting < self.width
    }

    /// Takes the load into account while servers wait for their turn.
    pub(super) fn observe_load(&mut self, load: MachineLoad, starting: usize, now: Instant) {
        let since = now.saturating_duration_since(self.widened_at);
        match load {
            // Nothing has slowed down yet, so search quickly for the right width.
            MachineLoad::Low if self.narrowed_at.is_none() => self.widen_to(self.width * 2, now),
            MachineLoad::Low if since >= STEP => self.widen_to(self.width + 1, now),
            MachineLoad::Unknown if since >= STEP_WITHOUT_LOAD => {
                self.widen_to(self.width + 1, now);
            }
            // Unused width must not be used all at once later.
            MachineLoad::High => self.width = self.width.min(starting.max(self.first)),
            MachineLoad::Low | MachineLoad::Unknown => {}
        }
    }

    /// Takes the duration of a start into account that succeeded, timed out or became overdue.
    pub(super) fn observe_start(&mut self, begun: Instant, load: MachineLoad, now: Instant) {
        let took = now.saturating_duration_since(begun);
        // Starts from before the last step say nothing about the current width.
        let is_news = self.narrowed_at.is_none_or(|at| begun >= at);
        if took >= SLOW_START && load != MachineLoad::Low {
            if is_news {
                self.width = (self.width / 2).max(self.narrowest);
                self.narrowed_at = Some(now);
            }
        } else if took <= QUICK_START && load != MachineLoad::High {
            self.widen_to(self.width + 1, now);
        }
    }

    fn widen_to(&mut self, width: usize, now: Instant) {
        self.width = width.min(self.widest);
        self.widened_at = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pegboard_upstream::MachineLoad::{High, Low, Unknown};

    fn after(begun: Instant, millis: u64) -> Instant {
        begun + Duration::from_millis(millis)
    }

    #[track_caller]
    fn check_first(processors: usize, widest: usize, expected: usize) {
        let pacer = StartPacer::new(processors, widest, Instant::now());
        assert_eq!(
            pacer.width, expected,
            "{processors} processors, at most {widest}"
        );
        assert!(pacer.admits(expected - 1) && !pacer.admits(expected));
    }

    #[test]
    fn r_disc_02_the_width_begins_at_twice_the_processors() {
        check_first(2, 64, 4);
        check_first(8, 64, 16);
        check_first(64, 64, 64);
        check_first(2, 3, 3);
        check_first(0, 0, 1);
    }

    #[test]
    fn r_disc_02_an_idle_machine_widens_quickly_up_to_the_limit() {
        let begun = Instant::now();
        let mut pacer = StartPacer::new(2, 64, begun);
        let mut widths = Vec::new();
        for probe in 0..6 {
            pacer.observe_load(Low, pacer.width, after(begun, probe * 10));
            widths.push(pacer.width);
        }
        assert_eq!(widths, [8, 16, 32, 64, 64, 64]);
    }

    #[test]
    fn r_disc_02_a_busy_machine_keeps_the_used_start_slots() {
        let begun = Instant::now();
        let mut pacer = StartPacer::new(2, 64, begun);
        pacer.observe_load(High, 4, after(begun, 10));
        assert_eq!(pacer.width, 4);
        pacer.observe_load(Low, 4, after(begun, 20));
        pacer.observe_load(Low, 4, after(begun, 30));
        assert_eq!(pacer.width, 16);
        pacer.observe_load(High, 9, after(begun, 40));
        assert_eq!(pacer.width, 9, "no more than start now");
        pacer.observe_load(High, 1, after(begun, 50));
        assert_eq!(pacer.width, 4, "never below the first width for that");
    }

    #[test]
    fn r_disc_02_slow_starts_halve_the_width_once_for_each_generation() {
        let begun = Instant::now();
        let mut pacer = StartPacer::new(4, 64, begun);
        for _ in 0..8 {
            pacer.observe_start(begun, High, after(begun, 12_000));
        }
        assert_eq!(
            pacer.width, 4,
            "eight slow starts of one generation are one signal"
        );
        let second = after(begun, 12_500);
        pacer.observe_start(second, High, after(second, 11_000));
        assert_eq!(pacer.width, 4, "never fewer than the processors");
    }

    #[test]
    fn r_disc_02_after_a_halving_the_width_grows_by_one() {
        let begun = Instant::now();
        let mut pacer = StartPacer::new(4, 64, begun);
        pacer.observe_start(begun, Unknown, after(begun, 30_000));
        assert_eq!(pacer.width, 4);
        let now = after(begun, 31_000);
        pacer.observe_load(Low, 4, now);
        pacer.observe_load(Low, 4, after(now, 50));
        assert_eq!(pacer.width, 5, "one step in a tenth of a second");
        pacer.observe_load(Low, 5, after(now, 100));
        pacer.observe_start(now, Low, after(now, 900));
        assert_eq!(pacer.width, 7);
    }

    #[test]
    fn r_disc_02_a_server_that_is_slow_by_itself_narrows_nothing() {
        let begun = Instant::now();
        let mut pacer = StartPacer::new(2, 64, begun);
        pacer.observe_start(begun, Low, after(begun, 60_000));
        assert_eq!(pacer.width, 4);
        pacer.observe_start(begun, High, after(begun, 5_000));
        assert_eq!(pacer.width, 4, "neither quick nor slow");
    }

    #[test]
    fn r_disc_02_without_a_load_the_width_grows_by_one_each_second() {
        let begun = Instant::now();
        let mut pacer = StartPacer::new(2, 64, begun);
        for probe in 1..=300 {
            pacer.observe_load(Unknown, 4, after(begun, probe * 10));
        }
        assert_eq!(pacer.width, 7);
    }
}
