//! Logins to remote servers: one sealed file each.
//!
//! What may be shown (issuer, scopes, expiry) is readable, so that listing servers needs no key. The tokens are sealed
//! with a key that is stored elsewhere: in the system keychain if there is one, else in a file of its own.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pegboard_model::{HashKey, Reason, Secret, ServerName, ToolError};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::discovery_lock::DiscoveryLocks;
use crate::folder_watch::FolderWatch;
use crate::{DiscoveryLock, StateDir, StoreResult, errors, private_files};

/// The largest file that is read.
const MAX_BYTES: u64 = 1024 * 1024;
/// The most logins of one server: of its former definitions, the least recently written are removed.
const MAX_PER_SERVER: usize = 8;
const SUFFIX: &str = ".login";

/// Holds a key outside the state folder.
pub trait KeyHolder: Send + Sync {
    /// Returns the key; `None` if there is none or the keychain cannot be opened.
    fn load(&self) -> Option<[u8; 32]>;

    /// Stores a key. Returns whether it was accepted.
    fn store(&self, key: &[u8; 32]) -> bool;
}

/// Where the key of a login is.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum KeyPlace {
    File,
    Keychain,
}

#[derive(Serialize, Deserialize)]
struct LoginFile {
    info: String,
    key: KeyPlace,
    /// Nonce and ciphertext in base64.
    sealed: String,
}

/// The logins of a state folder.
pub struct LoginFiles {
    state: StateDir,
    keychain: Option<Arc<dyn KeyHolder>>,
    keychain_key: OnceLock<HashKey>,
    locks: DiscoveryLocks,
    changes: Arc<watch::Sender<u64>>,
    watching: Mutex<Option<FolderWatch>>,
}

impl LoginFiles {
    /// Opens the logins of a state folder. Reads and creates nothing yet.
    pub fn open(state: &StateDir, keychain: Option<Arc<dyn KeyHolder>>) -> Self {
        Self {
            locks: DiscoveryLocks::across_processes(state.locks()),
            state: state.clone(),
            keychain,
            keychain_key: OnceLock::new(),
            changes: Arc::new(watch::Sender::new(0)),
            watching: Mutex::default(),
        }
    }

    fn path(&self, server: &ServerName, binding: &str) -> PathBuf {
        self.state
            .logins()
            .join(format!("{server}-{binding}{SUFFIX}"))
    }

    /// A number that changes whenever the login is written; `None` if there is none.
    pub fn version(&self, server: &ServerName, binding: &str) -> Option<u64> {
        version(&self.path(server, binding))
    }

    /// Reads what may be shown, without a key.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn read_info(&self, server: &ServerName, binding: &str) -> StoreResult<Option<String>> {
        Ok(self
            .read_file(&self.path(server, binding))?
            .map(|file| file.info))
    }

    /// Reads what may be shown, and the secret part.
    ///
    /// # Errors
    /// Fails if the file or its key cannot be read, or if it was changed by another program.
    pub fn read(
        &self,
        server: &ServerName,
        binding: &str,
    ) -> StoreResult<Option<(String, Secret)>> {
        let path = self.path(server, binding);
        let Some(file) = self.read_file(&path)? else {
            return Ok(None);
        };
        let key = self
            .key_at(file.key)?
            .ok_or_else(|| no_key(server, file.key))?;
        let secret = open_sealed(&key, &path, &file).ok_or_else(|| {
            let shown = errors::display_path(&path);
            ToolError::new(
                Reason::CacheUntrusted,
                format!(
                    "the login {shown} cannot be opened: it was changed, or its key was replaced"
                ),
            )
            .at_server(server)
            .with_remedy(format!("Log in again with `pegboard login {server}`."))
        })?;
        Ok(Some((file.info, secret)))
    }

    /// Writes a login durably: it is on disk when this returns.
    ///
    /// # Errors
    /// Fails if the folder cannot be written.
    pub fn write(
        &self,
        server: &ServerName,
        binding: &str,
        info: &str,
        secret: &Secret,
    ) -> StoreResult<()> {
        let folder = self.state.logins();
        let path = self.path(server, binding);
        let fault = |error: std::io::Error| errors::io("write the login", &path, &error);
        private_files::ensure_folder(&folder).map_err(fault)?;
        let (place, key) = self.key_to_write()?;
        let sealed = seal(&key, &path, info, secret)
            .ok_or_else(|| fault(std::io::Error::other("it cannot be sealed")))?;
        let file = LoginFile {
            info: info.to_owned(),
            key: place,
            sealed,
        };
        let bytes = serde_json::to_vec(&file).map_err(|error| fault(error.into()))?;
        let mut file = tempfile::NamedTempFile::new_in(&folder).map_err(fault)?;
        file.write_all(&bytes).map_err(fault)?;
        file.as_file().sync_all().map_err(fault)?;
        file.persist(&path).map_err(|error| fault(error.error))?;
        private_files::sync_folder(&folder).map_err(fault)?;
        self.prune(server, &path);
        self.notify();
        Ok(())
    }

    /// Removes a login. Returns whether there was one.
    ///
    /// # Errors
    /// Fails if it cannot be removed.
    pub fn remove(&self, server: &ServerName, binding: &str) -> StoreResult<bool> {
        let path = self.path(server, binding);
        let removed = match std::fs::remove_file(&path) {
            Ok(()) => true,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
            Err(error) => return Err(errors::io("remove the login", &path, &error)),
        };
        if removed {
            let _ = private_files::sync_folder(&self.state.logins());
            self.notify();
        }
        Ok(removed)
    }

    /// Waits until this caller alone may change the logins of a server, among all processes.
    ///
    /// # Errors
    /// Fails if the lock cannot be used.
    pub async fn lock(&self, server: &ServerName) -> StoreResult<DiscoveryLock> {
        self.locks.take_named(&format!("login-{server}")).await
    }

    /// Subscribes to logins that any process writes or removes.
    pub fn changes(&self) -> watch::Receiver<u64> {
        let subscription = self.changes.subscribe();
        let mut watching = self.watching.lock().unwrap_or_else(PoisonError::into_inner);
        watching.get_or_insert_with(|| FolderWatch::start(&self.state.logins(), &self.changes));
        subscription
    }

    fn notify(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    fn read_file(&self, path: &Path) -> StoreResult<Option<LoginFile>> {
        let fault = |error: std::io::Error| errors::io("read the login", path, &error);
        let bytes = private_files::read_own_file(path, MAX_BYTES).map_err(fault)?;
        // A damaged file counts as absent: a new login replaces it.
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    /// Returns the key of a place.
    fn key_at(&self, place: KeyPlace) -> StoreResult<Option<HashKey>> {
        match place {
            KeyPlace::File => self.state.login_key(false),
            KeyPlace::Keychain => Ok(self.key_in_keychain()),
        }
    }

    fn key_in_keychain(&self) -> Option<HashKey> {
        if let Some(key) = self.keychain_key.get() {
            return Some(key.clone());
        }
        let key = HashKey(self.keychain.as_ref()?.load()?);
        Some(self.keychain_key.get_or_init(|| key).clone())
    }

    /// Returns the key for new logins. A key file that exists is used by all processes; a keychain is preferred
    /// otherwise.
    fn key_to_write(&self) -> StoreResult<(KeyPlace, HashKey)> {
        if let Some(key) = self.state.login_key(false)? {
            return Ok((KeyPlace::File, key));
        }
        if let Some(key) = self.key_in_keychain() {
            return Ok((KeyPlace::Keychain, key));
        }
        if let Some(keychain) = &self.keychain {
            let mut key = [0; 32];
            // Only a key that can be read back is used; another process may have stored one first.
            if getrandom::fill(&mut key).is_ok()
                && keychain.store(&key)
                && let Some(key) = self.key_in_keychain()
            {
                return Ok((KeyPlace::Keychain, key));
            }
        }
        let key = self.state.login_key(true)?;
        let key = key.ok_or_else(|| {
            ToolError::new(Reason::StoreIo, "the key for logins cannot be created")
        })?;
        Ok((KeyPlace::File, key))
    }

    /// Removes the least recently written logins of former definitions.
    fn prune(&self, server: &ServerName, newest: &Path) {
        let prefix = format!("{server}-");
        let Ok(entries) = std::fs::read_dir(self.state.logins()) else {
            return;
        };
        let mut others: Vec<_> = entries
            .flatten()
            .filter(|entry| {
                let name = entry.file_name();
                let name = name.to_string_lossy();
                name.starts_with(&prefix) && name.ends_with(SUFFIX) && entry.path() != newest
            })
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .collect();
        others.sort();
        let surplus = (others.len() + 1).saturating_sub(MAX_PER_SERVER);
        for (_, path) in others.into_iter().take(surplus) {
            let _ = std::fs::remove_file(path);
        }
    }
}

fn no_key(server: &ServerName, place: KeyPlace) -> ToolError {
    let what = match place {
        KeyPlace::File => "its key file `login.key` is missing",
        KeyPlace::Keychain => "its key is in the system keychain, which cannot be opened here",
    };
    ToolError::new(
        Reason::StoreIo,
        format!("the login of server `{server}` cannot be opened: {what}"),
    )
    .at_server(server)
    .with_remedy(format!(
        "Unlock the keychain, or log in again with `pegboard login {server}`."
    ))
}

/// The file's name and what may be shown are authenticated with the secret part.
fn additional(path: &Path, info: &str) -> Vec<u8> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    [name.as_bytes(), &[0], info.as_bytes()].concat()
}

fn aead(key: &HashKey) -> Option<LessSafeKey> {
    Some(LessSafeKey::new(
        UnboundKey::new(&AES_256_GCM, &key.0).ok()?,
    ))
}

fn seal(key: &HashKey, path: &Path, info: &str, secret: &Secret) -> Option<String> {
    let mut nonce = [0; NONCE_LEN];
    getrandom::fill(&mut nonce).ok()?;
    let mut text = secret.reveal().as_bytes().to_vec();
    let aad = Aad::from(additional(path, info));
    aead(key)?
        .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), aad, &mut text)
        .ok()?;
    Some(STANDARD.encode([nonce.as_slice(), &text].concat()))
}

fn open_sealed(key: &HashKey, path: &Path, file: &LoginFile) -> Option<Secret> {
    let bytes = STANDARD.decode(&file.sealed).ok()?;
    let (nonce, text) = bytes.split_at_checked(NONCE_LEN)?;
    let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
    let mut text = text.to_vec();
    let aad = Aad::from(additional(path, &file.info));
    let opened = aead(key)?.open_in_place(nonce, aad, &mut text).ok()?;
    Some(Secret::new(std::str::from_utf8(opened).ok()?))
}

fn version(path: &Path) -> Option<u64> {
    let about = std::fs::symlink_metadata(path).ok()?;
    let modified = about.modified().ok()?;
    let since = modified.duration_since(std::time::UNIX_EPOCH).ok()?;
    let time = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
    // A file that is written twice within one tick of the clock is still another file.
    #[cfg(unix)]
    let file = {
        use std::os::unix::fs::MetadataExt;
        about.ino()
    };
    #[cfg(not(unix))]
    let file = 0_u64;
    Some(time ^ file.rotate_left(40) ^ about.len().rotate_left(20))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> ServerName {
        ServerName::parse(text).unwrap()
    }

    fn files(folder: &Path) -> LoginFiles {
        LoginFiles::open(&StateDir::open(folder).unwrap(), None)
    }

    #[test]
    fn r_auth_04_a_login_is_sealed_private_and_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let logins = files(folder.path());
        let server = name("linear");
        assert_eq!(logins.read(&server, "ab").unwrap(), None);
        assert_eq!(logins.version(&server, "ab"), None);
        logins
            .write(
                &server,
                "ab",
                "{\"issuer\":\"x\"}",
                &Secret::new("canary-token"),
            )
            .unwrap();
        let first = logins.version(&server, "ab").unwrap();
        let (info, secret) = files(folder.path()).read(&server, "ab").unwrap().unwrap();
        assert_eq!(
            (info.as_str(), secret.reveal()),
            ("{\"issuer\":\"x\"}", "canary-token")
        );
        assert_eq!(
            logins.read(&server, "cd").unwrap(),
            None,
            "another definition"
        );
        logins
            .write(&server, "ab", "{}", &Secret::new("canary-2"))
            .unwrap();
        assert_ne!(logins.version(&server, "ab"), Some(first));
        for entry in std::fs::read_dir(folder.path().join("logins")).unwrap() {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(!text.contains("canary"), "{text}");
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt;
                let mode = std::fs::metadata(&path).unwrap().permissions().mode();
                assert_eq!(mode & 0o777, 0o600);
            }
        }
        assert!(logins.remove(&server, "ab").unwrap());
        assert!(!logins.remove(&server, "ab").unwrap());
    }

    #[test]
    fn r_auth_04_a_login_that_was_changed_or_moved_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let logins = files(folder.path());
        let server = name("linear");
        logins
            .write(&server, "ab", "{\"issuer\":\"good\"}", &Secret::new("t"))
            .unwrap();
        let path = logins.path(&server, "ab");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace("good", "evil")).unwrap();
        assert_eq!(
            logins.read(&server, "ab").unwrap_err().reason,
            Reason::CacheUntrusted
        );
        std::fs::write(logins.path(&name("other"), "ab"), text).unwrap();
        assert!(logins.read(&name("other"), "ab").is_err());
        std::fs::write(&path, "{").unwrap();
        assert_eq!(logins.read(&server, "ab").unwrap(), None, "damaged");
    }

    struct Keychain(Mutex<Option<[u8; 32]>>, bool);

    impl KeyHolder for Keychain {
        fn load(&self) -> Option<[u8; 32]> {
            *self.0.lock().unwrap()
        }

        fn store(&self, key: &[u8; 32]) -> bool {
            if self.1 {
                *self.0.lock().unwrap() = Some(*key);
            }
            self.1
        }
    }

    #[test]
    fn r_auth_04_the_key_is_in_the_keychain_if_it_accepts_it() {
        for (accepts, has_file) in [(true, false), (false, true)] {
            let folder = tempfile::tempdir().unwrap();
            let state = StateDir::open(folder.path()).unwrap();
            let keychain = Arc::new(Keychain(Mutex::default(), accepts));
            let logins = LoginFiles::open(&state, Some(keychain.clone()));
            logins
                .write(&name("a"), "1", "{}", &Secret::new("t"))
                .unwrap();
            assert_eq!(folder.path().join("login.key").exists(), has_file);
            let again = LoginFiles::open(&state, Some(keychain.clone()));
            assert_eq!(
                again.read(&name("a"), "1").unwrap().unwrap().1.reveal(),
                "t"
            );
            // Without the keychain the login cannot be opened, and the error says so.
            let without = LoginFiles::open(&state, None).read(&name("a"), "1");
            assert_eq!(without.is_err(), accepts);
        }
    }

    #[test]
    fn former_definitions_do_not_pile_up() {
        let folder = tempfile::tempdir().unwrap();
        let logins = files(folder.path());
        for n in 0..3 * MAX_PER_SERVER {
            logins
                .write(&name("a"), &format!("{n:02}"), "{}", &Secret::new("t"))
                .unwrap();
        }
        logins
            .write(&name("a_b"), "1", "{}", &Secret::new("t"))
            .unwrap();
        let kept = std::fs::read_dir(folder.path().join("logins"))
            .unwrap()
            .count();
        assert_eq!(kept, MAX_PER_SERVER + 1);
        assert!(
            logins
                .read(&name("a"), &format!("{:02}", 3 * MAX_PER_SERVER - 1))
                .unwrap()
                .is_some()
        );
    }

    #[tokio::test]
    async fn r_auth_03_another_process_is_notified_of_a_login() {
        let folder = tempfile::tempdir().unwrap();
        let (here, there) = (files(folder.path()), files(folder.path()));
        let mut changes = here.changes();
        changes.mark_unchanged();
        there
            .write(&name("a"), "1", "{}", &Secret::new("t"))
            .unwrap();
        let waiting = tokio::time::timeout(std::time::Duration::from_secs(20), changes.changed());
        waiting.await.unwrap().unwrap();
    }
}
