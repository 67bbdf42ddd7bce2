//! A process of the machine: its marks, its descendants, and how it is killed.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::browser::is_opened_browser;
use crate::marks::Environ;
use crate::owner_limit::Owner;

/// How long the system may take to end a killed process.
const KILLED_IS_GONE: Duration = Duration::from_secs(1);
/// How often a process without a handle is looked at.
const WITHOUT_HANDLE: Duration = Duration::from_millis(20);
/// How many descendants of a process are visited. A server that starts more is killed in rounds.
const DESCENDANTS: usize = 10_000;

/// A process, by pid and by handle. The handle does not reserve the pid: once the process was reaped, the pid may be
/// reused. But the handle always refers to this process, and a signal sent through it never reaches another.
pub(crate) struct Process {
    pid: i32,
    handle: Option<OwnedFd>,
}

impl Process {
    /// Opens the process that has this pid now. The caller verifies afterwards that it is the intended one.
    pub(crate) fn open(pid: i32) -> Option<Self> {
        let raw = Pid::from_raw(pid)?;
        #[cfg(target_os = "linux")]
        let handle = {
            use rustix::process::{PidfdFlags, pidfd_open};
            match pidfd_open(raw, PidfdFlags::empty()) {
                Ok(handle) => Some(handle),
                // It has ended.
                Err(rustix::io::Errno::SRCH) => return None,
                // Out of handles, or a system without them.
                Err(_) => None,
            }
        };
        #[cfg(not(target_os = "linux"))]
        let handle = Some(raw).and(None);
        Some(Self { pid, handle })
    }

    pub(crate) fn pid(&self) -> i32 {
        self.pid
    }

    /// Kills the process. Returns whether there was something to kill.
    pub(crate) fn kill(&self) -> bool {
        self.signal(Signal::KILL)
    }

    /// Sends a signal. Returns whether the process existed.
    pub(crate) fn signal(&self, signal: Signal) -> bool {
        let number = || {
            let pid = Pid::from_raw(self.pid)?;
            kill_process(pid, signal).ok()
        };
        #[cfg(target_os = "linux")]
        if let Some(handle) = &self.handle {
            return rustix::process::pidfd_send_signal(handle, signal).is_ok();
        }
        number().is_some()
    }

    /// Returns whether the process has not been reaped yet.
    pub(crate) fn is_unreaped(&self) -> bool {
        #[cfg(target_os = "linux")]
        if let Some(handle) = &self.handle {
            use rustix::process::{WaitId, WaitIdOptions, waitid};
            use std::os::fd::AsFd;
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
            return waitid(WaitId::PidFd(handle.as_fd()), options).is_ok();
        }
        true
    }

    /// Waits until a killed process has ended. One that hangs in the kernel is left to it.
    pub(crate) fn wait(&self) {
        if self.handle.is_some() {
            self.wait_for(KILLED_IS_GONE);
        }
    }

    /// Waits until the process has ended, a signal arrives or the time is over. Without a handle it waits for a short
    /// time.
    pub(crate) fn wait_for(&self, limit: Duration) {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let limit = match self.handle {
            Some(_) => limit,
            None => limit.min(WITHOUT_HANDLE),
        };
        let handle = self.handle.as_ref();
        let handle = handle.map(|handle| PollFd::new(handle, PollFlags::IN));
        let mut handles: Vec<PollFd<'_>> = handle.into_iter().collect();
        let limit = Timespec::try_from(limit).unwrap_or_default();
        let _ = poll(&mut handles, Some(&limit));
    }

    /// Waits until the process has ended, however long that takes. Without a handle it never returns.
    #[cfg(target_os = "linux")]
    pub(crate) fn wait_for_end(&self) {
        use rustix::event::{PollFd, PollFlags, poll};
        loop {
            match &self.handle {
                Some(handle) => match poll(&mut [PollFd::new(handle, PollFlags::IN)], None) {
                    Err(rustix::io::Errno::INTR) => {}
                    _ => return,
                },
                None => std::thread::park(),
            }
        }
    }

    /// Reaps the process if it is a child of ours that has ended.
    pub(crate) fn reap(&self) {
        use rustix::process::{WaitOptions, waitpid};
        if self.has_ended() {
            let _ = waitpid(Pid::from_raw(self.pid), WaitOptions::NOHANG);
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        stat_word(self.pid, STATE_FIELD).is_none_or(|state| matches!(state.as_str(), "Z" | "X"))
    }

    /// Returns its process group.
    pub(crate) fn group(&self) -> Option<i32> {
        stat_word(self.pid, GROUP_FIELD)?.parse().ok()
    }

    /// Returns the mark in its environment.
    pub(crate) fn mark(&self) -> Option<String> {
        Environ::default()
            .mark_of(&folder(self.pid))
            .map(str::to_owned)
    }

    /// Returns whether its limits say that this process, or one of its descendants, started it.
    pub(crate) fn is_owned_by_us(&self) -> bool {
        let owner = Owner::of_process(&folder(self.pid));
        owner.is_some() && owner == Owner::of_process("/proc/self".as_ref())
    }

    /// Returns whether it must not be killed: a browser that a server opened for a login.
    pub(crate) fn is_spared(&self) -> bool {
        is_opened_browser(&folder(self.pid))
    }

    /// Returns all descendants, except spared processes and their descendants.
    pub(crate) fn descendants(&self) -> Vec<Self> {
        let mut found: Vec<Self> = Vec::new();
        let mut parents = vec![self.pid];
        while let Some(parent) = parents.pop() {
            for pid in children_of(parent).unwrap_or_default() {
                let Some(process) = Self::open(pid) else {
                    continue;
                };
                // Checked again with the handle open, so that the check is about this process.
                let is_child = parent_of(pid) == Some(parent);
                if !is_child || process.is_spared() || found.len() >= DESCENDANTS {
                    continue;
                }
                parents.push(pid);
                found.push(process);
            }
        }
        found
    }
}

/// Returns the pids of our own children.
pub(crate) fn children_of_ours() -> Option<Vec<i32>> {
    children_in("/proc/self/task".into())
}

fn children_of(pid: i32) -> Option<Vec<i32>> {
    children_in(folder(pid).join("task"))
}

fn children_in(threads: std::path::PathBuf) -> Option<Vec<i32>> {
    let mut found = Vec::new();
    let mut is_listed = false;
    for thread in std::fs::read_dir(threads).ok()?.flatten() {
        // A thread that has ended passed its children to another one.
        let Ok(children) = std::fs::read_to_string(thread.path().join("children")) else {
            continue;
        };
        is_listed = true;
        found.extend(
            children
                .split_whitespace()
                .filter_map(|pid| pid.parse::<i32>().ok()),
        );
    }
    is_listed.then_some(found)
}

pub(crate) fn folder(pid: i32) -> std::path::PathBuf {
    format!("/proc/{pid}").into()
}

/// Fields of `/proc/PID/stat`, counted after the command name.
const STATE_FIELD: usize = 0;
const PARENT_FIELD: usize = 1;
const GROUP_FIELD: usize = 2;
const START_TIME_FIELD: usize = 19;

pub(crate) fn parent_of(pid: i32) -> Option<i32> {
    stat_word(pid, PARENT_FIELD)?.parse().ok()
}

/// Returns when a process started, in ticks after boot. Together with the pid it identifies a process permanently.
pub fn start_time(pid: i32) -> Option<u64> {
    stat_word(pid, START_TIME_FIELD)?.parse().ok()
}

fn stat_word(pid: i32, field: usize) -> Option<String> {
    // Bytes, because a process may give itself any name.
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    // The command name may contain spaces and parentheses; it ends at the last parenthesis.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(field).map(str::to_owned)
}
