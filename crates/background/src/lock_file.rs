//! The lock file of the background process.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::peer::Confinement;
use crate::status::ProcessKind;

/// Maximum size of a lock file. A larger one is not ours.
const RECORD_BYTES: u64 = 16 * 1024;

/// What the background process writes into its lock file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessRecord {
    /// The process.
    pub pid: u32,
    /// Its start time in clock ticks since the boot, which distinguishes it from a later process with the same pid.
    pub started: u64,
    /// The protocol numbers that it accepts.
    pub protocols: Vec<u32>,
    /// The version and commit of the program.
    pub build: String,
    /// Where it listens.
    pub socket: PathBuf,
    /// How it was started.
    #[serde(default)]
    pub kind: ProcessKind,
    /// The address of its HTTP endpoint, if it has one.
    #[serde(default)]
    pub url: Option<String>,
}

/// The lock that a process holds for as long as it is the background process.
#[derive(Debug)]
pub struct LifeLock {
    file: File,
}

/// Returns the path of the lock file in a state folder. It contains the id of the boot, because a home folder may be
/// shared by several machines, and sockets are not. It contains the name of the sandbox too: a client in a sandbox has
/// a process of its own in the same sandbox, and neither uses nor blocks the one outside.
pub fn lock_file_path(state: &Path) -> PathBuf {
    let sandbox = Confinement::own().unwrap_or_default().name();
    state.join(format!("process-{}-{sandbox}", boot_id()))
}

impl LifeLock {
    /// Takes the lock without waiting. Returns `None` if another process holds it.
    ///
    /// # Errors
    /// Fails if the file cannot be opened, or belongs to another user.
    pub fn try_take(state: &Path) -> io::Result<Option<Self>> {
        let file = open(&lock_file_path(state), true)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Writes the record that bridges read.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn write(&mut self, record: &ProcessRecord) -> io::Result<()> {
        let text = serde_json::to_vec(record)?;
        self.clear()?;
        self.file.write_all(&text)?;
        self.file.flush()
    }

    /// Removes the record, so that no bridge tries to reach this process. The lock is still held.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn clear(&mut self) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(0))?;
        self.file.set_len(0)
    }
}

/// Returns the record of the running background process, or `None` if none is running or it is just starting.
pub fn find_process(state: &Path) -> Option<ProcessRecord> {
    let file = open(&lock_file_path(state), false).ok()?;
    if !is_locked(&file) {
        return None;
    }
    let mut text = String::new();
    file.take(RECORD_BYTES).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// Whether a background process holds the lock, even if it is not ready yet.
pub fn is_process_running(state: &Path) -> bool {
    open(&lock_file_path(state), false).is_ok_and(|file| is_locked(&file))
}

fn is_locked(file: &File) -> bool {
    // A shared lock that succeeds is released again when the file is closed.
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

/// Opens the file without following a link and without waiting for a named pipe. Refuses a file of another user.
fn open(path: &Path, create: bool) -> io::Result<File> {
    use rustix::fs::OFlags;
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = OpenOptions::new()
        .read(true)
        .write(create)
        .create(create)
        .truncate(false)
        .mode(0o600)
        .custom_flags(i32::try_from(flags.bits()).unwrap_or(0))
        .open(path)?;
    let metadata = file.metadata()?;
    let is_own = metadata.uid() == rustix::process::geteuid().as_raw();
    if metadata.is_file() && is_own {
        return Ok(file);
    }
    let message = format!("`{}` is not a file of this user", path.display());
    Err(io::Error::new(io::ErrorKind::PermissionDenied, message))
}

/// Returns an id of the running system that changes with every boot.
fn boot_id() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    let id = match &text {
        Ok(text) => text.trim().to_owned(),
        // Other systems: the name of the machine at least distinguishes machines.
        Err(_) => rustix::system::uname()
            .nodename()
            .to_string_lossy()
            .into_owned(),
    };
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' {
            c
        } else {
            '_'
        }
    };
    id.chars().map(plain).take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> ProcessRecord {
        ProcessRecord {
            pid: 7,
            started: 8,
            protocols: vec![1],
            build: "test".to_owned(),
            socket: "/run/x".into(),
            kind: ProcessKind::Foreground,
            url: Some("http://127.0.0.1:1/".to_owned()),
        }
    }

    #[test]
    fn r_share_01_one_process_holds_the_lock_and_its_record_is_found_while_it_does() {
        let state = tempfile::tempdir().unwrap();
        assert_eq!(find_process(state.path()), None);
        let mut held = LifeLock::try_take(state.path()).unwrap().unwrap();
        assert!(LifeLock::try_take(state.path()).unwrap().is_none());
        assert!(is_process_running(state.path()));
        assert_eq!(find_process(state.path()), None, "it has not started yet");
        held.write(&record()).unwrap();
        assert_eq!(find_process(state.path()), Some(record()));
        held.clear().unwrap();
        assert_eq!(find_process(state.path()), None, "it is stopping");
        held.write(&record()).unwrap();
        drop(held);
        assert_eq!(
            find_process(state.path()),
            None,
            "a record without a lock is stale"
        );
        assert!(!is_process_running(state.path()));
    }

    #[test]
    fn r_share_01_links_and_named_pipes_are_refused() {
        let state = tempfile::tempdir().unwrap();
        let path = lock_file_path(state.path());
        std::os::unix::fs::symlink(state.path().join("elsewhere"), &path).unwrap();
        assert!(LifeLock::try_take(state.path()).is_err());
        assert_eq!(find_process(state.path()), None);
        std::fs::remove_file(&path).unwrap();
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, mode).unwrap();
        assert!(LifeLock::try_take(state.path()).is_err());
        assert_eq!(find_process(state.path()), None);
    }
}
