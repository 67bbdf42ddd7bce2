//! The mark that every process of a server inherits, and how marked processes are found.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Pid, Signal, kill_process};

/// The variable that holds the mark.
pub(crate) const MARK: &str = "PEGBOARD_CHILD";
/// The largest environment that is searched; the kernel's own limit is of this order.
const ENVIRON_BYTES: u64 = 4 * 1024 * 1024;
/// Room for what most environments need.
#[cfg(target_os = "linux")]
const ENVIRON_USUAL: usize = 16 * 1024;
/// How often a search is repeated for processes that were forked meanwhile.
const KILL_ROUNDS: u32 = 10;
/// How long the system may take to end a killed process.
const KILLED_IS_GONE_SECONDS: i64 = 1;

static SEQUENCE: AtomicU64 = AtomicU64::new(1);

/// A mark for the next child: our pid, our start time, a running number.
pub(crate) fn next_mark() -> String {
    let pid = std::process::id();
    let started = start_time(pid).unwrap_or(0);
    format!(
        "{pid}.{started}.{}",
        SEQUENCE.fetch_add(1, Ordering::Relaxed)
    )
}

/// Whether this process was started by a server of a Pegboard, or is one.
pub fn runs_under_a_server() -> bool {
    std::env::var_os(MARK).is_some()
}

/// The part of a mark that names its owner: pid and start time.
pub(crate) fn owner_part(mark: &str) -> Option<&str> {
    mark.rsplit_once('.').map(|(owner, _)| owner)
}

/// Kills every process that carries this mark, wherever it moved to.
pub(crate) fn kill_marked(mark: &str) -> usize {
    kill_all_marked(|found| found == mark)
}

/// Kills what an earlier Pegboard that is dead now left behind; how many processes that were.
pub fn sweep_orphans() -> usize {
    kill_all_marked(|mark| owner_is_gone(mark) == Some(true))
}

/// Kills every process whose mark is wanted, and those that it started meanwhile.
pub(crate) fn kill_all_marked(wanted: impl Fn(&str) -> bool) -> usize {
    let mut killed = std::collections::BTreeSet::new();
    for _ in 0..KILL_ROUNDS {
        let found = marked(&wanted);
        if found.is_empty() {
            break;
        }
        for process in &found {
            // It may have ended by itself.
            if kill_process(process.pid, Signal::KILL).is_ok() {
                killed.insert(process.pid.as_raw_nonzero().get());
            }
        }
        found.iter().for_each(Marked::wait);
    }
    killed.len()
}

/// A process that was found. The handle keeps its number from being given to another process.
struct Marked {
    pid: Pid,
    handle: Option<OwnedFd>,
}

impl Marked {
    /// Waits until a killed process has ended.
    fn wait(&self) {
        #[cfg(target_os = "linux")]
        if let Some(handle) = &self.handle {
            use rustix::event::{PollFd, PollFlags, Timespec, poll};
            let limit = Timespec {
                tv_sec: KILLED_IS_GONE_SECONDS,
                tv_nsec: 0,
            };
            // A process that hangs in the kernel is left to it.
            let _ = poll(&mut [PollFd::new(handle, PollFlags::IN)], Some(&limit));
        }
    }
}

/// `None` for a mark that is none of ours.
pub(crate) fn owner_is_gone(mark: &str) -> Option<bool> {
    let mut parts = mark.split('.');
    let pid: u32 = parts.next()?.parse().ok()?;
    let started: u64 = parts.next()?.parse().ok()?;
    let _sequence: u64 = parts.next()?.parse().ok()?;
    (parts.next().is_none() && started != 0).then(|| start_time(pid) != Some(started))
}

/// The processes of our user whose mark is wanted; never ourselves or an ancestor, which may carry the mark of the
/// Pegboard that started them.
#[cfg(target_os = "linux")]
fn marked(wanted: impl Fn(&str) -> bool) -> Vec<Marked> {
    use rustix::process::{PidfdFlags, pidfd_open};

    let us = rustix::process::geteuid().as_raw();
    let ancestors = ancestors();
    let our_namespace = std::fs::read_link("/proc/self/ns/pid").ok();
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let mut environ = Environ::default();
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<i32>().ok())
        else {
            continue;
        };
        if ancestors.contains(&pid) {
            continue;
        }
        let folder = entry.path();
        let mut is_wanted = || environ.mark_of(&folder, us).is_some_and(&wanted);
        // A pid in the mark of a container's process means nothing out here.
        if !is_wanted() || std::fs::read_link(folder.join("ns/pid")).ok() != our_namespace {
            continue;
        }
        let Some(pid) = Pid::from_raw(pid) else {
            continue;
        };
        let handle = pidfd_open(pid, PidfdFlags::empty()).ok();
        // Asked again with the handle open, so that the answer is about the process that will be killed.
        if is_wanted() {
            found.push(Marked { pid, handle });
        }
    }
    found
}

#[cfg(not(target_os = "linux"))]
fn marked(_wanted: impl Fn(&str) -> bool) -> Vec<Marked> {
    Vec::new()
}

/// Reads environments into one buffer, because a look through all processes should be short.
#[cfg(target_os = "linux")]
#[derive(Default)]
struct Environ {
    bytes: Vec<u8>,
}

#[cfg(target_os = "linux")]
impl Environ {
    /// The mark that a process of this user carries.
    fn mark_of(&mut self, process: &std::path::Path, user: u32) -> Option<&str> {
        use std::io::Read;
        use std::os::unix::fs::MetadataExt;

        // Other users' environments cannot be opened, except by root.
        let file = std::fs::File::open(process.join("environ")).ok()?;
        self.bytes.clear();
        self.bytes.reserve(ENVIRON_USUAL);
        file.take(ENVIRON_BYTES).read_to_end(&mut self.bytes).ok()?;
        let mut named = memchr::memmem::find_iter(&self.bytes, MARK);
        let value = named.find_map(|at| {
            let (before, name) = self.bytes.split_at_checked(at)?;
            let value = name.strip_prefix(MARK.as_bytes())?.strip_prefix(b"=")?;
            matches!(before.last(), None | Some(0)).then_some(value)
        })?;
        let value = value.split(|byte| *byte == 0).next()?;
        let is_ours = std::fs::metadata(process).is_ok_and(|about| about.uid() == user);
        std::str::from_utf8(value).ok().filter(|_| is_ours)
    }
}

#[cfg(target_os = "linux")]
fn ancestors() -> Vec<i32> {
    let mut line = Vec::new();
    let mut pid = i32::try_from(std::process::id()).unwrap_or(0);
    while pid > 0 && !line.contains(&pid) {
        line.push(pid);
        pid = stat_field(u32::try_from(pid).unwrap_or(0), PARENT_FIELD)
            .and_then(|pid| i32::try_from(pid).ok())
            .unwrap_or(0);
    }
    line
}

/// Fields of `/proc/PID/stat`, counted after the command name.
#[cfg(target_os = "linux")]
const PARENT_FIELD: usize = 1;
const START_TIME_FIELD: usize = 19;

/// When a process started, in ticks after boot: with the pid it names a process for good.
fn start_time(pid: u32) -> Option<u64> {
    stat_field(pid, START_TIME_FIELD)
}

fn stat_field(pid: u32, field: usize) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command name may hold spaces and brackets; it ends at the last bracket.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(field)?.parse().ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn r_sec_04_an_owner_is_known_by_pid_and_start_time() {
        let mine = next_mark();
        assert_eq!(owner_is_gone(&mine), Some(false));
        let pid = std::process::id();
        assert_eq!(
            owner_is_gone(&format!("{pid}.1.1")),
            Some(true),
            "the pid is in use by somebody else now"
        );
        for strange in ["", "x", "1.2", "1.2.3.4", "1.0.3", "-1.2.3", "1..3"] {
            assert_eq!(owner_is_gone(strange), None, "{strange}");
        }
    }

    #[test]
    fn we_are_our_own_first_ancestor() {
        let line = ancestors();
        assert_eq!(
            line.first().copied(),
            i32::try_from(std::process::id()).ok()
        );
        assert!(line.len() > 1);
    }
}
