//! Notifies of changes in a folder that several processes write.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use notify::{RecursiveMode, Watcher as _};
use tokio::sync::watch;

use crate::private_files;

/// Polling interval if the system cannot watch folders.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Watches a folder until it is dropped.
pub(crate) struct FolderWatch {
    /// `None` if the system cannot watch the folder; then subscribers are woken periodically.
    _watcher: Option<notify::RecommendedWatcher>,
}

impl FolderWatch {
    /// Starts watching; every change increases the number.
    pub(crate) fn start(folder: &Path, changes: &Arc<watch::Sender<u64>>) -> Self {
        let sender = changes.clone();
        let watching = private_files::ensure_folder(folder)
            .map_err(notify::Error::io)
            .and_then(|()| {
                let mut watcher =
                    notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
                        if !event.is_ok_and(|event| event.kind.is_access()) {
                            sender.send_modify(|count| *count += 1);
                        }
                    })?;
                watcher.watch(folder, RecursiveMode::NonRecursive)?;
                Ok(watcher)
            });
        let watcher = watching.ok();
        if watcher.is_none() {
            poll(changes);
        }
        Self { _watcher: watcher }
    }
}

/// Wakes the subscribers periodically, as long as the sender exists.
fn poll(changes: &Arc<watch::Sender<u64>>) {
    let Ok(runtime) = tokio::runtime::Handle::try_current() else {
        return;
    };
    let changes = Arc::downgrade(changes);
    runtime.spawn(async move {
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            match changes.upgrade() {
                Some(changes) => changes.send_modify(|count| *count += 1),
                None => return,
            }
        }
    });
}
