//! The private working directory of a server whose definition names none.
//!
//! Programs take code from the directory they run in: `python3 -m` its modules, package runners its
//! `node_modules/.bin`, many servers a configuration file. A server of the user's own therefore never runs in the
//! folder in which Pegboard happens to be started. Each server has a directory of its own, so that a file that one
//! server writes is not code for another one. It is not emptied: files that a server leaves are its own.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use pegboard_model::ServerName;

/// Only the owner may enter.
const PRIVATE: u32 = 0o700;

/// Returns the private working directory of a server below `base`, creating both where they are missing.
///
/// # Errors
/// Fails if one of the two is a symbolic link, not a directory, or owned by another user.
pub(crate) fn private_folder(
    base: &Path,
    server: &ServerName,
) -> Result<PathBuf, (PathBuf, String)> {
    let folder = base.join(server.as_str());
    for part in [base, &folder] {
        prepare(part).map_err(|why| (part.to_owned(), why))?;
    }
    Ok(folder)
}

fn prepare(folder: &Path) -> Result<(), String> {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};

    match fs::DirBuilder::new().mode(PRIVATE).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error.to_string()),
        _ => {}
    }
    // Not `metadata`: a link would lead somewhere that others may write.
    let about = fs::symlink_metadata(folder).map_err(|error| error.to_string())?;
    if !about.is_dir() {
        return Err("it is not a directory".to_owned());
    }
    if about.uid() != rustix::process::geteuid().as_raw() {
        return Err("it belongs to another user".to_owned());
    }
    if about.mode() & 0o777 != PRIVATE {
        fs::set_permissions(folder, fs::Permissions::from_mode(PRIVATE))
            .map_err(|error| error.to_string())?;
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
