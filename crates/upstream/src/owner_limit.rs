//! A second mark of server processes, for those that clear their environment.
//!
//! Every process inherits resource limits through `fork`, `exec`, `setsid` and an empty environment. The limit on the
//! time a process may run with real-time priority without a pause has no effect when it is set to centuries, so its
//! lower digits can encode who started a process. The watcher uses it to find what a killed Pegboard process left. A
//! malicious process can lower the limit and lose the mark.

use crate::process::start_time;

/// Set in every such limit, and far above any effective limit: 571 years in microseconds.
const IS_MARK: u64 = 1 << 54;
/// A pid has at most 22 bits; below it are as many bits of the start time as fit.
const PID_SHIFT: u32 = 32;
const PID_MASK: u64 = (1 << 22) - 1;
const TIME_MASK: u64 = (1 << 32) - 1;

/// The process that started another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner(u64);

impl Owner {
    /// Parses the owner part of a mark.
    pub(crate) fn parse(written: &str) -> Option<Self> {
        let (pid, started) = written.split_once('.')?;
        let (pid, started): (u64, u64) = (pid.parse().ok()?, started.parse().ok()?);
        (pid <= PID_MASK).then_some(Self(IS_MARK | pid << PID_SHIFT | started & TIME_MASK))
    }

    fn of_limit(limit: u64) -> Option<Self> {
        (limit >> PID_SHIFT & !PID_MASK == IS_MARK >> PID_SHIFT).then_some(Self(limit))
    }

    /// Returns whether the owning process has ended.
    pub(crate) fn is_gone(self) -> bool {
        let pid = i32::try_from(self.0 >> PID_SHIFT & PID_MASK).unwrap_or(0);
        start_time(pid).map(|started| started & TIME_MASK) != Some(self.0 & TIME_MASK)
    }

    /// Reads the owner of a process from its limits.
    pub(crate) fn of_process(process: &std::path::Path) -> Option<Self> {
        let limits = std::fs::read_to_string(process.join("limits")).ok()?;
        let line = limits
            .lines()
            .find_map(|line| line.strip_prefix("Max realtime timeout"))?;
        let hard = line.split_whitespace().nth(1)?;
        Self::of_limit(hard.parse().ok()?)
    }
}

/// Marks this process and everything it starts from now on. A limit that is already set is kept: it is the mark of a
/// Pegboard process above this one, or intended.
pub(crate) fn mark_ourselves() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let pid = std::process::id();
        let us = start_time(i32::try_from(pid).unwrap_or(0));
        let us = us.and_then(|started| Owner::parse(&format!("{pid}.{started}")));
        let now = getrlimit(Resource::Rttime);
        if let (Some(us), None, None) = (us, now.current, now.maximum) {
            let marked = Rlimit {
                current: Some(us.0),
                maximum: Some(us.0),
            };
            // If this fails, the mark in the environment remains.
            let _ = setrlimit(Resource::Rttime, marked);
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn r_sec_04_an_owner_fits_into_a_limit_and_is_read_back() {
        let pid = std::process::id();
        let started = start_time(i32::try_from(pid).unwrap()).unwrap();
        let us = Owner::parse(&format!("{pid}.{started}")).unwrap();
        assert_eq!(Owner::of_limit(us.0), Some(us));
        assert!(!us.is_gone());
        assert!(
            Owner::parse(&format!("{pid}.{}", started + 1))
                .unwrap()
                .is_gone()
        );
        assert!(Owner::parse("4194304.1").is_none(), "a number of 23 bits");
        for limit in [0, 200_000, u64::MAX, IS_MARK >> 1, IS_MARK << 1] {
            assert_eq!(Owner::of_limit(limit), None, "{limit}");
        }
    }
}
