//! Replaces a client's file, if it still has the content that the user has seen.

use std::fs::{File, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use pegboard_model::Reason;

use super::text::read_bytes;
use crate::atomic::{create_private_folder, mode_of};
use crate::problem::{Problem, shown_path};

/// A step of a change, in order. Tests interrupt a change after each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    BackedUp,
    Recorded,
    Staged,
    Replaced,
}

/// Called after each step. A test panics in it, which ends the change there as a crash would.
pub(crate) type AfterStep<'a> = &'a mut dyn FnMut(Step);

/// Follows links, so that the file is replaced and the links stay.
pub(crate) fn resolve_links(path: &Path) -> Result<PathBuf, Problem> {
    match path.canonicalize() {
        Ok(resolved) => Ok(resolved),
        Err(_)
            if path
                .symlink_metadata()
                .is_ok_and(|found| found.is_symlink()) =>
        {
            let message = format!(
                "`{}` is a link to a file that cannot be found",
                shown_path(path)
            );
            Err(Problem::error(Reason::ConfigIo, message)
                .help("remove the link, or create the file that it leads to")
                .in_file(path))
        }
        // Links in the folders are followed as far as these exist.
        Err(_) => Ok(match (path.parent(), path.file_name()) {
            (Some(folder), Some(name)) => {
                let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
                folder.join(name)
            }
            _ => path.to_owned(),
        }),
    }
}

/// Returns a problem if a file cannot be replaced because it, or its folder, is read-only.
pub(crate) fn check_writable(path: &Path) -> Result<(), Problem> {
    let existing = path
        .ancestors()
        .find(|path| path.symlink_metadata().is_ok());
    let folder = match existing {
        Some(found) if found == path => path.parent(),
        other => other,
    };
    let paths = [Some(path).filter(|path| path.exists()), folder];
    for path in paths.into_iter().flatten() {
        if is_read_only(path) {
            let message = format!("`{}` is read-only; nothing was changed", shown_path(path));
            let help = "make it writable, or change the place from which it is managed, such as a dotfiles repository";
            return Err(Problem::error(Reason::ConfigIo, message)
                .help(help)
                .in_file(path));
        }
    }
    Ok(())
}

#[cfg(unix)]
fn is_read_only(path: &Path) -> bool {
    use rustix::fs::{Access, access};
    use std::os::unix::fs::PermissionsExt;
    // Root may write everything; a file without any write permission is protected on purpose.
    let is_protected = |found: Metadata| {
        !found.file_type().is_symlink() && found.permissions().mode() & 0o222 == 0
    };
    access(path, Access::WRITE_OK).is_err() || path.metadata().is_ok_and(is_protected)
}

#[cfg(not(unix))]
fn is_read_only(path: &Path) -> bool {
    let is_protected = |found: Metadata| found.permissions().readonly();
    path.metadata().is_ok_and(is_protected)
}

/// Replaces, creates or deletes a file, if its content is still `before`. `None` stands for a file that does not exist.
pub(crate) fn replace(
    path: &Path,
    before: Option<&[u8]>,
    after: Option<&[u8]>,
    after_step: AfterStep<'_>,
) -> Result<(), Problem> {
    let failed = |error: io::Error| Problem::io(path, "write", &error);
    let Some(after) = after else {
        check_unchanged(path, before)?;
        after_step(Step::Staged);
        std::fs::remove_file(path).map_err(failed)?;
        after_step(Step::Replaced);
        return Ok(());
    };
    let folder = path.parent().unwrap_or(Path::new("/"));
    if !folder.is_dir() {
        create_private_folder(folder).map_err(failed)?;
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(".pegboard-").suffix(".tmp");
    let mut staged = builder.tempfile_in(folder).map_err(failed)?;
    staged.write_all(after).map_err(failed)?;
    keep_attributes(staged.as_file(), path)?;
    staged.as_file().sync_all().map_err(failed)?;
    after_step(Step::Staged);
    check_unchanged(path, before)?;
    let persisted = match before {
        Some(_) => staged.persist(path),
        None => staged.persist_noclobber(path),
    };
    persisted.map_err(|error| match error.error.kind() {
        io::ErrorKind::AlreadyExists => changed(path),
        _ => failed(error.error),
    })?;
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(failed)?;
    after_step(Step::Replaced);
    Ok(())
}

/// Returns a problem if the content of a file is not `before` any more.
pub(crate) fn check_unchanged(path: &Path, before: Option<&[u8]>) -> Result<(), Problem> {
    match read_bytes(path)?.as_deref() == before {
        true => Ok(()),
        false => Err(changed(path)),
    }
}

fn changed(path: &Path) -> Problem {
    let message = format!(
        "`{}` was changed by another program since the preview; nothing was written",
        shown_path(path)
    );
    Problem::error(Reason::ConfigIo, message)
        .help("close the client if it is running, then try again")
        .in_file(path)
}

/// Gives a new file the permissions and the owner of the file that it replaces. With `sudo`, the client could
/// otherwise not read its own file any more.
fn keep_attributes(file: &File, path: &Path) -> Result<(), Problem> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
        let failed = |error: io::Error| Problem::io(path, "keep the owner of", &error);
        let permissions = std::fs::Permissions::from_mode(mode_of(path));
        if let (Ok(old), Ok(new)) = (path.metadata(), file.metadata()) {
            if old.uid() != new.uid() {
                fchown(file, Some(old.uid()), Some(old.gid())).map_err(failed)?;
            } else if old.gid() != new.gid() {
                // The user may not be a member of the old group; the file is theirs nevertheless.
                let _ = fchown(file, None, Some(old.gid()));
            }
        }
        file.set_permissions(permissions).map_err(failed)?;
    }
    #[cfg(not(unix))]
    let _ = (file, mode_of(path));
    Ok(())
}

/// Takes the permissions of the group and of others from a file, if it exists.
pub(crate) fn make_private(path: &Path) -> Result<(), Problem> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = mode_of(path);
        // The mode of a file that does not exist yet is private already.
        if mode & 0o077 != 0 {
            let permissions = std::fs::Permissions::from_mode(mode & 0o600);
            std::fs::set_permissions(path, permissions)
                .map_err(|error| Problem::io(path, "make private", &error))?;
        }
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// Folders that must be created for a file, the outermost first.
pub(crate) fn missing_folders(path: &Path) -> Vec<PathBuf> {
    let folders = path.ancestors().skip(1);
    let missing = folders.take_while(|folder| !folder.exists());
    let mut missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
    missing.reverse();
    missing
}
