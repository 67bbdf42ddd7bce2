//! Secrets that are kept for the user and named in config as `${secret:NAME}`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pegboard_model::{Limits, Reason, Secret, SecretLookup, UntrustedText};
use serde::{Deserialize, Serialize};

use crate::atomic::{WriteLock, create_private_folder, write_file_atomically};
use crate::keychain::Keychain;
use crate::problem::{Problem, shown_path};
use crate::regular_file::{ReadError, not_regular, read_regular_file};
use crate::template::is_secret_reference;

/// Largest file that is read.
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// Where the value of a secret is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SecretBackend {
    /// In `secrets.json`, which only the user can read.
    File,
    /// In the system's keychain.
    Keychain,
}

/// A secret that was kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoredSecret {
    /// Where its value is.
    pub backend: SecretBackend,
    /// The version of the value.
    pub version: String,
}

/// A kept secret without its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SecretInfo {
    /// The name in `${secret:NAME}`.
    pub name: String,
    /// Where its value is.
    pub backend: SecretBackend,
    /// Changes whenever the value does.
    pub version: String,
}

/// Keeps secrets in `secrets.json` of the state folder; with the feature `keyring` and a working
/// keychain the file holds names and versions only.
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
    /// The file that names, versions and values are kept in.
    pub(crate) fn file(state_dir: &Path) -> PathBuf {
        state_dir.join("secrets.json")
    }

    /// The keeper over a state folder; nothing is read or created yet.
    pub fn open(state_dir: &Path) -> Self {
        Self {
            path: Self::file(state_dir),
            keychain: Keychain::of(state_dir),
        }
    }

    /// Keeps a value under a name, in place of an older one.
    pub fn set(&self, name: &str, value: Secret) -> Result<StoredSecret, Problem> {
        if !is_secret_reference(name) {
            let shown = UntrustedText::new(name).shortened(60).to_string();
            let message = format!("`{shown}` is not a name for a secret");
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
        let kept_here = (backend == SecretBackend::File).then(|| value.reveal().to_owned());
        self.change(|content| {
            let stored = SecretRecord {
                backend,
                version: version.clone(),
                value: kept_here,
            };
            content.secrets.insert(name.to_owned(), stored);
        })?;
        Ok(StoredSecret { backend, version })
    }

    /// Forgets a secret; answers whether there was one.
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

    /// The secrets that are kept, by name, without their values.
    pub fn names(&self) -> Vec<SecretInfo> {
        self.list().unwrap_or_default()
    }

    /// The same.
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
            Err(fault) if fault.is_missing() => return Ok(SecretsFile::default()),
            Err(ReadError::NotRegular) => return Err(not_regular(&self.path)),
            Err(fault) => return Err(Problem::io(&self.path, "read", &fault.into())),
        };
        // The parser's own message could repeat a part of a value.
        serde_json::from_slice(&bytes).map_err(|_| {
            let message = format!("`{}` is damaged", shown_path(&self.path));
            Problem::error(Reason::ConfigParse, message)
                .help("mend the file, or delete it and set your secrets again")
                .in_file(&self.path)
        })
    }

    /// Changes the file. A damaged one is never overwritten: it may hold values that exist nowhere else.
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
            format!("the system gives no random numbers: {error}"),
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
        let keeper = SecretStore::open(&state.path().join("state"));
        assert!(keeper.names().is_empty());
        let first = keeper.set("github", Secret::new("canary-one")).unwrap();
        let second = keeper.set("github", Secret::new("canary-two")).unwrap();
        assert_ne!(first.version, second.version);
        assert_eq!(keeper.secret("github").unwrap().reveal(), "canary-two");
        let names = keeper.names();
        assert_eq!(names.len(), 1);
        assert_eq!(
            (names[0].name.as_str(), &names[0].version),
            ("github", &second.version)
        );
        let shown = format!(
            "{keeper:?} {names:?} {second:?} {}",
            serde_json::to_string(&names).unwrap()
        );
        assert!(!shown.contains("canary"), "{shown}");
        assert!(keeper.remove("github").unwrap());
        assert!(!keeper.remove("github").unwrap());
        assert!(keeper.secret("github").is_none());
    }

    #[test]
    fn r_cfg_08_a_damaged_secrets_file_is_kept_and_not_quoted() {
        let state = tempfile::tempdir().unwrap();
        let file = state.path().join("secrets.json");
        std::fs::write(&file, "{\"secrets\":{\"a\":\"canary\"").unwrap();
        let keeper = SecretStore::open(state.path());
        let problem = keeper.set("b", Secret::new("canary")).unwrap_err();
        assert!(!format!("{problem} {problem:?}").contains("canary"));
        assert!(std::fs::read_to_string(&file).unwrap().contains("canary"));
        assert_eq!(keeper.names(), []);
    }

    #[test]
    fn names_and_sizes_of_secrets_are_checked() {
        let state = tempfile::tempdir().unwrap();
        let keeper = SecretStore::open(state.path());
        for bad in ["", "a b", "a}", "a:-b", &"x".repeat(65)] {
            assert_eq!(
                keeper.set(bad, Secret::new("v")).unwrap_err().reason,
                Reason::ConfigInvalid
            );
        }
        let large = Secret::new("x".repeat(Limits::default().value_bytes + 1));
        assert_eq!(
            keeper.set("large", large).unwrap_err().reason,
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
