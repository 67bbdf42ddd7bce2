//! Starting the background process exactly once, however many bridges start at the same time.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};

use crate::lock_file::find_process;
use crate::peer::Peer;

/// How long another bridge may take to start the process.
const START_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a busy process may take to accept a connection. After that the client serves itself.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Time between two attempts to get the start lock. The holder releases it within milliseconds in the usual case.
const RETRY_INTERVAL: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 5_000_000,
};

/// The result of looking for the background process and starting it if there is none.
#[derive(Debug)]
pub enum StartOutcome {
    /// A connection to the process.
    Connected(UnixStream),
    /// There is no usable process; the reason is for the log.
    Unavailable(String),
}

/// Connects to the background process of a state folder. If none is reachable, starts one: `start` runs the program,
/// waits until it is ready, and returns the error's text otherwise. Bridges that start at the same time wait for the
/// first one.
pub fn start_once(state: &Path, start: impl FnOnce() -> Result<(), String>) -> StartOutcome {
    match connect(state) {
        Ok(Some(stream)) => return StartOutcome::Connected(stream),
        Ok(None) => {}
        Err(reason) => return StartOutcome::Unavailable(reason),
    }
    let lock = match take_start_lock(state) {
        Ok(lock) => lock,
        Err(reason) => return StartOutcome::Unavailable(reason),
    };
    // Another bridge may have started it in the meantime.
    let connected = match connect(state) {
        Ok(None) => start().and_then(|()| connect(state)),
        other => other,
    };
    drop(lock);
    match connected {
        Ok(Some(stream)) => StartOutcome::Connected(stream),
        Ok(None) => StartOutcome::Unavailable("the process ended right after its start".to_owned()),
        Err(reason) => StartOutcome::Unavailable(reason),
    }
}

/// Connects to the running process. Returns `None` if there is none.
///
/// # Errors
/// Fails with the reason, as text for the log, if a process exists but cannot be used.
pub fn connect(state: &Path) -> Result<Option<UnixStream>, String> {
    let Some(record) = find_process(state) else {
        return Ok(None);
    };
    let stream = match connect_within(&record.socket, CONNECT_TIMEOUT) {
        Ok(stream) => stream,
        // The process is just ending, or its socket was deleted; a new one replaces it if it has ended.
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => {
            let socket = record.socket.display();
            return Err(format!("cannot connect to `{socket}`: {error}"));
        }
    };
    let peer =
        Peer::of(&stream).map_err(|error| format!("cannot identify the process: {error}"))?;
    match peer.is_same_user() {
        true => Ok(Some(stream)),
        false => Err("another user listens on the socket".to_owned()),
    }
}

/// Connects to a socket. A process that is busy has a full queue of connections, which is no reason to replace it.
///
/// # Errors
/// Fails if no process listens, or the queue is still full after `timeout`.
pub fn connect_within(path: &Path, timeout: Duration) -> io::Result<UnixStream> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    let address = SocketAddrUnix::new(path)?;
    let begun = Instant::now();
    loop {
        match rustix::net::connect(&socket, &address) {
            Ok(()) => break,
            Err(Errno::AGAIN) if begun.elapsed() < timeout => {
                let _ = poll(&mut [], Some(&RETRY_INTERVAL));
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false)?;
    Ok(stream)
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused
    )
}

/// Waits for the lock under which the process is started.
fn take_start_lock(state: &Path) -> Result<File, String> {
    let path = state.join("process.start");
    let failed = |error: io::Error| format!("cannot lock `{}`: {error}", path.display());
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(i32::try_from(flags.bits()).unwrap_or(0))
        .open(&path)
        .map_err(failed)?;
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
            Err(TryLockError::WouldBlock) if begun.elapsed() >= START_TIMEOUT => {
                return Err("another client has been starting the process for too long".to_owned());
            }
            // `flock` has no timeout, so the lock is tried again after a pause.
            Err(TryLockError::WouldBlock) => {
                let _ = poll(&mut [], Some(&RETRY_INTERVAL));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock_file::{LifeLock, ProcessRecord};
    use std::os::unix::net::UnixListener;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Barrier, Mutex};

    fn announce(state: &Path) -> (LifeLock, UnixListener) {
        let socket = state.join("socket");
        let _ = std::fs::remove_file(&socket);
        let listener = UnixListener::bind(&socket).unwrap();
        let mut lock = LifeLock::try_take(state).unwrap().unwrap();
        let record = ProcessRecord {
            pid: 1,
            started: 1,
            protocols: vec![1],
            build: String::new(),
            socket,
            kind: crate::status::ProcessKind::Background,
            url: None,
        };
        lock.write(&record).unwrap();
        (lock, listener)
    }

    #[test]
    fn r_share_01_many_clients_at_once_start_one_process() {
        let state = tempfile::tempdir().unwrap();
        let starts = Arc::new(AtomicUsize::new(0));
        let running = Arc::new(Mutex::new(None));
        let barrier = Arc::new(Barrier::new(20));
        std::thread::scope(|scope| {
            for _ in 0..20 {
                scope.spawn(|| {
                    barrier.wait();
                    let outcome = start_once(state.path(), || {
                        starts.fetch_add(1, Ordering::SeqCst);
                        *running.lock().unwrap() = Some(announce(state.path()));
                        Ok(())
                    });
                    assert!(matches!(outcome, StartOutcome::Connected(_)), "{outcome:?}");
                });
            }
        });
        assert_eq!(starts.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn r_share_01_a_failed_start_and_a_stale_socket_are_reported() {
        let state = tempfile::tempdir().unwrap();
        let outcome = start_once(state.path(), || Err("its disk is full".to_owned()));
        let StartOutcome::Unavailable(why) = outcome else {
            panic!("{outcome:?}");
        };
        assert_eq!(why, "its disk is full");
        // The socket of a process that is gone: the record is ignored because its lock is free.
        drop(announce(state.path()));
        let outcome = start_once(state.path(), || Ok(()));
        assert!(
            matches!(outcome, StartOutcome::Unavailable(_)),
            "{outcome:?}"
        );
        let held = announce(state.path());
        let outcome = start_once(state.path(), || unreachable!());
        assert!(matches!(outcome, StartOutcome::Connected(_)), "{outcome:?}");
        drop(held);
    }
}
