//! Stops a server whose processes use more memory, or are more, than its sandbox allows.
//!
//! A cgroup enforces it where the system delegates one. Everywhere else, and as a second line, the processes of the
//! server are counted each second: its descendants, and those of its processes that this program adopted.

use std::time::Duration;

use pegboard_model::{Reason, ToolError};

use super::Confinement;
use super::cgroup::Cgroup;
use crate::errors::ErrorContext;
use crate::memory::resident_of;
use crate::process::{Process, children_of_ours};

/// How often the processes are counted.
const INTERVAL: Duration = Duration::from_secs(1);

/// Watches the processes of one server. Dropping it removes its cgroup.
pub(crate) struct LimitWatch {
    memory: Option<u64>,
    processes: Option<u32>,
    /// Keeps the cgroup until the processes have ended.
    _cgroup: Option<Cgroup>,
}

impl LimitWatch {
    /// Starts to limit a server that was just started. Returns `None` if it has no limits.
    pub(crate) fn start(confinement: &Confinement, pid: u32) -> Option<Self> {
        let (memory, processes) = confinement.limits();
        if memory.is_none() && processes.is_none() {
            return None;
        }
        Some(Self {
            memory,
            processes,
            _cgroup: Cgroup::for_process(pid, memory, processes),
        })
    }
}

/// Waits until a server exceeds its limits, and returns the error for its callers.
pub(crate) async fn over_limit(
    watch: Option<&LimitWatch>,
    pid: u32,
    mark: &str,
    errors: &ErrorContext,
) -> ToolError {
    let Some(watch) = watch else {
        return std::future::pending().await;
    };
    let mut ticks = tokio::time::interval(INTERVAL);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let mark = mark.to_owned();
        // Reading from `/proc` may take a while on a busy machine.
        let Ok(usage) = tokio::task::spawn_blocking(move || Usage::of(pid, &mark)).await else {
            continue;
        };
        if let Some(what) = watch.excess(usage) {
            return errors.error(Reason::SandboxLimit, what);
        }
    }
}

/// What the processes of a server use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Usage {
    memory: u64,
    processes: usize,
}

impl Usage {
    fn of(pid: u32, mark: &str) -> Self {
        let group = i32::try_from(pid).unwrap_or(0);
        let mut found: Vec<i32> = Vec::new();
        let mut add = |process: &Process| {
            let below = process.descendants();
            let all = std::iter::once(process.pid()).chain(below.iter().map(Process::pid));
            for pid in all {
                if !found.contains(&pid) {
                    found.push(pid);
                }
            }
        };
        if let Some(first) = Process::open(group) {
            add(&first);
        }
        let ours = children_of_ours().unwrap_or_default().into_iter();
        for process in ours.filter(|pid| *pid != group).filter_map(Process::open) {
            if process.group() == Some(group) || process.mark().as_deref() == Some(mark) {
                add(&process);
            }
        }
        let resident = found.iter().filter_map(|pid| resident_of(*pid));
        Self {
            memory: resident.fold(0, u64::saturating_add),
            processes: found.len(),
        }
    }
}

impl LimitWatch {
    fn excess(&self, usage: Usage) -> Option<String> {
        const MEGABYTE: u64 = 1024 * 1024;
        if let Some(most) = self.memory.filter(|most| usage.memory > *most) {
            let (used, most) = (usage.memory / MEGABYTE, most / MEGABYTE);
            return Some(format!(
                "used {used} MB of memory, more than the {most} MB of its sandbox, and was stopped"
            ));
        }
        let most = self.processes.and_then(|most| usize::try_from(most).ok());
        let most = most.filter(|most| usage.processes > *most)?;
        Some(format!(
            "ran {} processes, more than the {most} of its sandbox, and was stopped",
            usage.processes
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_exceeds_a_limit_is_named() {
        let watch = LimitWatch {
            memory: Some(2 * 1024 * 1024),
            processes: Some(3),
            _cgroup: None,
        };
        let excess = |memory, processes| watch.excess(Usage { memory, processes });
        assert_eq!(excess(2 * 1024 * 1024, 3), None);
        assert!(excess(3 * 1024 * 1024, 1).unwrap().starts_with("used 3 MB"));
        assert!(excess(0, 4).unwrap().starts_with("ran 4 processes"));
    }
}
