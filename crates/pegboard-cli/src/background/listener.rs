//! The lock and the socket of the background process.

use std::io;
use std::os::unix::net::UnixListener as StdUnixListener;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use pegboard_background::{LifeLock, PROTOCOLS, ProcessRecord, socket_path};
use pegboard_config::Environment;
use tokio::net::UnixListener;

use super::{build, runtime_dir};

/// Makes this process the background process until it is released.
pub(super) struct Announcement {
    held: Mutex<Option<(LifeLock, PathBuf)>>,
}

impl Announcement {
    /// Takes the lock, listens, and writes the lock file. Returns `None` if another process is the background process.
    ///
    /// # Errors
    /// Fails if the lock file or the socket cannot be created.
    pub(super) fn take(
        state: &Path,
        environment: &Environment,
    ) -> io::Result<Option<(Self, UnixListener)>> {
        let Some(mut lock) = LifeLock::try_take(state)? else {
            return Ok(None);
        };
        let (path, _) = socket_path(state, runtime_dir(environment).as_deref())?;
        let listener = bind(&path)?;
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
        })?;
        let held = Mutex::new(Some((lock, path)));
        Ok(Some((Self { held }, listener)))
    }

    /// Lets another process become the background process. New clients do not find this one any more.
    pub(super) fn release(&self) {
        let held = self
            .held
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some((mut lock, path)) = held {
            let _ = lock.clear();
            // Only the holder of the lock removes the socket, so it is removed first.
            let _ = std::fs::remove_file(path);
            drop(lock);
        }
    }
}

impl Drop for Announcement {
    fn drop(&mut self) {
        self.release();
    }
}

/// Listens under a temporary name and renames the socket, so that it replaces a stale one and is complete when it is
/// found.
fn bind(path: &Path) -> io::Result<UnixListener> {
    use std::os::unix::fs::PermissionsExt;
    let temporary = path.with_extension(format!("{}", std::process::id()));
    let _ = std::fs::remove_file(&temporary);
    let listener = StdUnixListener::bind(&temporary)?;
    std::fs::set_permissions(&temporary, std::fs::Permissions::from_mode(0o600))?;
    std::fs::rename(&temporary, path)?;
    listener.set_nonblocking(true)?;
    UnixListener::from_std(listener)
}
