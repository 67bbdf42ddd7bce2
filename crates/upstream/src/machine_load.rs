//! The load of the machine, as reported by the system.

use std::num::NonZeroUsize;

/// Whether another process can start without slowing down those that are starting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MachineLoad {
    /// A processor is idle.
    Low,
    /// All processors are busy, or tasks wait for the disk.
    High,
    /// The system does not report it.
    Unknown,
}

impl MachineLoad {
    /// Returns the current load. Only Linux reports it.
    pub fn now() -> Self {
        match std::fs::read_to_string("/proc/stat") {
            Ok(stat) => Self::of(&stat, processors()),
            Err(_) => Self::Unknown,
        }
    }

    /// Reads the counts of runnable and blocked tasks from the text of `/proc/stat`.
    fn of(stat: &str, processors: usize) -> Self {
        let count = |key: &str| {
            let line = stat.lines().rev().find_map(|line| line.strip_prefix(key));
            line.and_then(|count| count.trim().parse::<usize>().ok())
        };
        // The task that reads the file is running itself. A sandbox that reports zero running tasks reports nothing.
        match (count("procs_running "), count("procs_blocked ")) {
            (Some(running @ 1..), Some(blocked)) if running - 1 + blocked < processors => Self::Low,
            (Some(1..), Some(_)) => Self::High,
            _ => Self::Unknown,
        }
    }
}

/// Returns the number of processors that this process may use.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(running: &str, blocked: &str, expected: MachineLoad) {
        let stat = format!("cpu  1 2 3\nintr 5 6\nprocesses 9\n{running}{blocked}softirq 1 2\n");
        assert_eq!(
            MachineLoad::of(&stat, 2),
            expected,
            "{running:?} {blocked:?}"
        );
    }

    #[test]
    fn the_load_is_low_while_a_processor_is_idle() {
        check("procs_running 1\n", "procs_blocked 0\n", MachineLoad::Low);
        check("procs_running 2\n", "procs_blocked 0\n", MachineLoad::Low);
        check("procs_running 3\n", "procs_blocked 0\n", MachineLoad::High);
        check("procs_running 1\n", "procs_blocked 2\n", MachineLoad::High);
        check(
            "procs_running 0\n",
            "procs_blocked 0\n",
            MachineLoad::Unknown,
        );
        check(
            "procs_running x\n",
            "procs_blocked 0\n",
            MachineLoad::Unknown,
        );
        check("", "", MachineLoad::Unknown);
    }
}
