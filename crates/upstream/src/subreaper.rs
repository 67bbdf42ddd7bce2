//! Orphans of servers as our own children, so that none of them gets lost.
//!
//! A process that leaves its group and session and clears its environment carries nothing by which it could be found,
//! but it still has a parent. As a *subreaper* this process becomes the parent of every process below its servers
//! whose own parent ended. A glance at our children then shows whether a server left something behind, where
//! otherwise every process of the machine must be looked at.
//!
//! Only a program that starts nothing but servers may do this (the command line does): children that are neither
//! servers nor the watcher are taken for leftovers of servers. Adopted children that end by themselves are reaped as
//! soon as the system reports the end of a child.

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
/// Whether this process had children before it started any: a script that starts something and then runs us in its
/// own place leaves us its children. What they leave in turn is not ours to end.
static HAD_CHILDREN: AtomicBool = AtomicBool::new(false);
/// Held for reading while a child is started and made known, for writing while unknown children are looked for: a
/// server that is just being started must not be taken for a leftover.
static STARTING: RwLock<()> = RwLock::new(());
/// How often a search is repeated for processes that were forked meanwhile.
const ROUNDS: u32 = 10;

struct KnownChildren {
    servers: BTreeSet<i32>,
    /// The watcher, and what was there before us.
    others: BTreeSet<i32>,
}

/// A server that has ended: its first process, which was the leader of its group, and its mark.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct EndedServer {
    pub(crate) group: i32,
    pub(crate) mark: String,
}

/// Makes the orphans of servers that are started from now on our children. For a program whose children are all
/// started by this crate.
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

/// Ends every process that servers left behind. For the end of a program: whatever is still our child, except the
/// watcher, belongs to a server. Costs one look at our children, and nothing where no server was started.
pub fn end_leftovers() {
    if is_adopting() && has_watcher_program() {
        known().servers.clear();
        end(is_left_by_a_server);
    }
}

pub(crate) fn is_adopting() -> bool {
    IS_ADOPTING.load(Ordering::Acquire)
}

/// To be held while a child is started and made known.
pub(crate) fn starting() -> RwLockReadGuard<'static, ()> {
    STARTING.read().unwrap_or_else(PoisonError::into_inner)
}

/// A server that is accounted for.
pub(crate) fn register_server(server: Pid) {
    known().servers.insert(server.as_raw_nonzero().get());
}

/// A watcher that is accounted for.
pub(crate) fn register_watcher(watcher: Pid) {
    known().others.insert(watcher.as_raw_nonzero().get());
}

/// A child that has ended, or that somebody else looks after.
pub(crate) fn unregister(child: Pid) {
    let child = child.as_raw_nonzero().get();
    let mut known = known();
    known.servers.remove(&child);
    known.others.remove(&child);
}

/// Whether every child of ours is accounted for, so that no ended server left a process. `false` as well where
/// that cannot be known.
pub(crate) fn is_nothing_left() -> bool {
    is_adopting() && unknown_children().is_some_and(|unknown| unknown.is_empty())
}

/// Ends what these servers left. A leftover that shows no sign of its server is ended when no server runs any more.
/// `false` where our children cannot be listed.
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

/// Whether a child that is not accounted for comes from a server. Everything does, unless there were children before.
fn is_left_by_a_server(process: &Process, mark: Option<&str>) -> bool {
    !HAD_CHILDREN.load(Ordering::Acquire) || mark.is_some() || process.is_owned_by_us()
}

/// Reaps adopted children whenever the system reports the end of a child, for as long as the present runtime lives.
/// The runtime itself reaps only what it started.
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
    // While a server is being started it may look like a leftover; the next end of a child comes.
    let Ok(_nothing_starts) = STARTING.try_write() else {
        return;
    };
    list_unknown().iter().flatten().for_each(Process::reap);
}

/// Kills the children that are not accounted for and are wanted, with everything below them.
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
        // What is below may become ours in the next round, but killed together it has less time to fork.
        let below: Vec<Process> = found.iter().flat_map(Process::descendants).collect();
        for process in found.iter().chain(&below) {
            process.kill();
        }
        found.iter().chain(&below).for_each(Process::wait);
        found.iter().for_each(Process::reap);
    }
    true
}

/// Our children that are not accounted for; `None` where they cannot be listed.
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
