//! Span ids.

use std::sync::atomic::{AtomicU64, Ordering};

/// Odd, so that multiplying by it is a permutation of all 64-bit numbers.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Generates span ids that are unique across processes: a counter with a random start, scrambled. Reading random bytes
/// from the system for each id would cost more than the span.
pub(crate) struct SpanIds(AtomicU64);

impl SpanIds {
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(random()))
    }

    /// The next id, never zero.
    pub(crate) fn next(&self) -> u64 {
        let count = self.0.fetch_add(1, Ordering::Relaxed);
        count.wrapping_mul(SPREAD).max(1)
    }
}

/// A random number, or the process id if the system has no randomness.
pub(crate) fn random() -> u64 {
    let mut bytes = [0; 8];
    match getrandom::fill(&mut bytes) {
        Ok(()) => u64::from_be_bytes(bytes),
        Err(_) => u64::from(std::process::id()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn ids_are_all_different_and_never_zero() {
        let ids = SpanIds(AtomicU64::new(u64::MAX - 500));
        let given: HashSet<u64> = (0..1000).map(|_| ids.next()).collect();
        assert!(given.len() >= 999 && !given.contains(&0));
    }
}
