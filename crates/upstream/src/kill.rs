//! Ends the processes of a server: politely first, and completely in any case.

use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Child;
use tokio::time::timeout;

use crate::process::Process;
use crate::subreaper::{self, EndedServer};
use crate::sweep::{end_all, sweep};

/// How long a server may take to end after its stdin was closed.
const AFTER_CLOSE: Duration = Duration::from_secs(2);
/// How long it may take after SIGTERM.
const AFTER_TERM: Duration = Duration::from_secs(2);
/// The same for a server whose handshake failed: it cannot be doing anything of value.
const AFTER_TERM_WHEN_FIRM: Duration = Duration::from_millis(500);
/// How long the system may take to end a killed process. One that hangs in the kernel is left to it.
const AFTER_KILL: Duration = Duration::from_secs(5);

/// How a server is stopped. Later variants are more urgent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum StopMode {
    /// Close stdin, wait, SIGTERM, wait, SIGKILL.
    Gentle,
    /// Close stdin and send SIGTERM at once, wait briefly, SIGKILL.
    Firm,
    /// SIGKILL at once.
    Immediate,
}

/// The process group of a server. Dropping it kills the remaining processes.
pub(crate) struct ProcessGroup {
    pid: Pid,
    mark: String,
    /// Identifies the first process even after its pid was reused.
    leader: Option<Process>,
    is_over: AtomicBool,
}

impl ProcessGroup {
    pub(crate) fn new(pid: Pid, mark: String) -> Self {
        subreaper::register_server(pid);
        Self {
            pid,
            mark,
            leader: Process::open(pid.as_raw_nonzero().get()),
            is_over: AtomicBool::new(false),
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// Returns the mark of its processes.
    pub(crate) fn mark(&self) -> &str {
        &self.mark
    }

    pub(crate) fn signal(&self, signal: Signal) {
        // Until the leader is reaped, the group id belongs to it.
        let is_ours = self.leader.as_ref().is_none_or(Process::is_unreaped);
        if is_ours && !self.is_over.load(Ordering::Acquire) {
            let _ = kill_process_group(self.pid, signal);
        }
    }

    fn ended(&self) -> EndedServer {
        EndedServer {
            group: self.pid.as_raw_nonzero().get(),
            mark: self.mark.clone(),
        }
    }

    /// Kills the rest of the group and the processes that left it. The leader has been reaped: in a program that adopts
    /// orphans, all members of the group are now our children and are killed one by one. Otherwise the group is killed
    /// by its id, which stays reserved as long as it has a member; without members, the id would have to be assigned to
    /// a new group at this very moment, after all other ids.
    async fn finish(&self) {
        if !subreaper::is_adopting() && !self.is_over.load(Ordering::Acquire) {
            let _ = kill_process_group(self.pid, Signal::KILL);
        }
        self.is_over.store(true, Ordering::Release);
        subreaper::unregister(self.pid);
        if !subreaper::is_nothing_left() {
            sweep(self.ended()).await;
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        // The runtime may be shutting down, so processes that left the group are killed synchronously.
        if !self.is_over.load(Ordering::Acquire) {
            self.signal(Signal::KILL);
            subreaper::unregister(self.pid);
            end_all(&[&self.ended()]);
        }
    }
}

/// Stops a server and everything it started. Returns its exit status, if the system reported it in time.
pub(crate) async fn stop(
    child: &mut Child,
    group: &ProcessGroup,
    mode: StopMode,
    close_input: impl FnOnce(),
) -> Option<ExitStatus> {
    close_input();
    let status = escalate(child, group, mode).await;
    group.finish().await;
    status
}

/// Kills what a server left behind that ended on its own.
pub(crate) async fn kill_leftovers(group: &ProcessGroup) {
    group.finish().await;
}

async fn escalate(child: &mut Child, group: &ProcessGroup, mode: StopMode) -> Option<ExitStatus> {
    if mode == StopMode::Gentle
        && let Ok(status) = timeout(AFTER_CLOSE, child.wait()).await
    {
        return status.ok();
    }
    if mode < StopMode::Immediate {
        group.signal(Signal::TERM);
        let grace = if mode == StopMode::Gentle {
            AFTER_TERM
        } else {
            AFTER_TERM_WHEN_FIRM
        };
        if let Ok(status) = timeout(grace, child.wait()).await {
            return status.ok();
        }
    }
    group.signal(Signal::KILL);
    timeout(AFTER_KILL, child.wait()).await.ok()?.ok()
}
