//! The viewers of the approval inbox.
//!
//! A viewer holds a shared lock on a file. The system releases it when the process dies, so that a dead viewer does
//! not count.

use std::fs::{File, TryLockError};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::{StoreResult, errors, private_files};

/// How often the check is repeated, because it may collide with the check of another process.
const LOCK_ATTEMPTS: usize = 4;

/// A viewer of the inbox. It counts until it is dropped.
#[derive(Debug)]
pub struct InboxViewer {
    count: Arc<AtomicUsize>,
    _held: Option<File>,
}

impl Drop for InboxViewer {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The viewers in this process and, through the lock file, in others.
#[derive(Debug, Default)]
pub(super) struct InboxViewers {
    here: Arc<AtomicUsize>,
    file: Option<PathBuf>,
}

impl InboxViewers {
    pub(super) fn across_processes(file: PathBuf) -> Self {
        Self {
            file: Some(file),
            ..Self::default()
        }
    }

    pub(super) fn register_viewer(&self) -> StoreResult<InboxViewer> {
        let held = match &self.file {
            None => None,
            Some(path) => {
                let fault = |error: std::io::Error| errors::io("lock", path, &error);
                let file = private_files::lock_file(path).map_err(fault)?;
                file.lock_shared().map_err(fault)?;
                Some(file)
            }
        };
        self.here.fetch_add(1, Ordering::SeqCst);
        Ok(InboxViewer {
            count: self.here.clone(),
            _held: held,
        })
    }

    pub(super) fn has_viewers(&self) -> bool {
        if self.here.load(Ordering::SeqCst) > 0 {
            return true;
        }
        let Some(path) = &self.file else {
            return false;
        };
        // Without a lock file there was never a viewer.
        let Ok(file) = private_files::open_own_file(path, File::options().read(true)) else {
            return false;
        };
        for _ in 0..LOCK_ATTEMPTS {
            match file.try_lock() {
                Ok(()) => {
                    let _ = file.unlock();
                    return false;
                }
                Err(TryLockError::WouldBlock) => std::thread::yield_now(),
                Err(TryLockError::Error(_)) => return false,
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_pol_02_somebody_looks_until_the_look_ends_also_in_another_process() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("inbox.lock");
        // Two instances with the same file see each other only through the lock, like two processes.
        let [one, other] = [(), ()].map(|()| InboxViewers::across_processes(path.clone()));
        assert!(!one.has_viewers() && !other.has_viewers());
        let (first, second) = (
            one.register_viewer().unwrap(),
            other.register_viewer().unwrap(),
        );
        drop(second);
        assert!(other.has_viewers(), "the first still looks");
        drop(first);
        assert!(!one.has_viewers() && !other.has_viewers());
    }
}
