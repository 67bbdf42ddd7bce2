//! Folders and files that only their owner may open.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

/// Creates a folder and its missing parents for the owner only, and restricts an existing one. Refuses a symbolic
/// link or a folder of another user.
pub(crate) fn ensure_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, FOLDER_MODE);
    builder.create(path)?;
    restrict(path, FOLDER_MODE)
}

/// Reads at most `limit` bytes of a file that the current user owns, and restricts its permissions to the owner.
/// Returns `None` if the file does not exist.
///
/// # Errors
/// Fails if it is a symbolic link, not a regular file, or owned by another user. Permissions are not changed then.
pub(crate) fn read_own_file(path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    use std::io::Read;
    let file = match open_own_file(path, OpenOptions::new().read(true)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Opens a file that the current user owns, and restricts its permissions to the owner. Never blocks: the file type
/// is checked before anything is read or written, and a pipe without a peer is opened without waiting.
///
/// # Errors
/// Fails if it is a symbolic link, not a regular file, or owned by another user. Permissions are not changed then.
pub(crate) fn open_own_file(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let file = open_without_following(path, options).map_err(|error| {
        // Opening a link fails with different errors on different systems.
        let about = fs::symlink_metadata(path);
        match about {
            Ok(about) if about.is_symlink() => refused(LINK),
            Ok(about) if !about.is_file() => refused(NOT_REGULAR),
            _ => error,
        }
    })?;
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(refused(NOT_REGULAR));
    }
    check_owner(&about)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        if about.permissions().mode() & 0o777 != FILE_MODE {
            tolerate_unwritable(file.set_permissions(fs::Permissions::from_mode(FILE_MODE)))?;
        }
    }
    Ok(file)
}

/// Opens a file without following a link, and without blocking on a pipe.
fn open_without_following(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt;
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY).bits();
        options.custom_flags(i32::try_from(flags).unwrap_or(0));
    }
    options.open(path)
}

/// Whether an error means that nothing can be written there: a full disk, a quota, a read-only file system, or
/// missing permissions. Stored data may still be readable. Our own refusals do not count.
pub(crate) fn is_unwritable(error: &io::Error) -> bool {
    use io::ErrorKind::{
        FileTooLarge, PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull,
    };
    match error.kind() {
        FileTooLarge | QuotaExceeded | ReadOnlyFilesystem | StorageFull => true,
        PermissionDenied => error.raw_os_error().is_some(),
        _ => false,
    }
}

/// Ignores that permissions cannot be changed because the file system is not writable; the file can still be read.
fn tolerate_unwritable(changed: io::Result<()>) -> io::Result<()> {
    match changed {
        Err(error) if is_unwritable(&error) => Ok(()),
        other => other,
    }
}

/// Checks that a path is a regular file of the current user.
pub(crate) fn check_own_file(path: &Path) -> io::Result<()> {
    let about = fs::symlink_metadata(path)?;
    if about.is_symlink() {
        return Err(refused(LINK));
    }
    if !about.is_file() {
        return Err(refused(NOT_REGULAR));
    }
    check_owner(&about)
}

const NOT_REGULAR: &str = "it is not a regular file";
const LINK: &str = "it is a symbolic link, which could point to another user's file";

fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, why.to_owned())
}

#[cfg(unix)]
fn check_owner(about: &fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    if about.uid() == rustix::process::geteuid().as_raw() {
        return Ok(());
    }
    Err(refused("it belongs to another user"))
}

#[cfg(not(unix))]
fn check_owner(_about: &fs::Metadata) -> io::Result<()> {
    Ok(())
}

/// Restricts a file's permissions to the owner. A missing file is not an error: another process may just have removed
/// it.
pub(crate) fn restrict_file(path: &Path) -> io::Result<()> {
    match restrict(path, FILE_MODE) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Options that create a file for the owner only.
pub(crate) fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, FILE_MODE);
    options
}

/// Opens a file that is only used for locking.
pub(crate) fn lock_file(path: &Path) -> io::Result<File> {
    options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
}

/// Syncs a folder, so that created, renamed and removed files are durable.
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
    // Do not follow a link: the permissions of its target must not change.
    let about = fs::symlink_metadata(path)?;
    if about.is_symlink() {
        return Err(refused(LINK));
    }
    check_owner(&about)?;
    if about.permissions().mode() & 0o777 == mode {
        return Ok(());
    }
    tolerate_unwritable(fs::set_permissions(path, fs::Permissions::from_mode(mode)))
}

/// On other systems the folders of a user profile are private by inheritance.
#[cfg(not(unix))]
fn restrict(_path: &Path, _mode: u32) -> io::Result<()> {
    Ok(())
}
