//! Freshness of a known list: pure rules, the time is a parameter.

use std::time::Duration;

use pegboard_model::{DiscoveryStatus, Limits, ServerRecord, ServerSpec, Timestamp};

/// Freshness of a server's known list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// No list was received under this definition.
    Unknown,
    /// The list is current.
    Fresh,
    /// The list is past its TTL, or the last refresh failed. It is used and marked as stale.
    Stale,
    /// The list is older than `max_age`: it is renewed in the background even if the server has to be started.
    Expired,
}

impl Freshness {
    /// Whether the list is marked as stale.
    pub fn is_stale(self) -> bool {
        matches!(self, Self::Stale | Self::Expired)
    }
}

/// Computes the freshness of a list. A positive TTL hint of the server is honoured up to `Limits::max_ttl`; without
/// one the configured TTL applies. A failed refresh makes the list stale at once. A timestamp in the future comes
/// from a wrong clock: it is tolerated up to `Limits::max_ttl`, so that a clock set back does not refresh everything;
/// beyond that the list would stay fresh for years.
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
    } else if record.status == DiscoveryStatus::Failed
        || age >= time_to_live(spec, record, limits)
        || discovered.since(now) > limits.max_ttl
    {
        Freshness::Stale
    } else {
        Freshness::Fresh
    }
}

/// Whether `at` is less than `time` away from `now`. A timestamp further in the future comes from a wrong clock and
/// does not count as recent.
pub(crate) fn is_recent(at: Timestamp, now: Timestamp, time: Duration) -> bool {
    now.since(at).max(at.since(now)) < time
}

/// How long a list is fresh.
pub fn time_to_live(spec: &ServerSpec, record: &ServerRecord, limits: &Limits) -> Duration {
    match record.ttl_hint_ms {
        Some(hint) if hint > 0 => Duration::from_millis(hint).min(limits.max_ttl),
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
        let mut record = ServerRecord::undiscovered(spec.name.clone(), spec.hash);
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
    fn r_disc_12_a_positive_hint_counts_and_zero_does_not() {
        check(600, Some(3_600_000), false, Freshness::Fresh);
        check(600, Some(0), false, Freshness::Stale);
        check(20, Some(10_000), false, Freshness::Stale);
        check(23 * 3600, Some(u64::MAX), false, Freshness::Fresh);
    }

    #[test]
    fn r_disc_03_a_failed_discovery_makes_the_known_list_stale() {
        check(1, None, true, Freshness::Stale);
    }

    #[test]
    fn r_store_01_k09_a_clock_set_back_a_day_makes_nothing_stale_and_years_do() {
        const HOUR: u64 = 3600 * 1000;
        let spec = stdio_spec("s", "true", ["x"]);
        let mut record = ServerRecord::undiscovered(spec.name.clone(), spec.hash);
        record.status = DiscoveryStatus::Success;
        record.discovered_at = Some(Timestamp(200_000 * HOUR));
        for (hours_back, expected) in [
            (1, Freshness::Fresh),
            (24, Freshness::Fresh),
            (25, Freshness::Stale),
            (10 * 365 * 24, Freshness::Stale),
        ] {
            let now = Timestamp((200_000 - hours_back) * HOUR);
            let found = freshness(&spec, &record, now, &Limits::default());
            assert_eq!(found, expected, "{hours_back} h");
        }
    }

    #[test]
    fn k09_a_failure_under_a_clock_years_ahead_delays_no_retry() {
        let time = Duration::from_secs(300);
        let recent =
            |at: u64, now: u64| is_recent(Timestamp(at * 1000), Timestamp(now * 1000), time);
        assert!(recent(1_000, 1_000) && recent(1_000, 1_299) && recent(1_299, 1_000));
        assert!(!recent(1_000, 1_300) && !recent(1_300, 1_000) && !recent(315_360_000, 0));
        assert!(!is_recent(Timestamp(1), Timestamp(1), Duration::ZERO));
    }
}
