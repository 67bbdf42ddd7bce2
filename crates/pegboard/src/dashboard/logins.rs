//! Browser logins, stored in a file of the state directory so that they survive a restart. The file contains only
//! hashes, so reading it does not allow logging in.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use pegboard_config::write_file_atomically;
use pegboard_hub::SystemClock;
use pegboard_model::{Clock, Timestamp};
use pegboard_web::{LoginStore, StoredLogin};
use serde::{Deserialize, Serialize};

use super::{login_redirect, state_file};

const FILE: &str = "logins.json";
const LOCK_FILE: &str = "logins.lock";
/// The maximum size of the file, which may contain logins of several Pegboards.
const FILE_BYTES: u64 = 256 * 1024;

/// The logins of the Pegboard that listens on one port. Several can share a state directory.
pub(super) struct LoginFile {
    folder: PathBuf,
    port: u16,
}

#[derive(Default, Serialize, Deserialize)]
struct Content {
    logins: Vec<Entry>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Entry {
    port: u16,
    cookie_hash: String,
    page_key_hash: String,
    since: Timestamp,
    seen: Timestamp,
}

impl Entry {
    fn new(port: u16, login: &StoredLogin) -> Self {
        Self {
            port,
            cookie_hash: login.name.to_hex().to_string(),
            page_key_hash: login.page_key.to_hex().to_string(),
            since: login.since,
            seen: login.seen,
        }
    }

    fn login(&self) -> Option<StoredLogin> {
        Some(StoredLogin {
            name: blake3::Hash::from_hex(&self.cookie_hash).ok()?,
            page_key: blake3::Hash::from_hex(&self.page_key_hash).ok()?,
            since: self.since,
            seen: self.seen,
        })
    }
}

impl LoginFile {
    pub(super) fn new(folder: PathBuf, port: u16) -> Self {
        Self { folder, port }
    }

    /// Reads all logins of the file. An unreadable file has no logins: users log in again.
    fn read(&self) -> Vec<Entry> {
        let read = || {
            let text = state_file::read(&self.folder.join(FILE), FILE_BYTES).ok()?;
            serde_json::from_str::<Content>(&text).ok()
        };
        read().unwrap_or_default().logins
    }

    fn write(&self, logins: &[StoredLogin]) -> io::Result<()> {
        // Prevents another Pegboard with this directory from writing back a login that has ended.
        let mut options = OpenOptions::new();
        let options = options.write(true).create(true).truncate(false).mode(0o600);
        let lock = state_file::open(&self.folder.join(LOCK_FILE), options)?;
        lock.lock()?;
        let now = SystemClock.now();
        let mut entries = self.read();
        entries.retain(|entry| {
            let login = entry.login().filter(|login| !login.is_over(now));
            entry.port != self.port && login.is_some()
        });
        entries.extend(logins.iter().map(|login| Entry::new(self.port, login)));
        let path = self.folder.join(FILE);
        if entries.is_empty() {
            return match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        let text = serde_json::to_vec_pretty(&Content { logins: entries })?;
        write_file_atomically(&path, &text, 0o600)
    }
}

impl LoginStore for LoginFile {
    fn load(&self) -> Vec<StoredLogin> {
        let entries = self.read();
        let own = entries.iter().filter(|entry| entry.port == self.port);
        own.filter_map(Entry::login).collect()
    }

    fn save(&self, logins: &[StoredLogin]) {
        // A code was used, so the file with the one-time code is no longer needed.
        login_redirect::remove(&self.folder);
        if let Err(error) = self.write(logins) {
            tracing::warn!(target: "pegboard", %error, "cannot store browser logins");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn login(text: &str) -> StoredLogin {
        let now = SystemClock.now();
        StoredLogin {
            name: blake3::hash(text.as_bytes()),
            page_key: blake3::hash(format!("key of {text}").as_bytes()),
            since: now,
            seen: now,
        }
    }

    #[test]
    fn r_ui_02_logins_are_stored_for_their_owner_alone_and_per_port() {
        let state = tempfile::tempdir().unwrap();
        let file = |port| LoginFile::new(state.path().to_owned(), port);
        assert_eq!(file(1).load(), []);
        file(1).save(&[login("a")]);
        file(2).save(&[login("b")]);
        assert_eq!(file(1).load()[0].name, login("a").name);
        assert_eq!(file(2).load()[0].name, login("b").name);
        let path = state.path().join(FILE);
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        file(1).save(&[]);
        assert_eq!((file(1).load(), file(2).load().len()), (Vec::new(), 1));
        let mut old = login("c");
        old.seen = Timestamp(0);
        file(3).save(&[old]);
        file(2).save(&[]);
        assert!(file(3).load().is_empty(), "expired logins are removed");
        fs::write(&path, "not json").unwrap();
        assert_eq!(file(1).load(), []);
    }
}
