//! A lock-free histogram of durations.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Bucket bounds in microseconds for requests to servers: those of the OpenTelemetry conventions (10 ms to 5 min), and
/// finer ones below for servers that are already running.
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
/// Bucket bounds in microseconds for work in memory.
pub(crate) const MEMORY_BOUNDS: &[u64] = &[
    50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 1_000_000,
];

/// Counts durations. Recording takes no lock and allocates nothing.
pub(crate) struct Histogram {
    bounds: &'static [u64],
    /// One bucket per bound, and one for larger values.
    buckets: Box<[AtomicU64]>,
    microseconds: AtomicU64,
}

/// A snapshot of a histogram.
pub(crate) struct HistogramSnapshot {
    /// Upper bounds in microseconds, with the number of values at or below each.
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

    /// Reads the histogram. The count is the sum of the buckets, so that both always agree.
    pub(crate) fn snapshot(&self) -> HistogramSnapshot {
        let mut count = 0;
        let mut counts = self.buckets.iter().map(|bucket| {
            count += bucket.load(Ordering::Relaxed);
            count
        });
        let cumulative = self.bounds.iter().copied().zip(&mut counts).collect();
        let count = counts.next().unwrap_or_default();
        HistogramSnapshot {
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
        let snapshot = histogram.snapshot();
        assert_eq!(snapshot.cumulative, [(1_000, 2), (5_000, 4)]);
        assert_eq!((snapshot.count, snapshot.microseconds), (6, 9_012_003));
    }
}
