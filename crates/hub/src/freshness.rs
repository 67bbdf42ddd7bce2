//! When a known list counts as fresh: pure rules, time comes in.

use std::time::Duration;

use pegboard_model::{DiscoveryStatus, Limits, ServerRecord, ServerSpec, Timestamp};

/// How much a server's known list is worth now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// It was never received with this definition.
    Unknown,
    /// It counts.
    Fresh,
    /// Its time is over, or the last try failed: it is used, and marked.
    Stale,
    /// It is so old that even a stopped server is asked again in the background.
    Expired,
}

impl Freshness {
    /// Whether the list is marked as stale.
    pub fn is_stale(self) -> bool {
        matches!(self, Self::Stale | Self::Expired)
    }
}

/// The rules: a positive hint of the server is honoured up to a day; without one the configured time
/// counts; a failed try makes what is known stale at once.
pub fn freshness(
    spec: &ServerSpec,
    record: &ServerRecord,
    now: Timestamp,
    limits: &Limits,
) -> Freshness {
    let Some(discovered) = record.discovered_at else {
        return Freshness::Unknown;
    };
    let age = now.since(discovered);
    if age >= spec.max_age {
        Freshness::Expired
    } else if record.status == DiscoveryStatus::Failed || age >= time_to_live(spec, record, limits)
    {
        Freshness::Stale
    } else {
        Freshness::Fresh
    }
}

/// How long a list counts as fresh.
pub fn time_to_live(spec: &ServerSpec, record: &ServerRecord, limits: &Limits) -> Duration {
    match record.ttl_hint_ms {
        Some(hint) if hint > 0 => Duration::from_millis(hint).min(limits.longest_ttl),
        _ => spec.ttl,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pegboard_testkit::stdio_spec;

    #[track_caller]
    fn check(age: u64, hint: Option<u64>, failed: bool, expected: Freshness) {
        let mut spec = stdio_spec("s", "true", ["x"]);
        spec.ttl = Duration::from_secs(300);
        spec.max_age = Duration::from_secs(24 * 3600);
        let mut record = ServerRecord::never(spec.name.clone(), spec.hash);
        record.discovered_at = Some(Timestamp(1_000_000));
        record.status = if failed {
            DiscoveryStatus::Failed
        } else {
            DiscoveryStatus::Success
        };
        record.ttl_hint_ms = hint;
        let now = Timestamp(1_000_000 + age * 1000);
        assert_eq!(freshness(&spec, &record, now, &Limits::default()), expected);
    }

    #[test]
    fn r_store_01_entries_are_fresh_until_their_ttl_and_stale_after() {
        check(0, None, false, Freshness::Fresh);
        check(299, None, false, Freshness::Fresh);
        check(300, None, false, Freshness::Stale);
        check(24 * 3600, None, false, Freshness::Expired);
    }

    #[test]
    fn r_disc_12_a_positive_hint_counts_and_zero_is_no_hint() {
        check(600, Some(3_600_000), false, Freshness::Fresh);
        check(600, Some(0), false, Freshness::Stale);
        check(20, Some(10_000), false, Freshness::Stale);
        check(23 * 3600, Some(u64::MAX), false, Freshness::Fresh);
    }

    #[test]
    fn r_disc_03_a_failed_try_makes_the_known_list_stale() {
        check(1, None, true, Freshness::Stale);
    }

    #[test]
    fn a_clock_that_jumps_back_makes_nothing_stale() {
        let spec = stdio_spec("s", "true", ["x"]);
        let mut record = ServerRecord::never(spec.name.clone(), spec.hash);
        record.status = DiscoveryStatus::Success;
        record.discovered_at = Some(Timestamp(5_000_000));
        let verdict = freshness(&spec, &record, Timestamp(1_000), &Limits::default());
        assert_eq!(verdict, Freshness::Fresh);
    }
}
