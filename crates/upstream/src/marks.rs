//! The mark that every process of a server inherits, and the search for marked processes.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

#[cfg(target_os = "linux")]
use crate::browser::is_opened_browser;
use crate::owner_limit::Owner;
use crate::process::{Process, start_time};
#[cfg(target_os = "linux")]
use crate::process::{folder, parent_of};

/// The environment variable that holds the mark.
pub(crate) const MARK: &str = "PEGBOARD_CHILD";
/// The largest environment that is searched; the kernel's own limit is of this order.
const ENVIRON_BYTES: u64 = 4 * 1024 * 1024;
/// Initial capacity, enough for most environments.
const ENVIRON_USUAL: usize = 16 * 1024;
/// How often a search is repeated to catch processes that were forked in the meantime.
const KILL_ROUNDS: u32 = 10;

static SEQUENCE: AtomicU64 = AtomicU64::new(1);

/// Creates the mark of the next child: our pid, our start time, and a sequence number.
pub(crate) fn next_mark() -> String {
    let pid = std::process::id();
    let started = i32::try_from(pid).ok().and_then(start_time).unwrap_or(0);
    format!(
        "{pid}.{started}.{}",
        SEQUENCE.fetch_add(1, Ordering::Relaxed)
    )
}

/// Returns whether this process is, or was started by, a server of another Pegboard process.
pub fn runs_under_a_server() -> bool {
    std::env::var_os(MARK).is_some()
}

/// Returns whether another process is, or was started by, a server of a Pegboard process. A process whose environment
/// cannot be read counts as one.
pub fn is_marked(pid: u32) -> bool {
    let Ok(environment) = std::fs::read(format!("/proc/{pid}/environ")) else {
        return true;
    };
    let name = format!("{MARK}=");
    let mut variables = environment.split(|byte| *byte == 0);
    variables.any(|variable| variable.starts_with(name.as_bytes()))
}

/// Returns the owner in a mark: pid and start time.
pub(crate) fn owner_part(mark: &str) -> Option<&str> {
    mark.rsplit_once('.').map(|(owner, _)| owner)
}

/// Kills every process whose mark in the environment matches. Returns their number.
pub(crate) fn kill_all_marked(wanted: impl Fn(&str) -> bool) -> usize {
    kill_all(|marks| marks.variable.is_some_and(&wanted))
}

/// Kills everything that an owner, which has ended, started. `owner` is the first part of its marks.
pub(crate) fn kill_all_of(owner: &str) -> usize {
    let in_limits = Owner::parse(owner);
    kill_all(|marks| {
        marks.variable.and_then(owner_part) == Some(owner)
            || (in_limits.is_some() && marks.owner == in_limits)
    })
}

/// Kills the processes that a dead Pegboard process left behind. Returns their number.
pub fn sweep_orphans() -> usize {
    kill_all(|marks| {
        let is_left = match marks.variable {
            Some(mark) => owner_is_gone(mark) == Some(true),
            None => marks.owner.is_some_and(Owner::is_gone),
        };
        is_left && marks.is_of_our_namespace()
    })
}

/// Kills every process that matches, and those that it started in the meantime.
fn kill_all(wanted: impl Fn(&Marks<'_>) -> bool) -> usize {
    let mut killed = std::collections::BTreeSet::new();
    for _ in 0..KILL_ROUNDS {
        let found = marked(&wanted);
        if found.is_empty() {
            break;
        }
        for process in &found {
            // It may have ended on its own.
            if process.kill() {
                killed.insert(process.pid());
            }
        }
        found.iter().for_each(Process::wait);
    }
    killed.len()
}

/// The marks of a process.
struct Marks<'p> {
    /// The mark in its environment.
    variable: Option<&'p str>,
    /// The owner in its resource limits.
    owner: Option<Owner>,
    process: &'p Path,
}

impl Marks<'_> {
    /// A pid in the mark of a process in a container is meaningless outside of it.
    fn is_of_our_namespace(&self) -> bool {
        let namespace = |process: &Path| std::fs::read_link(process.join("ns/pid")).ok();
        namespace(self.process) == namespace(Path::new("/proc/self"))
    }
}

/// Returns `None` for a mark that is not ours.
pub(crate) fn owner_is_gone(mark: &str) -> Option<bool> {
    let mut parts = mark.split('.');
    let pid: u32 = parts.next()?.parse().ok()?;
    let pid = i32::try_from(pid).ok()?;
    let started: u64 = parts.next()?.parse().ok()?;
    let _sequence: u64 = parts.next()?.parse().ok()?;
    (parts.next().is_none() && started != 0).then(|| start_time(pid) != Some(started))
}

/// Returns the processes that match. Excludes this process and its ancestors, which may carry the mark of the Pegboard
/// process that started them, and browsers opened for the user with their descendants.
#[cfg(target_os = "linux")]
fn marked(wanted: impl Fn(&Marks<'_>) -> bool) -> Vec<Process> {
    let ancestors = ancestors();
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let mut environ = Environ::default();
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        if ancestors.contains(&pid) {
            continue;
        }
        let folder = entry.path();
        let mut is_wanted = || {
            wanted(&Marks {
                variable: environ.mark_of(&folder),
                owner: Owner::of_process(&folder),
                process: &folder,
            })
        };
        if !is_wanted() {
            continue;
        }
        let Some(process) = Process::open(pid) else {
            continue;
        };
        // Checked again with the handle open, so that the check is about the process that will be killed.
        if is_wanted() && !process.has_ended() && !is_below_browser(pid) {
            found.push(process);
        }
    }
    found
}

#[cfg(target_os = "linux")]
fn is_below_browser(pid: i32) -> bool {
    let mut line = line_of(pid).into_iter();
    line.any(|pid| is_opened_browser(&folder(pid)))
}

#[cfg(not(target_os = "linux"))]
fn marked(_wanted: impl Fn(&Marks<'_>) -> bool) -> Vec<Process> {
    Vec::new()
}

/// Reads environments into one reused buffer, to keep a scan of all processes short.
#[derive(Default)]
pub(crate) struct Environ {
    bytes: Vec<u8>,
}

impl Environ {
    /// Returns the mark of a process, if the process belongs to this user.
    pub(crate) fn mark_of(&mut self, process: &Path) -> Option<&str> {
        use std::io::Read;
        use std::os::unix::fs::MetadataExt;

        // Only root can open other users' environments.
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
        let us = rustix::process::geteuid().as_raw();
        let is_ours = std::fs::metadata(process).is_ok_and(|about| about.uid() == us);
        std::str::from_utf8(value).ok().filter(|_| is_ours)
    }
}

#[cfg(target_os = "linux")]
fn ancestors() -> Vec<i32> {
    line_of(i32::try_from(std::process::id()).unwrap_or(0))
}

/// Returns a process, its parent, and so on.
#[cfg(target_os = "linux")]
fn line_of(mut pid: i32) -> Vec<i32> {
    let mut line = Vec::new();
    while pid > 0 && !line.contains(&pid) {
        line.push(pid);
        pid = parent_of(pid).unwrap_or(0);
    }
    line
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
            "the pid is in use by another process now"
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
