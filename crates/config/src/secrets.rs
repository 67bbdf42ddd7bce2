//! Stored secrets, which config files refer to as `${secret:NAME}`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pegboard_model::{Limits, Reason, Secret, SecretLookup, UntrustedText};
use serde::{Deserialize, Serialize};

use crate::atomic::{WriteLock, create_private_folder, write_file_atomically};
use crate::keychain::Keychain;
use crate::problem::{Problem, shown_path};
use crate::regular_file::{ReadError, not_regular, read_regular_file};
use crate::template::is_secret_reference;

/// Maximum size of `secrets.json`.
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// Where a secret's value is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SecretBackend {
    /// In `secrets.json`, which only the user can read.
    File,
    /// In the system keychain.
    Keychain,
}

/// The result of storing a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoredSecret {
    /// Where the value is stored.
    pub backend: SecretBackend,
    /// The version of the value.
    pub version: String,
}

/// A stored secret without its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SecretInfo {
    /// The name in `${secret:NAME}`.
    pub name: String,
    /// Where the value is stored.
    pub backend: SecretBackend,
    /// Changes with every new value.
    pub version: String,
}

/// Stores secrets in `secrets.json` of the state folder. With the feature `keyring` and a working keychain, the file
/// contains only names and versions.
#[derive(Clone, Debug)]
pub struct SecretStore {
    path: PathBuf,
    keychain: Keychain,
}

#[derive(Default, Serialize, Deserialize)]
struct SecretsFile {
    secrets: BTreeMap<String, SecretRecord>,
}

#[derive(Serialize, Deserialize)]
struct SecretRecord {
    backend: SecretBackend,
    version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<String>,
}

impl SecretStore {
    pub(crate) fn file(state_dir: &Path) -> PathBuf {
        state_dir.join("secrets.json")
    }

    /// Opens the store of a state folder. Reads and creates nothing yet.
    pub fn open(state_dir: &Path) -> Self {
        Self {
            path: Self::file(state_dir),
            keychain: Keychain::new(state_dir),
        }
    }

    /// Stores a value, replacing an older one.
    ///
    /// # Errors
    /// Fails if the name or size is not allowed, or if `secrets.json` cannot be read or written.
    pub fn set(&self, name: &str, value: Secret) -> Result<StoredSecret, Problem> {
        if !is_secret_reference(name) {
            let shown = UntrustedText::new(name).shortened(60).to_string();
            let message = format!("`{shown}` is not a valid name of a secret");
            return Err(Problem::error(Reason::ConfigInvalid, message)
                .help("use up to 64 of A-Z, a-z, 0-9, `_`, `-` and `.`"));
        }
        let most = Limits::default().value_bytes;
        if value.reveal().len() > most {
            return Err(Problem::error(
                Reason::ConfigTooLarge,
                format!("the secret is larger than {most} bytes"),
            ));
        }
        let version = new_version()?;
        let backend = if self.keychain.set(name, &value) {
            SecretBackend::Keychain
        } else {
            SecretBackend::File
        };
        let file_value = (backend == SecretBackend::File).then(|| value.reveal().to_owned());
        self.change(|content| {
            let stored = SecretRecord {
                backend,
                version: version.clone(),
                value: file_value,
            };
            content.secrets.insert(name.to_owned(), stored);
        })?;
        Ok(StoredSecret { backend, version })
    }

    /// Removes a secret. Returns whether it existed.
    ///
    /// # Errors
    /// Fails if `secrets.json` cannot be read or written.
    pub fn remove(&self, name: &str) -> Result<bool, Problem> {
        let mut removed = None;
        self.change(|content| removed = content.secrets.remove(name))?;
        if removed
            .as_ref()
            .is_some_and(|stored| stored.backend == SecretBackend::Keychain)
        {
            self.keychain.remove(name);
        }
        Ok(removed.is_some())
    }

    /// Excludes other imports until the lock is dropped.
    pub(crate) fn lock_imports(&self) -> Result<WriteLock, Problem> {
        let path = self.path.with_file_name("import");
        let failed = |error| Problem::io(&path, "lock", &error);
        if let Some(folder) = path.parent() {
            create_private_folder(folder).map_err(failed)?;
        }
        WriteLock::take(&path).map_err(failed)
    }

    /// Like [`list`](Self::list), but empty if the file cannot be read.
    pub fn names(&self) -> Vec<SecretInfo> {
        self.list().unwrap_or_default()
    }

    /// Lists the stored secrets without their values.
    ///
    /// # Errors
    /// Fails if `secrets.json` cannot be read, is damaged, or is not a regular file.
    pub fn list(&self) -> Result<Vec<SecretInfo>, Problem> {
        let names = self.read()?.secrets.into_iter();
        let named = |(name, stored): (String, SecretRecord)| SecretInfo {
            name,
            backend: stored.backend,
            version: stored.version,
        };
        Ok(names.map(named).collect())
    }

    fn read(&self) -> Result<SecretsFile, Problem> {
        let bytes = match read_regular_file(&self.path, MAX_FILE_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.is_missing() => return Ok(SecretsFile::default()),
            Err(ReadError::NotRegular) => return Err(not_regular(&self.path)),
            Err(error) => return Err(Problem::io(&self.path, "read", &error.into())),
        };
        // The parser's message could quote part of a value.
        serde_json::from_slice(&bytes).map_err(|_| {
            let message = format!("`{}` is damaged", shown_path(&self.path));
            Problem::error(Reason::ConfigParse, message)
                .help("fix the file, or delete it and set your secrets again")
                .in_file(&self.path)
        })
    }

    /// Changes the file. A damaged file is never overwritten, because it may contain values that exist nowhere else.
    fn change(&self, change: impl FnOnce(&mut SecretsFile)) -> Result<(), Problem> {
        let failed = |error: std::io::Error| Problem::io(&self.path, "write", &error);
        create_private_folder(self.path.parent().unwrap_or(Path::new("."))).map_err(failed)?;
        let _lock = WriteLock::take(&self.path).map_err(failed)?;
        let mut content = self.read()?;
        change(&mut content);
        let bytes = serde_json::to_vec_pretty(&content).map_err(|error| failed(error.into()))?;
        write_file_atomically(&self.path, &bytes, 0o600).map_err(failed)
    }
}

impl SecretLookup for SecretStore {
    fn secret(&self, name: &str) -> Option<Secret> {
        let stored = self.read().ok()?.secrets.remove(name)?;
        match stored.backend {
            SecretBackend::File => stored.value.map(Secret::new),
            SecretBackend::Keychain => self.keychain.get(name),
        }
    }
}

fn new_version() -> Result<String, Problem> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|error| {
        Problem::error(
            Reason::Internal,
            format!("the system's random number generator failed: {error}"),
        )
    })?;
    Ok(format!("{:016x}", u64::from_be_bytes(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_cfg_08_a_kept_secret_comes_back_and_its_version_changes_with_its_value() {
        let state = tempfile::tempdir().unwrap();
        let store = SecretStore::open(&state.path().join("state"));
        assert!(store.names().is_empty());
        let first = store.set("github", Secret::new("canary-one")).unwrap();
        let second = store.set("github", Secret::new("canary-two")).unwrap();
        assert_ne!(first.version, second.version);
        assert_eq!(store.secret("github").unwrap().reveal(), "canary-two");
        let names = store.names();
        assert_eq!(names.len(), 1);
        assert_eq!(
            (names[0].name.as_str(), &names[0].version),
            ("github", &second.version)
        );
        let shown = format!(
            "{store:?} {names:?} {second:?} {}",
            serde_json::to_string(&names).unwrap()
        );
        assert!(!shown.contains("canary"), "{shown}");
        assert!(store.remove("github").unwrap());
        assert!(!store.remove("github").unwrap());
        assert!(store.secret("github").is_none());
    }

    #[test]
    fn r_cfg_08_a_damaged_secrets_file_is_kept_and_not_quoted() {
        let state = tempfile::tempdir().unwrap();
        let file = state.path().join("secrets.json");
        std::fs::write(&file, "{\"secrets\":{\"a\":\"canary\"").unwrap();
        let store = SecretStore::open(state.path());
        let problem = store.set("b", Secret::new("canary")).unwrap_err();
        assert!(!format!("{problem} {problem:?}").contains("canary"));
        assert!(std::fs::read_to_string(&file).unwrap().contains("canary"));
        assert_eq!(store.names(), []);
    }

    #[test]
    fn names_and_sizes_of_secrets_are_checked() {
        let state = tempfile::tempdir().unwrap();
        let store = SecretStore::open(state.path());
        for bad in ["", "a b", "a}", "a:-b", &"x".repeat(65)] {
            assert_eq!(
                store.set(bad, Secret::new("v")).unwrap_err().reason,
                Reason::ConfigInvalid
            );
        }
        let large = Secret::new("x".repeat(Limits::default().value_bytes + 1));
        assert_eq!(
            store.set("large", large).unwrap_err().reason,
            Reason::ConfigTooLarge
        );
    }

    #[cfg(unix)]
    #[test]
    fn r_cfg_08_only_the_owner_can_read_the_secrets_file() {
        use std::os::unix::fs::PermissionsExt;
        let state = tempfile::tempdir().unwrap();
        SecretStore::open(state.path())
            .set("a", Secret::new("v"))
            .unwrap();
        let mode = std::fs::metadata(state.path().join("secrets.json"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
