//! How long things take, in buckets.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds in microseconds for what asks a server: those of the conventions (10 ms to 5 min), and finer
/// ones below for servers that run already.
pub(crate) const SERVER_BOUNDS: &[u64] = &[
    1_000,
    2_500,
    5_000,
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    30_000_000,
    60_000_000,
    120_000_000,
    300_000_000,
];
/// For what happens in memory.
pub(crate) const MEMORY_BOUNDS: &[u64] = &[
    50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 1_000_000,
];

/// Counts durations. Recording takes no lock and no memory.
pub(crate) struct Histogram {
    bounds: &'static [u64],
    /// One for each bound, and one for what is beyond.
    buckets: Box<[AtomicU64]>,
    microseconds: AtomicU64,
}

/// What a histogram holds at one moment.
pub(crate) struct Reading {
    /// Upper bound in microseconds, and how many were at or below it.
    pub(crate) cumulative: Vec<(u64, u64)>,
    pub(crate) count: u64,
    pub(crate) microseconds: u64,
}

impl Histogram {
    pub(crate) fn new(bounds: &'static [u64]) -> Self {
        let buckets = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self {
            bounds,
            buckets,
            microseconds: AtomicU64::new(0),
        }
    }

    pub(crate) fn record(&self, took: Duration) {
        let took = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let at = self.bounds.partition_point(|bound| *bound < took);
        if let Some(bucket) = self.buckets.get(at) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
        self.microseconds.fetch_add(took, Ordering::Relaxed);
    }

    /// The count is the sum of the buckets, so that both always agree.
    pub(crate) fn read(&self) -> Reading {
        let mut count = 0;
        let mut counts = self.buckets.iter().map(|bucket| {
            count += bucket.load(Ordering::Relaxed);
            count
        });
        let cumulative = self.bounds.iter().copied().zip(&mut counts).collect();
        let count = counts.next().unwrap_or_default();
        Reading {
            cumulative,
            count,
            microseconds: self.microseconds.load(Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_fall_into_their_buckets() {
        let histogram = Histogram::new(&[1_000, 5_000]);
        for microseconds in [1, 1_000, 1_001, 5_000, 5_001, 9_000_000] {
            histogram.record(Duration::from_micros(microseconds));
        }
        let reading = histogram.read();
        assert_eq!(reading.cumulative, [(1_000, 2), (5_000, 4)]);
        assert_eq!((reading.count, reading.microseconds), (6, 9_012_003));
    }
}
