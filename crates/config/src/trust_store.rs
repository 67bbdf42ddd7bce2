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

/// The user's trust decisions, stored in `agreements.json` of the state folder.
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
    agreed: BTreeMap<String, BTreeMap<String, ConfigHash>>,
}

impl TrustStore {
    pub(crate) fn file(state_dir: &Path) -> PathBuf {
        state_dir.join("agreements.json")
    }

    /// Reads the stored trust. A missing file counts as empty.
    pub fn open(state_dir: &Path) -> Self {
        let path = Self::file(state_dir);
        Self {
            content: read(&path),
            path,
        }
    }

    /// Returns whether this definition of a project's server is trusted.
    pub fn approval(&self, project: &Path, server: &ServerName, hash: &ConfigHash) -> TrustState {
        let servers = self.content.agreed.get(&folder_key(project));
        match servers.and_then(|servers| servers.get(server.as_str())) {
            Some(agreed) if agreed == hash => TrustState::Granted,
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
            let servers = content.agreed.entry(folder_key(project)).or_default();
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
            if let Some(servers) = content.agreed.get_mut(&key) {
                found = servers.remove(server.as_str()).is_some();
                if servers.is_empty() {
                    content.agreed.remove(&key);
                }
            }
        })?;
        Ok(found)
    }

    fn change(&mut self, change: impl FnOnce(&mut TrustFile)) -> Result<(), Problem> {
        let write = || -> std::io::Result<TrustFile> {
            create_private_folder(self.path.parent().unwrap_or(Path::new(".")))?;
            let _lock = WriteLock::take(&self.path)?;
            let mut content = read(&self.path);
            change(&mut content);
            write_file_atomically(&self.path, &serde_json::to_vec_pretty(&content)?, 0o600)?;
            Ok(content)
        };
        self.content = write().map_err(|error| Problem::io(&self.path, "write", &error))?;
        Ok(())
    }
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
            trust_store.approval(project.path(), &server, &hash),
            TrustState::Pending
        );
        trust_store.grant(project.path(), &server, &hash).unwrap();
        let mut trust_store = TrustStore::open(&state.path().join("new"));
        assert_eq!(
            trust_store.approval(project.path(), &server, &hash),
            TrustState::Granted
        );
        assert_eq!(
            trust_store.approval(project.path(), &server, &changed),
            TrustState::Changed
        );
        assert_eq!(
            trust_store.approval(other.path(), &server, &hash),
            TrustState::Pending
        );
        assert!(trust_store.revoke(project.path(), &server).unwrap());
        assert!(!trust_store.revoke(project.path(), &server).unwrap());
        assert_eq!(
            trust_store.approval(project.path(), &server, &hash),
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
        let file = state.path().join("agreements.json");
        let approval = || TrustStore::open(state.path()).approval(state.path(), &server, &hash);
        assert_eq!(approval(), TrustState::Granted);
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!(approval(), TrustState::Pending);
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        std::fs::write(&file, "{ broken").unwrap();
        assert_eq!(approval(), TrustState::Pending);
    }
}
