//! Notifying other processes of inbox changes.
//!
//! A writer touches a small file, and waiting processes watch its folder. The database itself is not watched, because
//! every line of activity would wake all of them.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use crate::folder_watch::FolderWatch;
use crate::private_files;

const FILE: &str = "inbox";

pub(super) struct InboxNotifier {
    changes: Arc<watch::Sender<u64>>,
    folder: Option<PathBuf>,
    notifications: AtomicU64,
    listener: Mutex<Option<FolderWatch>>,
}

impl InboxNotifier {
    /// Creates a notifier within this process.
    pub(super) fn here() -> Self {
        Self {
            changes: Arc::new(watch::Sender::new(0)),
            folder: None,
            notifications: AtomicU64::new(0),
            listener: Mutex::default(),
        }
    }

    /// Creates a notifier for all processes that use the same folder.
    pub(super) fn across_processes(folder: PathBuf) -> Self {
        Self {
            folder: Some(folder),
            ..Self::here()
        }
    }

    /// Notifies all subscribers.
    pub(super) fn notify_all(&self) {
        self.changes.send_modify(|count| *count += 1);
        let Some(folder) = &self.folder else { return };
        let count = self.notifications.fetch_add(1, Ordering::Relaxed);
        let text = format!("{} {count}\n", std::process::id());
        // Without the file, other processes notice the change only when their own timeout ends.
        let written = private_files::ensure_folder(folder).and_then(|()| {
            let mut options = private_files::options();
            let options = options.write(true).create(true).truncate(true);
            let mut file = private_files::open_own_file(&folder.join(FILE), options)?;
            std::io::Write::write_all(&mut file, text.as_bytes())
        });
        if let Err(error) = written {
            tracing::debug!(target: "pegboard", %error, "cannot notify other processes of an inbox change");
        }
    }

    /// Subscribes to changes.
    pub(super) fn subscribe(&self) -> watch::Receiver<u64> {
        let subscription = self.changes.subscribe();
        if let Some(folder) = &self.folder {
            let mut listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner);
            listener.get_or_insert_with(|| FolderWatch::start(folder, &self.changes));
        }
        subscription
    }
}
