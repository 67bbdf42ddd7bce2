//! The lock and the socket of the process.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixListener as StdUnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pegboard_background::{LifeLock, PROTOCOLS, ProcessKind, ProcessRecord, socket_path};
use pegboard_config::Environment;
use tokio::net::UnixListener;

use super::activation::{inherited_listener, turn_away_waiting};
use super::{build, runtime_dir};

/// Makes this process the one that clients find, from [`Announcement::take`] until it is released.
#[derive(Default)]
pub(super) struct Announcement {
    held: Mutex<Option<Held>>,
    /// Whether a service manager passed the socket.
    is_activated: AtomicBool,
}

struct Held {
    lock: LifeLock,
    socket: PathBuf,
    /// The device and the number of the socket's file.
    file: (u64, u64),
}

impl Announcement {
    /// Takes the lock, listens, and writes the lock file. Returns `None` if another process holds the lock.
    ///
    /// # Errors
    /// Fails if the lock file or the socket cannot be created.
    pub(super) fn take(
        &self,
        state: &Path,
        environment: &Environment,
        kind: ProcessKind,
        url: Option<String>,
    ) -> io::Result<Option<UnixListener>> {
        let passed = match kind {
            ProcessKind::Background => inherited_listener(environment)?,
            ProcessKind::Foreground => None,
        };
        let Some(mut lock) = LifeLock::try_take(state)? else {
            if let Some((listener, _)) = &passed {
                turn_away_waiting(listener);
            }
            return Ok(None);
        };
        let is_activated = passed.is_some();
        let (listener, path) = match passed {
            Some(passed) => passed,
            None => {
                let (path, _) = socket_path(state, runtime_dir(environment).as_deref())?;
                (bind(&path)?, path)
            }
        };
        listener.set_nonblocking(true)?;
        let listener = UnixListener::from_std(listener)?;
        self.is_activated.store(is_activated, Ordering::Release);
        let metadata = path.symlink_metadata()?;
        let pid = std::process::id();
        let started = i32::try_from(pid)
            .ok()
            .and_then(pegboard_upstream::start_time);
        lock.write(&ProcessRecord {
            pid,
            started: started.unwrap_or(0),
            protocols: PROTOCOLS.to_vec(),
            build: build(),
            socket: path.clone(),
            kind,
            url,
        })?;
        *self.held() = Some(Held {
            lock,
            socket: path,
            file: (metadata.dev(), metadata.ino()),
        });
        Ok(Some(listener))
    }

    /// Whether a service manager listened before this process started, and continues after its end.
    pub(super) fn is_activated(&self) -> bool {
        self.is_activated.load(Ordering::Acquire)
    }

    /// Whether clients can still find this process. The system deletes the folder of a login with its socket, and a
    /// user may delete the state folder.
    pub(super) fn is_intact(&self) -> bool {
        let held = self.held();
        held.as_ref().is_none_or(|held| {
            let file = held.socket.symlink_metadata();
            file.is_ok_and(|found| (found.dev(), found.ino()) == held.file)
        })
    }

    /// Lets another process become the one that clients find. New clients do not find this one any more.
    pub(super) fn release(&self) {
        if let Some(mut held) = self.held().take() {
            let _ = held.lock.clear();
            // Only the holder of the lock removes the socket, so it is removed first.
            if !self.is_activated() {
                let _ = std::fs::remove_file(held.socket);
            }
            drop(held.lock);
        }
    }

    fn held(&self) -> MutexGuard<'_, Option<Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Announcement {
    fn drop(&mut self) {
        self.release();
    }
}

/// Listens under a temporary name and renames the socket, so that it replaces a stale one and is complete when it is
/// found.
fn bind(path: &Path) -> io::Result<StdUnixListener> {
    use std::os::unix::fs::PermissionsExt;
    let temporary = path.with_extension(format!("{}", std::process::id()));
    let _ = std::fs::remove_file(&temporary);
    let listener = StdUnixListener::bind(&temporary)?;
    std::fs::set_permissions(&temporary, std::fs::Permissions::from_mode(0o600))?;
    std::fs::rename(&temporary, path)?;
    Ok(listener)
}
