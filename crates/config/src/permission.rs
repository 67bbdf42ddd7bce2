//! Who else may change a file.

use std::path::Path;

/// Why a file could have been written by somebody else, when it could.
#[cfg(unix)]
pub(crate) fn writable_by_others(path: &Path) -> Option<&'static str> {
    use std::os::unix::fs::MetadataExt;
    let metadata = std::fs::metadata(path).ok()?;
    let own = rustix::process::geteuid().as_raw();
    // What root owns, root could change anyway.
    if metadata.uid() != own && metadata.uid() != 0 {
        return Some("belongs to another user");
    }
    match metadata.mode() & 0o022 {
        0 => None,
        mode if mode & 0o002 != 0 => Some("can be changed by every user"),
        _ => Some("can be changed by its group"),
    }
}

/// Why a file could have been written by somebody else; not known on this system.
#[cfg(not(unix))]
pub(crate) fn writable_by_others(_path: &Path) -> Option<&'static str> {
    None
}
