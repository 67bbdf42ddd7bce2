//! Watches config files for changed content.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use notify::{RecursiveMode, Watcher as _};
use pegboard_model::Reason;

use crate::content_hashes::ContentHashes;
use crate::problem::Problem;

/// How long a folder must be quiet before the files are read: editors write in several steps.
const DEBOUNCE: Duration = Duration::from_millis(100);
/// Maximum delay if a folder is never quiet.
const MAX_DEBOUNCE: Duration = Duration::from_secs(1);

/// How long an emptied file may stay empty before that counts as a change: some programs empty or delete a file
/// before they write it.
const EMPTY_FILE_GRACE: Duration = Duration::from_secs(1);

/// Watches files for changes until it is dropped.
///
/// Folders are watched instead of files, because editors write a new file and rename it. A file that does not exist
/// is watched through its nearest existing parent folder.
#[derive(Debug)]
pub struct Watcher {
    signals: Sender<Signal>,
    thread: Option<JoinHandle<()>>,
}

enum Signal {
    Changed,
    Stop,
}

impl Watcher {
    /// Starts watching. `on_change` is called on the watcher's own thread after the content of a file has changed.
    /// `read` contains the hashes from when the files were last read, so that changes since then are reported too.
    ///
    /// # Errors
    /// Fails if the system's file notifications or the thread cannot be started.
    pub fn start(
        files: Vec<PathBuf>,
        read: &ContentHashes,
        on_change: impl Fn() + Send + Sync + 'static,
    ) -> Result<Self, Problem> {
        Self::start_with_grace(files, read, EMPTY_FILE_GRACE, on_change)
    }

    fn start_with_grace(
        files: Vec<PathBuf>,
        read: &ContentHashes,
        empty_grace: Duration,
        on_change: impl Fn() + Send + Sync + 'static,
    ) -> Result<Self, Problem> {
        let (signals, incoming) = channel();
        let events = signals.clone();
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let only_read = event.is_ok_and(|event| event.kind.is_access());
            if !only_read {
                // The receiver is gone only while the watcher is being dropped.
                let _ = events.send(Signal::Changed);
            }
        })
        .map_err(|error| cannot_watch(&error.to_string()))?;
        let mut folders = WatchedFolders {
            watcher,
            watched: BTreeSet::new(),
        };
        folders.follow(&files);
        let now = ContentHashes::of_files(&files);
        let seen = now.or_earlier(read);
        if now != seen {
            let _ = signals.send(Signal::Changed);
        }
        let thread = std::thread::Builder::new()
            .name("config-watch".to_owned())
            .spawn(move || {
                let watched = WatchLoop { files, empty_grace };
                watched.run(&incoming, folders, seen, on_change);
            })
            .map_err(|error| cannot_watch(&error.to_string()))?;
        Ok(Self {
            signals,
            thread: Some(thread),
        })
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.signals.send(Signal::Stop);
        if let Some(thread) = self.thread.take() {
            // `on_change` may drop the watcher; a thread cannot join itself.
            if thread.thread().id() != std::thread::current().id() {
                let _ = thread.join();
            }
        }
    }
}

fn cannot_watch(why: &str) -> Problem {
    Problem::error(
        Reason::ConfigIo,
        format!("config files cannot be watched for changes: {why}"),
    )
    .help("changes take effect after a restart; the system may limit the number of watches")
}

/// The state of the watcher's thread.
struct WatchLoop {
    files: Vec<PathBuf>,
    empty_grace: Duration,
}

impl WatchLoop {
    fn run(
        &self,
        incoming: &Receiver<Signal>,
        mut folders: WatchedFolders,
        mut seen: ContentHashes,
        on_change: impl Fn(),
    ) {
        while let Ok(Signal::Changed) = incoming.recv() {
            let Some(now) = self.stable_contents(incoming, &mut folders, &seen) else {
                return;
            };
            if now != seen {
                seen = now;
                on_change();
            }
        }
    }

    /// Returns the contents of the files once their folders are quiet, or `None` if the watcher was dropped.
    fn stable_contents(
        &self,
        incoming: &Receiver<Signal>,
        folders: &mut WatchedFolders,
        seen: &ContentHashes,
    ) -> Option<ContentHashes> {
        let first = Instant::now();
        loop {
            if !wait_until_quiet(incoming, first) {
                return None;
            }
            folders.follow(&self.files);
            let now = ContentHashes::of_files(&self.files);
            let left = self.empty_grace.saturating_sub(first.elapsed());
            if left.is_zero() || !seen.lost_text(&now) {
                return Some(now);
            }
            match incoming.recv_timeout(left) {
                Ok(Signal::Changed) | Err(RecvTimeoutError::Timeout) => {}
                Ok(Signal::Stop) | Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }
}

/// Waits until the folders are quiet or the maximum delay is over. Returns `false` if the watcher was dropped.
fn wait_until_quiet(incoming: &Receiver<Signal>, first: Instant) -> bool {
    loop {
        match incoming.recv_timeout(DEBOUNCE) {
            Ok(Signal::Changed) if first.elapsed() < MAX_DEBOUNCE => {}
            Ok(Signal::Changed) | Err(RecvTimeoutError::Timeout) => return true,
            Ok(Signal::Stop) | Err(RecvTimeoutError::Disconnected) => return false,
        }
    }
}

struct WatchedFolders {
    watcher: notify::RecommendedWatcher,
    watched: BTreeSet<PathBuf>,
}

impl WatchedFolders {
    /// Watches the folder of each file and of each link's target, or the nearest existing parent.
    fn follow(&mut self, files: &[PathBuf]) {
        let links = files.iter().filter_map(|file| file.canonicalize().ok());
        let all = files.iter().cloned().chain(links);
        let wanted: BTreeSet<PathBuf> = all
            .filter_map(|file| {
                file.ancestors()
                    .skip(1)
                    .find(|folder| folder.is_dir())
                    .map(Path::to_path_buf)
            })
            .collect();
        for gone in self.watched.difference(&wanted) {
            let _ = self.watcher.unwatch(gone);
        }
        // A folder that was deleted and created again needs a new watch, so all are requested every time. Requesting
        // a watch twice is harmless.
        self.watched = wanted;
        self.watched.retain(|folder| {
            self.watcher
                .watch(folder, RecursiveMode::NonRecursive)
                .is_ok()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::atomic::write_file_atomically;
    use std::sync::mpsc::channel;

    const TIMEOUT: Duration = Duration::from_secs(20);

    fn watch(files: Vec<PathBuf>) -> (Watcher, std::sync::mpsc::Receiver<()>) {
        let (sender, changes) = channel();
        let sender = std::sync::Mutex::new(sender);
        let watcher = Watcher::start(files, &ContentHashes::default(), move || {
            let _ = sender.lock().unwrap().send(());
        })
        .unwrap();
        (watcher, changes)
    }

    #[test]
    fn r_cfg_01_a_change_is_reported_when_the_file_is_renamed_into_place() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        std::fs::write(&file, "a = 1").unwrap();
        let (_watcher, changes) = watch(vec![file.clone()]);
        write_file_atomically(&file, b"a = 2", 0o600).unwrap();
        changes.recv_timeout(TIMEOUT).expect("a renamed file");
        std::fs::write(&file, "a = 3").unwrap();
        changes
            .recv_timeout(TIMEOUT)
            .expect("a file written in place");
        std::fs::remove_file(&file).unwrap();
        changes.recv_timeout(TIMEOUT).expect("a deleted file");
    }

    #[test]
    fn r_cfg_01_a_file_in_a_folder_that_appears_later_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("deep/er/config.toml");
        let (_watcher, changes) = watch(vec![file.clone()]);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "a = 1").unwrap();
        changes.recv_timeout(TIMEOUT).expect("a new file");
    }

    #[test]
    fn the_same_content_written_again_is_no_change() {
        let folder = tempfile::tempdir().unwrap();
        let (same, other) = (
            folder.path().join("same.toml"),
            folder.path().join("other.toml"),
        );
        std::fs::write(&same, "a = 1").unwrap();
        let (watcher, changes) = watch(vec![same.clone(), other.clone()]);
        std::fs::write(&same, "a = 1").unwrap();
        std::fs::write(folder.path().join("unwatched"), "x").unwrap();
        // This change is the first one that is reported.
        std::fs::write(&other, "b = 1").unwrap();
        changes.recv_timeout(TIMEOUT).expect("the other file");
        drop(watcher);
        assert!(changes.recv().is_err(), "reported twice");
    }

    #[test]
    fn r_cfg_01_a_change_between_reading_and_watching_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        std::fs::write(&file, "a = 1").unwrap();
        let mut read = ContentHashes::default();
        read.record(&file);
        std::fs::write(&file, "a = 2").unwrap();
        let (sender, changes) = channel();
        let sender = std::sync::Mutex::new(sender);
        let on_change = move || {
            let _ = sender.lock().unwrap().send(());
        };
        let _watcher = Watcher::start(vec![file], &read, on_change).unwrap();
        changes.recv_timeout(TIMEOUT).expect("an early change");
    }

    #[test]
    fn r_cfg_01_a_file_that_is_emptied_and_written_is_one_change() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        std::fs::write(&file, "a = 1").unwrap();
        let (sender, changes) = channel();
        let sender = std::sync::Mutex::new(sender);
        let path = file.clone();
        let on_change = move || {
            let text = std::fs::read_to_string(&path).unwrap();
            drop(sender.lock().unwrap().send(text));
        };
        let files = vec![file.clone()];
        // Longer than the test takes on any machine.
        let empty_grace = 10 * TIMEOUT;
        let _watcher =
            Watcher::start_with_grace(files, &ContentHashes::default(), empty_grace, on_change)
                .unwrap();
        std::fs::write(&file, "").unwrap();
        // An editor that takes longer than the debounce time.
        let reported = changes.recv_timeout(2 * DEBOUNCE);
        assert!(reported.is_err(), "reported while it is empty");
        std::fs::write(&file, "a = 2").unwrap();
        assert_eq!(changes.recv_timeout(TIMEOUT).unwrap(), "a = 2");
    }

    #[test]
    fn r_cfg_01_a_file_that_stays_empty_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        std::fs::write(&file, "a = 1").unwrap();
        let (_watcher, changes) = watch(vec![file.clone()]);
        std::fs::write(&file, " \n").unwrap();
        changes.recv_timeout(TIMEOUT).expect("an empty file");
    }
}
