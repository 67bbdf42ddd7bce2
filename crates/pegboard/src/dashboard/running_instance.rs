//! The address of the Pegboard that runs with a state directory.
//!
//! The file with the address is locked while the program runs. The file of a killed program is therefore ignored, and
//! another program that got the same port is never sent a token.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use pegboard_model::{Reason, Timestamp, ToolError, ToolResult};

use super::state_file;

const FILE: &str = "running";
/// The maximum size of the file.
const FILE_BYTES: u64 = 256;

/// Announces the address of this process until it is dropped.
pub struct RunningInstance {
    path: PathBuf,
    _locked: File,
}

impl RunningInstance {
    /// Announces the address. Returns `None` if another Pegboard with the same state directory did so before, or if the
    /// file cannot be written; this process cannot be found then.
    pub fn announce(state: &Path, address: SocketAddr) -> Option<Self> {
        let path = state.join(FILE);
        let announce = || -> io::Result<File> {
            let mut file = open(&path, true)?;
            file.try_lock().map_err(io::Error::from)?;
            file.set_len(0)?;
            file.write_all(announcement(address).as_bytes())?;
            Ok(file)
        };
        let locked = announce().ok()?;
        Some(Self {
            path,
            _locked: locked,
        })
    }
}

impl Drop for RunningInstance {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// What a running Pegboard announced about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstanceInfo {
    /// The address that it listens on.
    pub address: SocketAddr,
    /// Its process id, if it announced one.
    pub pid: Option<u32>,
    /// When it started.
    pub since: Option<Timestamp>,
    /// Its version.
    pub version: Option<String>,
}

/// The text of the file: the address, and in further lines the process id, the start in milliseconds since 1970 and
/// the version.
fn announcement(address: SocketAddr) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let since = now.unwrap_or_default().as_millis();
    let (pid, version) = (std::process::id(), env!("CARGO_PKG_VERSION"));
    format!("{address}\n{pid}\n{since}\n{version}\n")
}

/// Returns the address of the Pegboard that runs with this state directory.
///
/// # Errors
/// Fails with `NOT_RUNNING` if there is none.
pub fn find_running_instance(state: &Path) -> ToolResult<SocketAddr> {
    running_instance_info(state).map(|info| info.address)
}

/// Returns what the Pegboard that runs with this state directory announced.
///
/// # Errors
/// Fails with `NOT_RUNNING` if there is none.
pub fn running_instance_info(state: &Path) -> ToolResult<InstanceInfo> {
    let not_running = || ToolError::new(Reason::NotRunning, Reason::NotRunning.title());
    let file = open(&state.join(FILE), false).map_err(|_| not_running())?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => {}
        _ => return Err(not_running()),
    }
    let mut text = String::new();
    let read = file.take(FILE_BYTES).read_to_string(&mut text);
    read.map_err(|_| not_running())?;
    parse(&text).ok_or_else(not_running)
}

fn parse(text: &str) -> Option<InstanceInfo> {
    let mut lines = text.lines();
    Some(InstanceInfo {
        address: lines.next()?.trim().parse().ok()?,
        pid: lines.next().and_then(|line| line.parse().ok()),
        since: lines
            .next()
            .and_then(|line| line.parse().ok())
            .map(Timestamp),
        version: lines.next().map(str::to_owned),
    })
}

fn open(path: &Path, to_write: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).mode(0o600);
    if to_write {
        options.write(true).create(true).truncate(false);
    }
    state_file::open(path, &mut options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_live_instance_is_found_and_the_first_one_wins() {
        let state = tempfile::tempdir().unwrap();
        let address = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
        let missing = find_running_instance(state.path()).unwrap_err();
        assert_eq!(missing.reason, Reason::NotRunning);
        let first = RunningInstance::announce(state.path(), address(7340)).unwrap();
        assert!(RunningInstance::announce(state.path(), address(7341)).is_none());
        assert_eq!(find_running_instance(state.path()).unwrap(), address(7340));
        let info = running_instance_info(state.path()).unwrap();
        assert_eq!(info.pid, Some(std::process::id()));
        assert_eq!(info.version.as_deref(), Some(env!("CARGO_PKG_VERSION")));
        assert!(info.since.is_some_and(|since| since.0 > 0));
        drop(first);
        assert!(!state.path().join(FILE).exists());
        // The file of a killed program.
        std::fs::write(state.path().join(FILE), "127.0.0.1:7340").unwrap();
        assert!(find_running_instance(state.path()).is_err());
        let next = RunningInstance::announce(state.path(), address(7342)).unwrap();
        assert_eq!(find_running_instance(state.path()).unwrap(), address(7342));
        drop(next);
    }
}
