//! A process of the user that is identified by pid and start time, for commands that end it.

use std::time::{Duration, Instant};

pub use rustix::process::Signal;

use crate::process::{Process, start_time};

/// A process that has not been confused with another one that got the same pid later.
pub struct ProcessHandle {
    process: Process,
    started: u64,
}

impl ProcessHandle {
    /// Opens a process. Returns `None` if it has ended, or if the process with this pid started at another time.
    pub fn open(pid: u32, started: u64) -> Option<Self> {
        let process = Process::open(i32::try_from(pid).ok()?)?;
        let handle = Self { process, started };
        // Checked with the handle open, so that the check is about the process of the handle.
        (handle.is_same() && !handle.process.has_ended()).then_some(handle)
    }

    /// Sends a signal. Returns whether the process still existed.
    pub fn signal(&self, signal: Signal) -> bool {
        self.is_same() && self.process.signal(signal)
    }

    /// Waits for the end of the process. Returns whether it has ended.
    pub fn wait(&self, timeout: Duration) -> bool {
        let begun = Instant::now();
        loop {
            if !self.is_same() || self.process.has_ended() {
                return true;
            }
            let rest = timeout.saturating_sub(begun.elapsed());
            if rest.is_zero() {
                return false;
            }
            self.process.wait_for(rest);
        }
    }

    fn is_same(&self) -> bool {
        start_time(self.process.pid()) == Some(self.started)
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a process to end")]
    fn r_share_01_only_the_process_with_the_same_start_time_is_ended() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let pid = child.id();
        let started = start_time(i32::try_from(pid).unwrap()).unwrap();
        assert!(ProcessHandle::open(pid, started + 1).is_none());
        let handle = ProcessHandle::open(pid, started).unwrap();
        assert!(!handle.wait(Duration::ZERO));
        assert!(handle.signal(Signal::TERM));
        assert!(handle.wait(Duration::from_secs(20)));
        assert!(!child.wait().unwrap().success());
        assert!(ProcessHandle::open(pid, started).is_none());
    }
}
