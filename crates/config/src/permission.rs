//! Ownership and permissions of config files.

use std::fs::Metadata;
use std::path::Path;

/// Returns why other users could have written a file, or `None` if they could not.
#[cfg(unix)]
pub(crate) fn writable_by_others(path: &Path) -> Option<&'static str> {
    use std::os::unix::fs::MetadataExt;
    let metadata = std::fs::metadata(path).ok()?;
    if is_owned_by_other(&metadata) {
        return Some("belongs to another user");
    }
    match metadata.mode() & 0o022 {
        0 => None,
        mode if mode & 0o002 != 0 => Some("can be changed by every user"),
        _ => Some("can be changed by its group"),
    }
}

/// Not checked on this system.
#[cfg(not(unix))]
pub(crate) fn writable_by_others(_path: &Path) -> Option<&'static str> {
    None
}

/// Whether the owner is neither this user nor root. Root could change any file anyway.
#[cfg(unix)]
pub(crate) fn is_owned_by_other(metadata: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    is_other(metadata.uid(), rustix::process::geteuid().as_raw())
}

/// Not checked on this system.
#[cfg(not(unix))]
pub(crate) fn is_owned_by_other(_metadata: &Metadata) -> bool {
    false
}

#[cfg(unix)]
fn is_other(owner: u32, own: u32) -> bool {
    owner != own && owner != 0
}

/// Whether another user placed this file: the file, a link to it, or its `.pegboard` folder belongs to them. Links
/// are checked by themselves, because a link could bring a file of this user into a place where it was not meant to
/// be read.
pub(crate) fn is_placed_by_other(path: &Path) -> bool {
    let folder = path.parent().filter(|folder| folder.ends_with(".pegboard"));
    let links = [Some(path), folder].into_iter().flatten();
    let is_other =
        |found: std::io::Result<Metadata>| found.is_ok_and(|metadata| is_owned_by_other(&metadata));
    links
        .flat_map(|path| [std::fs::symlink_metadata(path), std::fs::metadata(path)])
        .any(is_other)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn r_sec_07_this_user_and_root_do_not_count_as_other_users() {
        assert!(is_other(1001, 1000));
        assert!(!is_other(1000, 1000));
        assert!(!is_other(0, 1000));
        assert!(is_other(1000, 0), "root reads no file of a user");
    }
}
