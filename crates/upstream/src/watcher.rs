//! A small process beside Pegboard that kills its servers if Pegboard is killed.
//!
//! The parent-death signal does the same for a server's first process, but it can only be requested between `fork` and
//! `exec`, and `fork` copies the page tables of a program that holds a whole catalog, which `benches/run refresh-all`
//! shows. A program that can run itself as a watcher is therefore faster; one that embeds Pegboard as a library uses
//! the signal.

use std::io::Read;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Pid;

use crate::marks::{kill_all_of, owner_part, sweep_orphans};
use crate::spawn::start_watcher;
use crate::subreaper;

/// An owner that is still running after this does more than a single call, which a scan of all processes would only
/// slow down.
const SHORT_WORK: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};

static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
static WATCHER: Mutex<Option<Child>> = Mutex::new(None);

/// Sets the program that runs [`run_watcher`] when its first argument is [`WATCH_ARGUMENT`] and its second is the
/// owner. Called once, before the first server is started.
pub fn set_watcher_program(program: PathBuf) {
    if cfg!(target_os = "linux") {
        // A second call changes nothing: servers may be running under the first watcher.
        let _ = PROGRAM.set(program);
    }
}

/// The argument that makes a program the watcher.
pub const WATCH_ARGUMENT: &str = "watch-children";

/// Starts the watcher in the background, for a program that is about to start a server.
pub fn start_watcher_early() {
    if has_watcher_program() {
        let thread = std::thread::Builder::new().name("pegboard-watch".to_owned());
        // Without a thread the first server starts it.
        let _ = thread.spawn(is_watched);
    }
}

/// Runs the watcher: waits until its input ends, which is when its owner ends, and then kills every process that the
/// owner's servers left. If the owner runs for longer, also kills what an earlier run left.
pub fn run_watcher(owner: &str, mut input: impl Read + AsFd) {
    let mut ended = [PollFd::new(&input, PollFlags::IN)];
    let is_staying = matches!(poll(&mut ended, Some(&SHORT_WORK)), Ok(0));
    if is_staying {
        sweep_orphans();
    }
    let mut nothing = [0; 64];
    while matches!(input.read(&mut nothing), Ok(1..)) {}
    kill_all_of(owner);
}

/// Stops the watcher when all servers have ended.
pub fn stop_watcher() {
    if let Some(mut child) = watcher().take() {
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// Returns whether a watcher is running. The first call starts it.
pub(crate) fn is_watched() -> bool {
    let Some(program) = PROGRAM.get() else {
        return false;
    };
    let mut watcher = watcher();
    if let Some(child) = watcher.as_mut()
        && matches!(child.try_wait(), Ok(None))
    {
        return true;
    }
    if let Some(ended) = watcher.take() {
        subreaper::unregister(Pid::from_child(&ended));
    }
    let _starting = subreaper::starting();
    *watcher = start(program);
    if let Some(child) = watcher.as_ref() {
        subreaper::register_watcher(Pid::from_child(child));
    }
    watcher.is_some()
}

/// Returns whether this program has a watcher, rather than embedding Pegboard as a library.
pub(crate) fn has_watcher_program() -> bool {
    PROGRAM.get().is_some()
}

fn start(program: &Path) -> Option<Child> {
    let mark = crate::marks::next_mark();
    start_watcher(program, owner_part(&mark)?).ok()
}

fn watcher() -> MutexGuard<'static, Option<Child>> {
    WATCHER.lock().unwrap_or_else(PoisonError::into_inner)
}
