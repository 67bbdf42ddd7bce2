//! The state folder and its key.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use pegboard_model::{HashKey, Reason, ToolError};

use crate::{StoreResult, errors, private_files};

const KEY_FILE: &str = "hash.key";
const KEY_BYTES: u64 = 32;
const LOGIN_KEY_FILE: &str = "login.key";
const LOGIN_FOLDER: &str = "logins";
const LOCK_FOLDER: &str = "locks";
const LOG_FOLDER: &str = "logs";

/// How much the writability check writes.
const CHECK_BYTES: usize = 64 * 1024;
/// The remedy if the folder cannot be written.
pub(crate) const UNWRITABLE_REMEDY: &str = "Free up disk space, make the folder writable, or choose another one \
                                            with `PEGBOARD_STATE_DIR`.";

/// The folder of all persistent state: mode 0700, files 0600. It is also opened if it cannot be written (full disk,
/// read-only file system): stored data can be read, and new data stays in memory.
#[derive(Clone, Debug)]
pub struct StateDir {
    path: PathBuf,
    /// The key in use. It is written again if the folder is deleted at runtime, so that seals stay valid.
    key: Arc<OnceLock<HashKey>>,
    /// Why a part of the folder could not be created.
    unwritable: Option<ToolError>,
}

impl StateDir {
    /// Opens the folder, creating it and its parts if they are missing.
    ///
    /// # Errors
    /// Fails if it is a symbolic link, belongs to another user, or cannot be created.
    pub fn open(path: &Path) -> StoreResult<Self> {
        Ok(Self {
            path: path.to_owned(),
            key: Arc::default(),
            unwritable: make_folders(path)?,
        })
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Why a part of the folder could not be created; `None` if all parts exist.
    pub fn unwritable(&self) -> Option<&ToolError> {
        self.unwritable.as_ref()
    }

    /// Checks that the folder can be written, by writing and removing a file.
    ///
    /// # Errors
    /// Fails with the reason why it cannot be written.
    pub fn check_writable(&self) -> StoreResult<()> {
        let write = || -> io::Result<()> {
            let mut file = tempfile::NamedTempFile::new_in(&self.path)?;
            file.write_all(&[0; CHECK_BYTES])?;
            file.as_file().sync_all()
        };
        write().map_err(|error| {
            errors::io("write to the state folder", &self.path, &error)
                .with_remedy(UNWRITABLE_REMEDY)
        })
    }

    /// Returns the key of every config hash and seal on this machine, creating it at the first call. Processes that
    /// start together get the same key. If it cannot be stored, it lasts as long as this value and its clones.
    ///
    /// # Errors
    /// Fails if the key file is damaged or cannot be read.
    pub fn hash_key(&self) -> StoreResult<HashKey> {
        let path = self.path.join(KEY_FILE);
        let fault = |e: io::Error| errors::io("use the key", &path, &e);
        match read_key(&path).map_err(fault)? {
            KeyFile::Key(key) => return Ok(self.remembered(key)),
            KeyFile::Missing => match self.store_key(&path) {
                Err(error) if private_files::is_unwritable(&error) => {
                    let key = random_key().map_err(fault)?;
                    return Ok(self.key.get_or_init(|| key).clone());
                }
                stored => stored.map_err(fault)?,
            },
            KeyFile::Damaged => {}
        }
        match read_key(&path).map_err(fault)? {
            KeyFile::Key(key) => Ok(self.remembered(key)),
            KeyFile::Missing | KeyFile::Damaged => Err(damaged_key(&path)),
        }
    }

    /// Returns the key that seals logins, creating it at the first call. Processes that start together get the same
    /// key.
    ///
    /// # Errors
    /// Fails if the key file is damaged, or cannot be read or written.
    pub(crate) fn login_key(&self, may_create: bool) -> StoreResult<Option<HashKey>> {
        let path = self.path.join(LOGIN_KEY_FILE);
        let fault = |e: io::Error| errors::io("use the key", &path, &e);
        if let (KeyFile::Missing, true) = (read_key(&path).map_err(fault)?, may_create) {
            let key = random_key().map_err(fault)?;
            store_key(&self.path, &path, &key).map_err(fault)?;
        }
        match read_key(&path).map_err(fault)? {
            KeyFile::Key(key) => Ok(Some(key)),
            KeyFile::Missing if !may_create => Ok(None),
            KeyFile::Missing | KeyFile::Damaged => {
                let path = errors::display_path(&path);
                let message = format!("the key {path} does not have 32 bytes");
                let remedy = format!("Delete {path} and log in to your servers again.");
                Err(ToolError::new(Reason::StoreIo, message).with_remedy(remedy))
            }
        }
    }

    pub(crate) fn logins(&self) -> PathBuf {
        self.path.join(LOGIN_FOLDER)
    }

    /// Creates the folder, its parts and its key again if they were deleted.
    pub(crate) fn restore(&self) -> StoreResult<()> {
        make_folders(&self.path)?;
        if self.key.get().is_some() {
            self.hash_key()?;
        }
        Ok(())
    }

    fn remembered(&self, key: HashKey) -> HashKey {
        self.key.get_or_init(|| key.clone());
        key
    }

    fn store_key(&self, path: &Path) -> io::Result<()> {
        let key = match self.key.get() {
            Some(key) => key.clone(),
            None => random_key()?,
        };
        store_key(&self.path, path, &key)
    }

    pub(crate) fn locks(&self) -> PathBuf {
        self.path.join(LOCK_FOLDER)
    }

    pub(crate) fn logs(&self) -> PathBuf {
        self.path.join(LOG_FOLDER)
    }
}

enum KeyFile {
    Key(HashKey),
    Missing,
    Damaged,
}

fn read_key(path: &Path) -> io::Result<KeyFile> {
    // One more byte than the key has, to detect a longer file.
    let Some(bytes) = private_files::read_own_file(path, KEY_BYTES + 1)? else {
        return Ok(KeyFile::Missing);
    };
    Ok(<[u8; 32]>::try_from(bytes).map_or(KeyFile::Damaged, |key| KeyFile::Key(HashKey(key))))
}

fn random_key() -> io::Result<HashKey> {
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(io::Error::other)?;
    Ok(HashKey(key))
}

/// The key gets its name only after it is complete and on disk, and only if no other process was first.
fn store_key(folder: &Path, path: &Path, key: &HashKey) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(&key.0)?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(path) {
        Ok(_) => {
            let folder = folder.to_owned();
            // In the background: the next write to the folder syncs it anyway.
            let _ = std::thread::Builder::new().spawn(move || private_files::sync_folder(&folder));
            Ok(())
        }
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error.error),
    }
}

/// Creates the folder and its parts. Returns why a part is missing.
fn make_folders(path: &Path) -> StoreResult<Option<ToolError>> {
    let mut unwritable = None;
    for folder in [
        path.to_path_buf(),
        path.join(LOCK_FOLDER),
        path.join(LOG_FOLDER),
    ] {
        let Err(error) = private_files::ensure_folder(&folder) else {
            continue;
        };
        let fault = not_usable(&folder, &error);
        if !private_files::is_unwritable(&error) {
            return Err(fault);
        }
        unwritable.get_or_insert(fault.with_remedy(UNWRITABLE_REMEDY));
    }
    Ok(unwritable)
}

/// The error for a folder that cannot be created or belongs to another user.
fn not_usable(folder: &Path, error: &io::Error) -> ToolError {
    let fault = errors::io("prepare the folder", folder, error);
    if error.kind() != io::ErrorKind::PermissionDenied {
        return fault;
    }
    let remedy = "Use a folder that you own, or choose another one with `PEGBOARD_STATE_DIR`.";
    fault.with_remedy(remedy)
}

/// Replacing the key would revoke the trust in every project server, so a person decides.
fn damaged_key(path: &Path) -> ToolError {
    let path = errors::display_path(path);
    ToolError::new(
        Reason::StoreIo,
        format!("the key {path} does not have 32 bytes"),
    )
    .with_remedy(format!(
        "Restore {path}, or delete it and trust project servers again with `pegboard trust`."
    ))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn r_disc_05_the_key_is_minted_once_even_when_many_start_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(folder.path()).unwrap();
        let keys: Vec<[u8; 32]> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..16)
                .map(|_| scope.spawn(|| state.hash_key().unwrap().0))
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        assert!(keys.iter().all(|key| *key == keys[0]));
        assert_ne!(keys[0], [0; 32]);
        assert_eq!(fs::read(folder.path().join(KEY_FILE)).unwrap(), keys[0]);
        let others = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(others, 3, "only `locks`, `logs` and the key are left");
    }

    #[test]
    fn a_damaged_key_is_reported_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(folder.path()).unwrap();
        fs::write(folder.path().join(KEY_FILE), b"short").unwrap();
        let error = state.hash_key().unwrap_err();
        assert_eq!(error.reason, Reason::StoreIo);
        assert!(error.remedy.contains("hash.key"), "{}", error.remedy);
        assert_eq!(fs::read(folder.path().join(KEY_FILE)).unwrap(), b"short");
    }

    #[cfg(unix)]
    #[test]
    fn r_store_k07_folders_are_0700_and_the_key_0600_also_when_they_were_wider() {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("a/b");
        fs::create_dir_all(&root).unwrap();
        fs::set_permissions(&root, fs::Permissions::from_mode(0o755)).unwrap();
        let state = StateDir::open(&root).unwrap();
        let key = state.hash_key().unwrap();
        fs::set_permissions(root.join(KEY_FILE), fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(state.hash_key().unwrap().0, key.0);
        assert_eq!(mode(&root.join(KEY_FILE)), 0o600);
        for path in [root.clone(), state.locks(), state.logs()] {
            assert_eq!(mode(&path), 0o700, "{}", path.display());
        }
    }

    #[cfg(unix)]
    #[test]
    fn r_store_k07_a_link_in_place_of_the_key_is_refused_and_its_target_left_alone() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(&folder.path().join("state")).unwrap();
        let target = folder.path().join("target");
        fs::write(&target, [7; 32]).unwrap();
        fs::set_permissions(&target, fs::Permissions::from_mode(0o644)).unwrap();
        symlink(&target, state.path().join(KEY_FILE)).unwrap();
        let error = state.hash_key().unwrap_err();
        assert!(error.message.contains("symbolic link"), "{}", error.message);
        let mode = fs::metadata(&target).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o644);

        fs::remove_file(state.path().join(KEY_FILE)).unwrap();
        fs::create_dir(state.path().join(KEY_FILE)).unwrap();
        let error = state.hash_key().unwrap_err();
        assert!(error.message.contains("regular file"), "{}", error.message);
    }

    #[cfg(unix)]
    #[test]
    fn r_store_k07_a_link_or_a_folder_of_another_user_is_refused() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        fs::create_dir(&target).unwrap();
        fs::set_permissions(&target, fs::Permissions::from_mode(0o755)).unwrap();
        let link = folder.path().join("state");
        symlink(&target, &link).unwrap();
        let error = StateDir::open(&link).unwrap_err();
        assert!(error.message.contains("symbolic link"), "{}", error.message);
        assert!(
            error.remedy.contains("PEGBOARD_STATE_DIR"),
            "{}",
            error.remedy
        );
        let mode = fs::metadata(&target).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o755);
        assert_eq!(fs::read_dir(&target).unwrap().count(), 0);

        if rustix::process::geteuid().is_root() {
            let nobody = Some(65534);
            std::os::unix::fs::chown(&target, nobody, nobody).unwrap();
            let error = StateDir::open(&target).unwrap_err();
            assert!(error.message.contains("another user"), "{}", error.message);
        } else {
            let error = StateDir::open(Path::new("/")).unwrap_err();
            assert_eq!(error.reason, Reason::StoreIo);
        }
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_an_error_that_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let error = StateDir::open(&file.join("state")).unwrap_err();
        assert_eq!(error.reason, Reason::StoreIo);
        assert!(error.message.contains("file/state"), "{}", error.message);
    }
}
