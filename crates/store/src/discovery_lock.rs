//! The discovery lock: one discovery per server, across the tasks of this process and all processes of this machine.

use std::collections::HashMap;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use pegboard_model::{Reason, ServerName, ToolError};
use tokio::sync::{Mutex as Turn, OwnedMutexGuard, oneshot};

use crate::{StoreResult, errors, private_files};

/// The exclusive right to discover a server. It ends when this is dropped or the process dies.
#[derive(Debug)]
pub struct DiscoveryLock {
    // Dropped first, so that the next task of this process finds the file unlocked.
    _file: Option<HeldFile>,
    _turn: OwnedMutexGuard<()>,
    has_waited: bool,
}

impl DiscoveryLock {
    /// Whether another holder had the lock in between, which may have discovered the server.
    pub fn has_waited(&self) -> bool {
        self.has_waited
    }
}

/// A locked file. Unlocks explicitly, because a child process forked at that moment holds the same lock until its
/// `exec`.
#[derive(Debug)]
struct HeldFile(File);

impl Drop for HeldFile {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

/// The discovery locks by server.
///
/// Tasks of one process queue in memory; only the head of the queue waits for other processes. So at most one thread
/// per server waits, however often callers give up and come back.
#[derive(Debug, Default)]
pub(crate) struct DiscoveryLocks {
    turns: Mutex<HashMap<String, Arc<Turn<()>>>>,
    folder: Option<PathBuf>,
}

impl DiscoveryLocks {
    /// Creates locks that also exclude other processes, by file locks in a folder.
    pub(crate) fn across_processes(folder: PathBuf) -> Self {
        Self {
            folder: Some(folder),
            ..Self::default()
        }
    }

    pub(crate) async fn take(&self, server: &ServerName) -> StoreResult<DiscoveryLock> {
        self.take_named(server.as_str()).await
    }

    /// Takes the lock of anything else with a name, which must be valid as a file name.
    pub(crate) async fn take_named(&self, name: &str) -> StoreResult<DiscoveryLock> {
        let turn = self.turn(name);
        let (turn, has_waited) = match turn.clone().try_lock_owned() {
            Ok(turn) => (turn, false),
            Err(_) => (turn.lock_owned().await, true),
        };
        let Some(folder) = &self.folder else {
            return Ok(DiscoveryLock {
                _file: None,
                _turn: turn,
                has_waited,
            });
        };
        let path = folder.join(format!("{name}.lock"));
        let file =
            private_files::lock_file(&path).map_err(|e| errors::io("open the lock", &path, &e))?;
        match file.try_lock() {
            Ok(()) => Ok(DiscoveryLock {
                _file: Some(HeldFile(file)),
                _turn: turn,
                has_waited,
            }),
            Err(TryLockError::WouldBlock) => wait_in_thread(file, turn, &path).await,
            Err(TryLockError::Error(e)) => Err(errors::io("take the lock", &path, &e)),
        }
    }

    fn turn(&self, name: &str) -> Arc<Turn<()>> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        turns.entry(name.to_owned()).or_default().clone()
    }
}

/// Waits in a separate thread instead of the runtime's pool, which would delay the program's exit for as long as
/// another process holds the lock. If the caller gives up, the lock is released as soon as it is acquired.
async fn wait_in_thread(
    file: File,
    turn: OwnedMutexGuard<()>,
    path: &Path,
) -> StoreResult<DiscoveryLock> {
    let (sender, receiver) = oneshot::channel();
    let waiting = move || {
        let outcome = file.lock().map(|()| DiscoveryLock {
            _file: Some(HeldFile(file)),
            _turn: turn,
            has_waited: true,
        });
        let _ = sender.send(outcome);
    };
    std::thread::Builder::new()
        .name("pegboard-lead".to_owned())
        .spawn(waiting)
        .map_err(|e| errors::io("wait for the lock", path, &e))?;
    match receiver.await {
        Ok(outcome) => outcome.map_err(|e| errors::io("take the lock", path, &e)),
        Err(_) => Err(ToolError::new(
            Reason::Internal,
            "the thread waiting for a lock ended early",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn name(text: &str) -> ServerName {
        ServerName::parse(text).unwrap()
    }

    #[tokio::test]
    async fn r_disc_11_one_leader_at_a_time_and_servers_do_not_hinder_each_other() {
        let folder = tempfile::tempdir().unwrap();
        // Two `DiscoveryLocks` with the same folder see each other only through the files, like two processes.
        let sides: Vec<Arc<DiscoveryLocks>> = (0..2)
            .map(|_| Arc::new(DiscoveryLocks::across_processes(folder.path().to_owned())))
            .collect();
        let inside = Arc::new(AtomicUsize::new(0));
        let held = sides[0].take(&name("other")).await.unwrap();
        let tasks: Vec<_> = (0..40)
            .map(|n| {
                let (leads, inside) = (sides[n % 2].clone(), inside.clone());
                tokio::spawn(async move {
                    let _lead = leads.take(&name("github")).await.unwrap();
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two leaders");
                    tokio::task::yield_now().await;
                    inside.fetch_sub(1, Ordering::SeqCst);
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        drop(held);
    }

    #[tokio::test]
    async fn r_disc_11_giving_up_the_wait_leaves_no_lock_behind() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (
            DiscoveryLocks::across_processes(folder.path().to_owned()),
            DiscoveryLocks::across_processes(folder.path().to_owned()),
        );
        let held = a.take(&name("github")).await.unwrap();
        for _ in 0..10 {
            // One poll starts the wait, and the drop cancels it.
            let server = name("github");
            let mut waiting = Box::pin(b.take(&server));
            let polled = std::future::poll_fn(|context| {
                std::task::Poll::Ready(waiting.as_mut().poll(context).is_pending())
            });
            assert!(polled.await, "the lock is held");
        }
        drop(held);
        drop(b.take(&name("github")).await.unwrap());
        drop(a.take(&name("github")).await.unwrap());
        assert!(b.turns.lock().unwrap().len() <= 1);
    }
}
