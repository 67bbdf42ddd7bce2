//! Ending and replacing the background process.
//!
//! The process is asked first. If it does not respond, it is ended by the pid and the start time in its lock file,
//! through a handle, so that no other process with the same pid is ever signalled.

use std::path::Path;
use std::time::{Duration, Instant};

use pegboard_background::{
    ProcessKind, ProcessRecord, Reply, Request, StartOutcome, find_process, is_process_running,
    lock_file_path, start_once,
};
use pegboard_config::Environment;
use pegboard_model::{Reason, ToolError, ToolResult};
use pegboard_upstream::{ProcessHandle, Signal};
use rustix::event::{Timespec, poll};
use serde::Serialize;

use super::ask;
use super::start::start_process;

/// How often the lock file is read while a process starts or ends.
const LOOK_INTERVAL: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 20_000_000,
};

/// How long each way of ending the process may take.
#[derive(Clone, Copy)]
struct StopTimeouts {
    /// For a process that just started: until its lock file is complete.
    start: Duration,
    /// Until it has ended after its reply. Open requests get a few seconds, and so do servers.
    end: Duration,
    /// Until it has ended after SIGTERM.
    terminate: Duration,
    /// Until it has ended after SIGKILL.
    kill: Duration,
}

const TIMEOUTS: StopTimeouts = StopTimeouts {
    start: Duration::from_secs(5),
    end: Duration::from_secs(20),
    terminate: Duration::from_secs(10),
    kill: Duration::from_secs(5),
};

/// A process that was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) pid: u32,
    pub(crate) by: EndedBy,
}

/// What made a process end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EndedBy {
    /// It was asked to.
    Request,
    /// It did not respond to the request, but to SIGTERM.
    Signal,
    /// It did not respond to SIGTERM either.
    Kill,
}

/// A process that took over from another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Replaced {
    pub(crate) former: u32,
    pub(crate) new: u32,
    /// Set if the former process did not respond and was ended. Its open requests were lost.
    pub(crate) ended: Option<Ended>,
}

/// Returns the running process of a state folder. Waits for one that is just starting.
///
/// # Errors
/// Fails with `NOT_RUNNING` if there is none.
pub(crate) fn find(state: &Path) -> ToolResult<ProcessRecord> {
    find_within(state, TIMEOUTS.start)
}

fn find_within(state: &Path, timeout: Duration) -> ToolResult<ProcessRecord> {
    let begun = Instant::now();
    loop {
        if let Some(record) = find_process(state) {
            return Ok(record);
        }
        if !is_process_running(state) {
            return Err(not_running());
        }
        if begun.elapsed() >= timeout {
            let message = "a process holds the lock file but does not say which one it is";
            return Err(unresponsive(message, state));
        }
        let _ = poll(&mut [], Some(&LOOK_INTERVAL));
    }
}

/// Ends the process of a state folder and waits until it has ended.
///
/// # Errors
/// Fails with `NOT_RUNNING` if none is running, and with `PROCESS_UNRESPONSIVE` if it cannot be ended.
pub(crate) fn stop(state: &Path) -> ToolResult<Ended> {
    stop_within(state, TIMEOUTS)
}

fn stop_within(state: &Path, timeouts: StopTimeouts) -> ToolResult<Ended> {
    let record = find_within(state, timeouts.start)?;
    let handle = ProcessHandle::open(record.pid, record.started);
    let is_asked = request(&record, state, &Request::Stop)?;
    let ended = |by: EndedBy| Ended {
        pid: record.pid,
        by,
    };
    // A process that is ending, for example because of another `stop`, has given up its lock file.
    let is_gone = || find_process(state).as_ref() != Some(&record);
    let Some(handle) = handle else {
        // The number belongs to another process, or to none: the lock file shows whether the process has ended.
        return match is_asked && wait_until(timeouts.end, is_gone) || is_gone() {
            true => Ok(ended(EndedBy::Request)),
            false => Err(unresponsive(&foreign_pid(&record), state)),
        };
    };
    if (is_asked || is_gone()) && handle.wait(timeouts.end) {
        return Ok(ended(EndedBy::Request));
    }
    end_by_signal(&handle, &record, state, timeouts)
}

/// Ends a process that does not respond.
fn end_by_signal(
    handle: &ProcessHandle,
    record: &ProcessRecord,
    state: &Path,
    timeouts: StopTimeouts,
) -> ToolResult<Ended> {
    let pid = record.pid;
    handle.signal(Signal::TERM);
    // A frozen process handles the signal once it continues.
    handle.signal(Signal::CONT);
    if handle.wait(timeouts.terminate) {
        return Ok(Ended {
            pid,
            by: EndedBy::Signal,
        });
    }
    handle.signal(Signal::KILL);
    if handle.wait(timeouts.kill) {
        return Ok(Ended {
            pid,
            by: EndedBy::Kill,
        });
    }
    let message = format!("process {pid} did not end, not even after SIGKILL");
    Err(unresponsive(&message, state))
}

/// Starts another process, to which the clients of the running one move. A process that does not respond is ended.
///
/// # Errors
/// Fails with `NOT_RUNNING` if none is running, and with `PROCESS_UNRESPONSIVE` if it can be neither asked nor ended or
/// the new one cannot be started. A process in the foreground is left to its user.
pub(crate) fn replace(state: &Path, environment: &Environment) -> ToolResult<Replaced> {
    let former = find(state)?;
    if former.kind == ProcessKind::Foreground {
        return Err(in_the_foreground(&former));
    }
    let mut ended = None;
    let is_asked = request(&former, state, &Request::Retire)?;
    // A process that is ending in the meantime has given up its lock file.
    if !is_asked && find_process(state).as_ref() == Some(&former) {
        match ProcessHandle::open(former.pid, former.started) {
            Some(handle) => ended = Some(end_by_signal(&handle, &former, state, TIMEOUTS)?),
            None => return Err(unresponsive(&foreign_pid(&former), state)),
        }
    }
    // The process that a service manager starts identifies this one meanwhile.
    let started =
        crate::with_visible_memory(|| start_once(state, || start_process(state, environment)));
    if let StartOutcome::Unavailable(reason) = started {
        let message = format!(
            "process {} makes room, but no other process could be started: {reason}",
            former.pid
        );
        return Err(ToolError::new(Reason::ProcessUnresponsive, message).with_remedy(
            "Clients continue, each on its own or with a process that they start. See `logs/process.log` in the state folder (`pegboard config path`).",
        ));
    }
    let new = find(state)?.pid;
    Ok(Replaced {
        former: former.pid,
        new,
        ended,
    })
}

/// Sends a request that ends the process. Returns whether it replied that it will end.
///
/// # Errors
/// Fails if it refuses: it responds, so it must not be ended by a signal.
fn request(record: &ProcessRecord, state: &Path, request: &Request) -> ToolResult<bool> {
    match ask(state, request) {
        Ok(Some(Reply::Stopping)) => Ok(true),
        Ok(Some(Reply::Alone { reason })) => {
            let message = format!("process {} refuses: {reason}", record.pid);
            Err(ToolError::new(Reason::ProcessUnresponsive, message)
                .with_remedy("Run the command in a terminal of your own."))
        }
        _ => Ok(false),
    }
}

fn in_the_foreground(record: &ProcessRecord) -> ToolError {
    let place = record.url.as_deref().unwrap_or("no address");
    let message = format!(
        "process {} is a `pegboard up` or `pegboard serve` at {place}, which is not restarted",
        record.pid
    );
    ToolError::new(Reason::ConfigInvalid, message)
        .with_remedy("End it in its terminal or with `pegboard stop`, and start it again.")
}

fn wait_until(timeout: Duration, is_true: impl Fn() -> bool) -> bool {
    let begun = Instant::now();
    while !is_true() {
        if begun.elapsed() >= timeout {
            return false;
        }
        let _ = poll(&mut [], Some(&LOOK_INTERVAL));
    }
    true
}

fn foreign_pid(record: &ProcessRecord) -> String {
    let pid = record.pid;
    format!(
        "the process that holds the lock file does not respond, and its number, {pid}, belongs to another process now; nothing was ended"
    )
}

fn not_running() -> ToolError {
    ToolError::new(Reason::NotRunning, "no background process is running")
        .with_remedy("Nothing needs to be done: the next client that needs one starts it.")
}

fn unresponsive(message: &str, state: &Path) -> ToolError {
    let file = lock_file_path(state);
    ToolError::new(Reason::ProcessUnresponsive, message).with_remedy(format!(
        "Find the process with `fuser {}` and end it.",
        file.display()
    ))
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;
    use std::process::Child;

    use pegboard_background::LifeLock;

    const FAST: StopTimeouts = StopTimeouts {
        start: Duration::from_millis(50),
        end: Duration::from_secs(20),
        terminate: Duration::from_millis(200),
        kill: Duration::from_secs(20),
    };

    /// A process that ignores SIGTERM, and a lock file that names it.
    struct Scene {
        state: tempfile::TempDir,
        child: Child,
        _lock: LifeLock,
        _socket: UnixListener,
    }

    #[expect(clippy::disallowed_methods, reason = "a process to end")]
    fn scene(started: impl FnOnce(u64) -> u64) -> Scene {
        use std::io::Read;
        let state = tempfile::tempdir().unwrap();
        let mut child = std::process::Command::new("sh")
            .args(["-c", "trap '' TERM; echo ready; exec sleep 60"])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = [0; 6];
        let mut output = child.stdout.take().unwrap();
        output.read_exact(&mut line).unwrap();
        let pid = child.id();
        let own = pegboard_upstream::start_time(i32::try_from(pid).unwrap()).unwrap();
        let socket = state.path().join("socket");
        let listener = UnixListener::bind(&socket).unwrap();
        let mut lock = LifeLock::try_take(state.path()).unwrap().unwrap();
        let record = format!(
            r#"{{"pid":{pid},"started":{},"protocols":[1],"build":"","socket":{:?}}}"#,
            started(own),
            socket
        );
        let record: ProcessRecord = serde_json::from_str(&record).unwrap();
        lock.write(&record).unwrap();
        Scene {
            state,
            child,
            _lock: lock,
            _socket: listener,
        }
    }

    #[test]
    fn r_share_01_a_process_that_ignores_everything_else_is_killed() {
        let mut scene = scene(|own| own);
        let ended = stop_within(scene.state.path(), FAST).unwrap();
        assert_eq!(ended.pid, scene.child.id());
        assert_eq!(ended.by, EndedBy::Kill);
        assert!(!scene.child.wait().unwrap().success());
    }

    #[test]
    fn r_share_01_a_process_with_another_start_time_is_not_ended() {
        let mut scene = scene(|own| own + 1);
        let error = stop_within(scene.state.path(), FAST).unwrap_err();
        assert_eq!(error.reason, Reason::ProcessUnresponsive, "{error}");
        assert!(error.message.contains("nothing was ended"), "{error}");
        assert!(scene.child.try_wait().unwrap().is_none(), "it still runs");
        scene.child.kill().unwrap();
        scene.child.wait().unwrap();
    }

    #[test]
    fn r_share_01_a_stale_lock_file_ends_nothing() {
        let mut scene = scene(|own| own);
        // The lock of a process that is gone is free; its record names a process that is alive.
        let Scene { _lock: lock, .. } = &mut scene;
        let elsewhere = tempfile::tempdir().unwrap();
        *lock = LifeLock::try_take(elsewhere.path()).unwrap().unwrap();
        let error = stop_within(scene.state.path(), FAST).unwrap_err();
        assert_eq!(error.reason, Reason::NotRunning, "{error}");
        assert!(scene.child.try_wait().unwrap().is_none(), "it still runs");
        scene.child.kill().unwrap();
        scene.child.wait().unwrap();
    }
}
