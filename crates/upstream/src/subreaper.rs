//! Makes orphaned server processes our own children, so that none is lost.
//!
//! A process that leaves its group and session and clears its environment carries no mark, but it still has a parent.
//! As a *subreaper* this process becomes the parent of every descendant of its servers whose own parent ended. Listing
//! our children then shows whether a server left a process behind, without scanning every process of the machine.
//!
//! Only a program that starts nothing but servers may do this (the command line does): children that are neither
//! servers nor the watcher are treated as leftovers of servers. Adopted children that end on their own are reaped when
//! the system reports the end of a child.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use rustix::process::Pid;
use tokio::signal::unix::{SignalKind, signal};

use crate::process::{Process, children_of_ours};
use crate::watcher::has_watcher_program;

static IS_ADOPTING: AtomicBool = AtomicBool::new(false);
/// The children that are accounted for.
static KNOWN: Mutex<KnownChildren> = Mutex::new(KnownChildren {
    servers: BTreeSet::new(),
    others: BTreeSet::new(),
});
/// Whether this process already had children before it started any. A script that starts a process and then `exec`s us
/// leaves us its children; their leftovers must not be killed.
static HAD_CHILDREN: AtomicBool = AtomicBool::new(false);
/// Held for reading while a child is started and registered, for writing while unknown children are listed, so that a
/// server that is just starting is not mistaken for a leftover.
static STARTING: RwLock<()> = RwLock::new(());
/// How often a search is repeated to catch processes that were forked in the meantime.
const ROUNDS: u32 = 10;

struct KnownChildren {
    servers: BTreeSet<i32>,
    /// The watcher, and the children that existed before this crate started any.
    others: BTreeSet<i32>,
}

/// A server that has ended: the pid of its group leader, and its mark.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct EndedServer {
    pub(crate) group: i32,
    pub(crate) mark: String,
}

/// Makes this process the parent of orphans of all servers started from now on. Only for programs whose children are
/// all started by this crate.
pub fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    if !is_adopting()
        && rustix::process::set_child_subreaper(Some(rustix::process::getpid())).is_ok()
    {
        let _nothing_starts = STARTING.write().unwrap_or_else(PoisonError::into_inner);
        let strangers: Vec<i32> = list_unknown()
            .into_iter()
            .flatten()
            .map(|process| process.pid())
            .collect();
        HAD_CHILDREN.store(!strangers.is_empty(), Ordering::Release);
        known().others.extend(strangers);
        IS_ADOPTING.store(true, Ordering::Release);
    }
}

/// Kills every process that servers left behind, when the program ends: any remaining child except the watcher belongs
/// to a server. Lists our children once, and does nothing if no server was started.
pub fn end_leftovers() {
    if is_adopting() && has_watcher_program() {
        known().servers.clear();
        end(is_left_by_a_server);
    }
}

pub(crate) fn is_adopting() -> bool {
    IS_ADOPTING.load(Ordering::Acquire)
}

/// Returns the guard to hold while a child is started and registered.
pub(crate) fn starting() -> RwLockReadGuard<'static, ()> {
    STARTING.read().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn register_server(server: Pid) {
    known().servers.insert(server.as_raw_nonzero().get());
}

pub(crate) fn register_watcher(watcher: Pid) {
    known().others.insert(watcher.as_raw_nonzero().get());
}

/// Removes a child that has ended or that is handled elsewhere.
pub(crate) fn unregister(child: Pid) {
    let child = child.as_raw_nonzero().get();
    let mut known = known();
    known.servers.remove(&child);
    known.others.remove(&child);
}

/// Returns whether every child is accounted for, so that no ended server left a process. Returns `false` if that cannot
/// be determined.
pub(crate) fn is_nothing_left() -> bool {
    is_adopting() && unknown_children().is_some_and(|unknown| unknown.is_empty())
}

/// Kills what these servers left. A leftover that cannot be attributed to a server is killed once no server is running.
/// Returns `false` if our children cannot be listed.
pub(crate) fn end_leftovers_of(ended: &[&EndedServer]) -> bool {
    let is_theirs = |process: &Process, mark: Option<&str>| {
        let group = process.group();
        ended
            .iter()
            .any(|server| group == Some(server.group) || mark == Some(&server.mark))
    };
    let is_wanted = |process: &Process, mark: Option<&str>| {
        let is_last = has_watcher_program() && known().servers.is_empty();
        is_theirs(process, mark) || (is_last && is_left_by_a_server(process, mark))
    };
    end(is_wanted)
}

/// Returns whether an unknown child comes from a server. All of them do, unless this process had children before.
fn is_left_by_a_server(process: &Process, mark: Option<&str>) -> bool {
    !HAD_CHILDREN.load(Ordering::Acquire) || mark.is_some() || process.is_owned_by_us()
}

/// Reaps adopted children whenever the system reports the end of a child, as long as the current runtime lives. The
/// runtime itself reaps only the children that it started.
pub(crate) fn reap_as_they_end() {
    static HAS_BEGUN: AtomicBool = AtomicBool::new(false);
    if !is_adopting() || HAS_BEGUN.swap(true, Ordering::AcqRel) {
        return;
    }
    if let Ok(mut ends) = signal(SignalKind::child()) {
        tokio::spawn(async move {
            while ends.recv().await.is_some() {
                reap();
            }
        });
    }
}

fn reap() {
    // A server that is being started may look like a leftover. Another child will end later and trigger the next pass.
    let Ok(_nothing_starts) = STARTING.try_write() else {
        return;
    };
    list_unknown().iter().flatten().for_each(Process::reap);
}

/// Kills the unknown children that match, with all their descendants.
fn end(is_wanted: impl Fn(&Process, Option<&str>) -> bool) -> bool {
    for _ in 0..ROUNDS {
        let Some(mut found) = unknown_children() else {
            return false;
        };
        found.iter().for_each(Process::reap);
        found.retain(|process| {
            !process.has_ended()
                && !process.is_spared()
                && is_wanted(process, process.mark().as_deref())
        });
        if found.is_empty() {
            break;
        }
        // Descendants would become our children in the next round, but killing them together leaves less time to fork.
        let below: Vec<Process> = found.iter().flat_map(Process::descendants).collect();
        for process in found.iter().chain(&below) {
            process.kill();
        }
        found.iter().chain(&below).for_each(Process::wait);
        found.iter().for_each(Process::reap);
    }
    true
}

/// Returns the children that are not accounted for; `None` if they cannot be listed.
fn unknown_children() -> Option<Vec<Process>> {
    let _nothing_starts = STARTING.write().unwrap_or_else(PoisonError::into_inner);
    list_unknown()
}

fn list_unknown() -> Option<Vec<Process>> {
    let children = children_of_ours()?;
    let known = known();
    let is_known = |pid: &i32| known.servers.contains(pid) || known.others.contains(pid);
    let unknown = children.into_iter().filter(|pid| !is_known(pid));
    Some(unknown.filter_map(Process::open).collect())
}

fn known() -> MutexGuard<'static, KnownChildren> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}
