//! A small process beside Pegboard that ends its servers when Pegboard is killed.
//!
//! The parent-death signal does the same for a server's first process, but it can only be asked for
//! between `fork` and `exec`, and `fork` copies the page tables of a program that holds a whole catalog,
//! which `benches/run refresh-all` shows. A program that can run itself as a watcher is
//! therefore better off; one that embeds Pegboard as a library keeps the signal.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::marks::{kill_all_marked, owner_part};
use crate::spawn::start_watcher;

static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
static WATCHER: Mutex<Option<Child>> = Mutex::new(None);

/// Names the program that runs [`watch`] when its first argument is [`WATCH_ARGUMENT`] and its second one
/// is the owner. Told once, before the first server is started.
pub fn watched_by(program: PathBuf) {
    if cfg!(target_os = "linux") {
        // A second word changes nothing: servers may be running under the first.
        let _ = PROGRAM.set(program);
    }
}

/// The argument that makes a program the watcher.
pub const WATCH_ARGUMENT: &str = "watch-children";

/// The watcher's whole life: waits until its input ends, which is when its owner does, and then ends
/// every process that the owner's servers left.
pub fn watch(owner: &str, mut input: impl Read) {
    let mut nothing = [0; 64];
    while matches!(input.read(&mut nothing), Ok(1..)) {}
    kill_all_marked(|mark| owner_part(mark) == Some(owner));
}

/// Sends the watcher away when all servers are gone.
pub fn dismiss_watcher() {
    if let Some(mut child) = watcher().take() {
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// Whether a watcher is there; the first question starts it.
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
    *watcher = start(program);
    watcher.is_some()
}

/// Whether this is a program that is watched, and not one that Pegboard is a part of.
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
