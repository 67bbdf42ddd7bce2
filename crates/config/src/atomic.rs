//! Atomic file writes: a temporary file in the same folder is synced, then renamed over the target.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Replaces a file atomically: readers, and a crash at any moment, see either the old or the new content. `mode` sets
/// the permissions on Unix.
///
/// # Errors
/// Fails if the temporary file cannot be created, written, synced or renamed.
pub fn write_file_atomically(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".pegboard-").suffix(".tmp");
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(bytes)?;
    set_mode(file.as_file(), mode)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    sync_folder(folder)
}

#[cfg(unix)]
fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn set_mode(_file: &File, _mode: u32) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

/// Returns the permissions of an existing file, or `0o600` for a new one.
pub(crate) fn mode_of(path: &Path) -> u32 {
    const OWNER_ONLY: u32 = 0o600;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        if let Ok(metadata) = std::fs::metadata(path) {
            return metadata.permissions().mode() & 0o777;
        }
    }
    let _ = path;
    OWNER_ONLY
}

/// Creates a folder and its parents, accessible only by the owner.
pub(crate) fn create_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder.create(folder)
}

/// An exclusive lock among all processes that write a file. It locks a separate lock file, which is never deleted.
pub(crate) struct WriteLock(#[allow(dead_code)] File);

impl WriteLock {
    /// Blocks until the lock is free.
    pub(crate) fn take(path: &Path) -> io::Result<Self> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut options = File::options();
        options.create(true).write(true).truncate(false);
        #[cfg(unix)]
        {
            use rustix::fs::OFlags;
            use std::os::unix::fs::OpenOptionsExt;
            // Without `NONBLOCK` a named pipe at this path would block the command.
            let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
            options.mode(0o600).custom_flags(flags);
        }
        let file = options.open(path.with_file_name(format!(".{name}.lock")))?;
        file.lock()?;
        Ok(Self(file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_cfg_06_a_write_replaces_the_whole_file_and_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write_file_atomically(&path, b"one", 0o600).unwrap();
        write_file_atomically(&path, b"two", mode_of(&path)).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        assert_eq!(mode_of(&path), 0o600);
        assert!(write_file_atomically(&folder.path().join("none/file"), b"x", 0o600).is_err());
    }
}
