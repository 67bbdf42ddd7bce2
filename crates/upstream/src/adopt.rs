//! Orphans of servers as our own children, in a program that ends soon: there a glance at our children proves
//! that an ended server left nothing, where otherwise every process of the machine must be looked at.
//!
//! A program that lives long does without: whatever its servers let go would wait as our child to be collected.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::Pid;

static IS_ADOPTING: AtomicBool = AtomicBool::new(false);
/// The children that are accounted for: running servers and the watcher.
static KNOWN: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// Makes the orphans of servers that are started from now on our children. For a program that ends soon and
/// collects the ends of its servers on one thread.
pub fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    if rustix::process::set_child_subreaper(Some(rustix::process::getpid())).is_ok() {
        IS_ADOPTING.store(true, Ordering::Release);
    }
}

/// A child that is accounted for.
pub(crate) fn know(child: Pid) {
    known().insert(child.as_raw_nonzero().get());
}

/// A child that has ended, or that somebody else looks after.
pub(crate) fn forget(child: Pid) {
    known().remove(&child.as_raw_nonzero().get());
}

/// Whether every child of ours is accounted for, so that no ended server left a process. `false` as well where
/// that cannot be told.
pub(crate) fn is_nothing_left() -> bool {
    IS_ADOPTING.load(Ordering::Acquire) && are_known(&known()).unwrap_or(false)
}

fn are_known(known: &BTreeSet<i32>) -> Option<bool> {
    for thread in std::fs::read_dir("/proc/self/task").ok()? {
        let children = std::fs::read_to_string(thread.ok()?.path().join("children")).ok()?;
        let mut children = children.split_whitespace();
        if !children.all(|pid| pid.parse().is_ok_and(|pid| known.contains(&pid))) {
            return Some(false);
        }
    }
    Some(true)
}

fn known() -> MutexGuard<'static, BTreeSet<i32>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}
