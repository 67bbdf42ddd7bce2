//! Folders and files that only their owner may open.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

/// Makes a folder (and the missing ones above it) that only the owner may enter, and shuts others out
/// of one that is already there.
pub(crate) fn ensure_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, FOLDER_MODE);
    builder.create(path)?;
    restrict(path, FOLDER_MODE)
}

/// Takes everybody else's rights on a file away. A file that is not there is no fault: another process
/// may just have removed it.
pub(crate) fn restrict_file(path: &Path) -> io::Result<()> {
    match restrict(path, FILE_MODE) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Options under which a new file belongs to the owner alone.
pub(crate) fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, FILE_MODE);
    options
}

/// Opens a file whose only use is to be locked.
pub(crate) fn lock_file(path: &Path) -> io::Result<File> {
    options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
}

/// Makes what was created, renamed or removed in a folder last.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    File::open(path)?.sync_all()?;
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

#[cfg(unix)]
fn restrict(path: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    if fs::metadata(path)?.permissions().mode() & 0o777 == mode {
        return Ok(());
    }
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

/// Elsewhere a profile's folders are private by inheritance.
#[cfg(not(unix))]
fn restrict(_path: &Path, _mode: u32) -> io::Result<()> {
    Ok(())
}
