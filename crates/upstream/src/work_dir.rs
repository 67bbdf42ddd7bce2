//! The private working directory of a server without `cwd`.
//!
//! Programs load code from their working directory: `python3 -m` its modules, package runners its `node_modules/.bin`,
//! many servers a configuration file. A user's own server therefore never runs in the folder in which Pegboard happens
//! to be started. Each server has its own directory, so that a file written by one server is not code for another. It
//! is not emptied: files that a server leaves are its own.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use pegboard_model::ServerName;

/// Only the owner has access.
const PRIVATE: u32 = 0o700;

/// Returns the private working directory of a server below `base` and creates both if they are missing. If `base` is
/// not writable, uses a directory of the user below the system's temporary folder.
///
/// # Errors
/// Fails if one of the two is a symbolic link, not a directory, or owned by another user.
pub(crate) fn private_folder(
    base: &Path,
    server: &ServerName,
) -> Result<PathBuf, (PathBuf, String)> {
    private_folder_or(base, &temporary_base(), server)
}

/// Returns the parent of working directories while the usual one is not writable.
fn temporary_base() -> PathBuf {
    let user = rustix::process::geteuid().as_raw();
    std::env::temp_dir().join(format!("pegboard-work-{user}"))
}

fn private_folder_or(
    base: &Path,
    other: &Path,
    server: &ServerName,
) -> Result<PathBuf, (PathBuf, String)> {
    match folder_below(base, server) {
        Err((_, error)) if is_unwritable(&error) => folder_below(other, server),
        outcome => outcome,
    }
    .map_err(|(folder, error)| (folder, error.to_string()))
}

/// Returns whether nothing can be created, although existing files may be used.
fn is_unwritable(error: &io::Error) -> bool {
    use io::ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    match error.kind() {
        QuotaExceeded | ReadOnlyFilesystem | StorageFull => true,
        PermissionDenied => error.raw_os_error().is_some(),
        _ => false,
    }
}

fn folder_below(base: &Path, server: &ServerName) -> Result<PathBuf, (PathBuf, io::Error)> {
    let folder = base.join(server.as_str());
    for part in [base, &folder] {
        prepare(part).map_err(|error| (part.to_owned(), error))?;
    }
    Ok(folder)
}

fn prepare(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};

    let mut builder = fs::DirBuilder::new();
    // The parent may have been deleted while we run.
    builder.mode(PRIVATE).recursive(true);
    match builder.create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    // Not `metadata`: a link could lead to a folder that others can write.
    let about = fs::symlink_metadata(folder)?;
    if !about.is_dir() {
        return Err(io::Error::other("it is not a directory"));
    }
    if about.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other("it belongs to another user"));
    }
    if about.mode() & 0o777 != PRIVATE {
        fs::set_permissions(folder, fs::Permissions::from_mode(PRIVATE))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn r_sec_09_each_server_has_a_private_folder_of_its_own() {
        let root = tempfile::tempdir().unwrap();
        let base = root.path().join("work");
        let name = |name| ServerName::parse(name).unwrap();
        let one = private_folder(&base, &name("one")).unwrap();
        let two = private_folder(&base, &name("two")).unwrap();
        assert_ne!(one, two);
        fs::set_permissions(&one, fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(private_folder(&base, &name("one")).unwrap(), one);
        for folder in [&base, &one, &two] {
            assert_eq!(mode(folder), 0o700);
            let foreign = fs::read_dir(folder).unwrap().count();
            assert_eq!(foreign, if folder == &base { 2 } else { 0 });
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn r_store_05_a_server_runs_elsewhere_while_the_usual_place_cannot_be_written() {
        let root = tempfile::tempdir().unwrap();
        // Even root cannot create anything there.
        let base = Path::new("/sys/pegboard-test/work");
        let other = root.path().join("other");
        let name = ServerName::parse("one").unwrap();
        let folder = private_folder_or(base, &other, &name).unwrap();
        assert_eq!(folder, other.join("one"));
        assert_eq!((mode(&other), mode(&folder)), (0o700, 0o700));
    }

    #[test]
    fn r_sec_09_a_link_or_file_in_its_place_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let base = root.path().join("work");
        fs::create_dir(&base).unwrap();
        let elsewhere = root.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        fs::set_permissions(&elsewhere, fs::Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::symlink(&elsewhere, base.join("linked")).unwrap();
        fs::write(base.join("file"), "").unwrap();
        for name in ["linked", "file"] {
            let (folder, why) =
                private_folder(&base, &ServerName::parse(name).unwrap()).unwrap_err();
            assert_eq!(folder, base.join(name));
            assert_eq!(why, "it is not a directory");
        }
        assert_eq!(
            mode(&elsewhere),
            0o755,
            "the target of the link is left alone"
        );
    }
}
