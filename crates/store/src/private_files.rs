//! Folders and files that only their owner may open.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

/// Makes a folder (and the missing ones above it) that only the owner may enter, and shuts others out
/// of one that is already there. One that is a symbolic link or belongs to another user is refused.
pub(crate) fn ensure_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, FOLDER_MODE);
    builder.create(path)?;
    restrict(path, FOLDER_MODE)
}

/// Returns the bytes of a file that belongs to us, and takes everybody else's rights on it away; `None` if it is not
/// there. At most `limit` bytes are read.
///
/// # Errors
/// Fails if it is a symbolic link, not a regular file, or owned by another user: none of its target's rights are
/// changed then.
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

/// Opens a file that belongs to us, and takes everybody else's rights on it away. It never waits: the kind of the
/// file is checked before anything is read or written, and a pipe without a reader or writer does not block.
///
/// # Errors
/// Fails if it is a symbolic link, not a regular file, or owned by another user: none of its target's rights are
/// changed then.
pub(crate) fn open_own_file(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let file = open_without_following(path, options).map_err(|error| {
        // The open of a link fails in ways that differ by system.
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

/// Opens a file that is no link, without waiting for the other end if it is a pipe.
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

/// Whether an error means that nothing can be written at this place now: a full disk, a quota, a read-only file
/// system, or missing rights. What is stored there may still be readable. Our own refusals are not meant.
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

/// Rights that cannot be changed because nothing can be written are no reason to leave a file of ours unread.
fn tolerate_unwritable(changed: io::Result<()>) -> io::Result<()> {
    match changed {
        Err(error) if is_unwritable(&error) => Ok(()),
        other => other,
    }
}

/// Checks that a file belongs to us and is neither a link nor anything else than a regular file.
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
const LINK: &str = "it is a symbolic link, which could lead to a file of somebody else";

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
    // Not of what a link leads to: its rights are none of our business.
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

/// Elsewhere a profile's folders are private by inheritance.
#[cfg(not(unix))]
fn restrict(_path: &Path, _mode: u32) -> io::Result<()> {
    Ok(())
}
