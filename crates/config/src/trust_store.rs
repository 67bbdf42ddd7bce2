//! Stored trust: which servers of which projects the user has trusted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pegboard_model::{ConfigHash, ServerName, TrustState};
use serde::{Deserialize, Serialize};

use crate::atomic::{WriteLock, create_private_folder, write_file_atomically};
use crate::permission::writable_by_others;
use crate::problem::Problem;
use crate::regular_file::read_regular_file;

/// Maximum size of the file. An entry takes about 200 bytes.
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

const FILE_NAME: &str = "trust.json";
/// The file's name before version 0.1.0. It is read while there is no file of the new name, and removed by the next
/// write.
const FORMER_FILE_NAME: &str = "agreements.json";

/// The user's trust decisions, stored in `trust.json` of the state folder.
///
/// Trust is bound to the project's folder, the server's name and the hash of its definition. A file that is damaged,
/// or that other users can write, counts as empty.
#[derive(Debug)]
pub struct TrustStore {
    path: PathBuf,
    content: TrustFile,
}

/// Hashes by project folder and server name.
#[derive(Debug, Default, Serialize, Deserialize)]
struct TrustFile {
    #[serde(alias = "agreed")]
    trusted: BTreeMap<String, BTreeMap<String, ConfigHash>>,
}

impl TrustStore {
    /// Returns the file that is written.
    pub(crate) fn new_file(state_dir: &Path) -> PathBuf {
        state_dir.join(FILE_NAME)
    }

    /// Returns the file that is read.
    pub(crate) fn file(state_dir: &Path) -> PathBuf {
        let path = Self::new_file(state_dir);
        match former_file(&path) {
            Some(former) => former,
            None => path,
        }
    }

    /// Reads the stored trust. A missing file counts as empty.
    pub fn open(state_dir: &Path) -> Self {
        Self {
            content: read(&Self::file(state_dir)),
            path: Self::new_file(state_dir),
        }
    }

    /// Returns whether this definition of a project's server is trusted.
    pub fn state_of(&self, project: &Path, server: &ServerName, hash: &ConfigHash) -> TrustState {
        let servers = self.content.trusted.get(&folder_key(project));
        match servers.and_then(|servers| servers.get(server.as_str())) {
            Some(trusted) if trusted == hash => TrustState::Granted,
            Some(_) => TrustState::Changed,
            None => TrustState::Pending,
        }
    }

    /// Trusts exactly this definition.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn grant(
        &mut self,
        project: &Path,
        server: &ServerName,
        hash: &ConfigHash,
    ) -> Result<(), Problem> {
        self.change(|content| {
            let servers = content.trusted.entry(folder_key(project)).or_default();
            servers.insert(server.to_string(), *hash);
        })
    }

    /// Removes the trust of a server. Returns whether it was trusted.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn revoke(&mut self, project: &Path, server: &ServerName) -> Result<bool, Problem> {
        let mut found = false;
        self.change(|content| {
            let key = folder_key(project);
            if let Some(servers) = content.trusted.get_mut(&key) {
                found = servers.remove(server.as_str()).is_some();
                if servers.is_empty() {
                    content.trusted.remove(&key);
                }
            }
        })?;
        Ok(found)
    }

    fn change(&mut self, change: impl FnOnce(&mut TrustFile)) -> Result<(), Problem> {
        let write = || -> std::io::Result<TrustFile> {
            create_private_folder(self.path.parent().unwrap_or(Path::new(".")))?;
            let _lock = WriteLock::take(&self.path)?;
            let former = former_file(&self.path);
            let mut content = read(former.as_deref().unwrap_or(&self.path));
            change(&mut content);
            write_file_atomically(&self.path, &serde_json::to_vec_pretty(&content)?, 0o600)?;
            // From here on the new file is read, so a former file that cannot be removed has no effect.
            if let Some(former) = former {
                let _ = std::fs::remove_file(former);
            }
            Ok(content)
        };
        self.content = write().map_err(|error| Problem::io(&self.path, "write", &error))?;
        Ok(())
    }
}

/// Returns the file of the former name if it exists and the new one does not. A new file that is damaged or unreadable
/// exists, so revoked trust never comes back.
fn former_file(path: &Path) -> Option<PathBuf> {
    let is_missing = |path: &Path| {
        let found = path.symlink_metadata();
        found.is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
    };
    let former = path.with_file_name(FORMER_FILE_NAME);
    (is_missing(path) && !is_missing(&former)).then_some(former)
}

fn read(path: &Path) -> TrustFile {
    if writable_by_others(path).is_some() {
        return TrustFile::default();
    }
    read_regular_file(path, MAX_FILE_BYTES)
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default()
}

/// Every path to a folder has the same key.
fn folder_key(project: &Path) -> String {
    let folder = project
        .canonicalize()
        .unwrap_or_else(|_| project.to_owned());
    folder.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_is_bound_to_folder_name_and_definition() {
        let state = tempfile::tempdir().unwrap();
        let project = tempfile::tempdir().unwrap();
        let other = tempfile::tempdir().unwrap();
        let server = ServerName::parse("files").unwrap();
        let (hash, changed) = (ConfigHash([1; 32]), ConfigHash([2; 32]));
        let mut trust_store = TrustStore::open(&state.path().join("new"));
        assert_eq!(
            trust_store.state_of(project.path(), &server, &hash),
            TrustState::Pending
        );
        trust_store.grant(project.path(), &server, &hash).unwrap();
        let mut trust_store = TrustStore::open(&state.path().join("new"));
        assert_eq!(
            trust_store.state_of(project.path(), &server, &hash),
            TrustState::Granted
        );
        assert_eq!(
            trust_store.state_of(project.path(), &server, &changed),
            TrustState::Changed
        );
        assert_eq!(
            trust_store.state_of(other.path(), &server, &hash),
            TrustState::Pending
        );
        assert!(trust_store.revoke(project.path(), &server).unwrap());
        assert!(!trust_store.revoke(project.path(), &server).unwrap());
        assert_eq!(
            trust_store.state_of(project.path(), &server, &hash),
            TrustState::Pending
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_trust_file_that_others_could_have_written_is_ignored() {
        use std::os::unix::fs::PermissionsExt;
        let state = tempfile::tempdir().unwrap();
        let server = ServerName::parse("files").unwrap();
        let hash = ConfigHash([1; 32]);
        TrustStore::open(state.path())
            .grant(state.path(), &server, &hash)
            .unwrap();
        let file = state.path().join(FILE_NAME);
        let trust_state = || TrustStore::open(state.path()).state_of(state.path(), &server, &hash);
        assert_eq!(trust_state(), TrustState::Granted);
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!(trust_state(), TrustState::Pending);
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        std::fs::write(&file, "{ broken").unwrap();
        assert_eq!(trust_state(), TrustState::Pending);
    }

    #[test]
    fn trust_in_the_file_of_the_former_name_is_kept() {
        let state = tempfile::tempdir().unwrap();
        let project = tempfile::tempdir().unwrap();
        let (files, mail) = (
            ServerName::parse("files").unwrap(),
            ServerName::parse("mail").unwrap(),
        );
        let hash = ConfigHash([1; 32]);
        let (new, former) = (
            state.path().join(FILE_NAME),
            state.path().join(FORMER_FILE_NAME),
        );
        TrustStore::open(state.path())
            .grant(project.path(), &files, &hash)
            .unwrap();
        let text = std::fs::read_to_string(&new).unwrap();
        std::fs::write(&former, text.replace("\"trusted\"", "\"agreed\"")).unwrap();
        std::fs::remove_file(&new).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(&former, std::fs::Permissions::from_mode(0o600)).unwrap();
        }
        assert_eq!(TrustStore::file(state.path()), former);
        let state_of = |server: &ServerName| {
            TrustStore::open(state.path()).state_of(project.path(), server, &hash)
        };
        assert_eq!(state_of(&files), TrustState::Granted);
        let mut trust_store = TrustStore::open(state.path());
        trust_store.grant(project.path(), &mail, &hash).unwrap();
        assert_eq!(
            (state_of(&files), state_of(&mail)),
            (TrustState::Granted, TrustState::Granted)
        );
        assert!(!former.exists());
        assert_eq!(TrustStore::file(state.path()), new);
        // Revoked trust does not come back from a former file, not even if the new file is damaged.
        assert!(trust_store.revoke(project.path(), &files).unwrap());
        std::fs::write(&former, &text).unwrap();
        assert_eq!(state_of(&files), TrustState::Pending);
        std::fs::write(&new, "{ broken").unwrap();
        assert_eq!(state_of(&files), TrustState::Pending);
    }
}
