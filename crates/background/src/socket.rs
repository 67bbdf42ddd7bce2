//! Where the background process listens.

use std::fs::{DirBuilder, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::peer::Confinement;

/// Maximum length of a socket's path: the limit of macOS, the smaller one.
const PATH_BYTES: usize = 103;
/// Bytes that the process appends to the path while it binds the socket.
const SUFFIX_BYTES: usize = 16;

/// Folders in which a socket may be created, in order of preference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketFolder {
    /// `XDG_RUNTIME_DIR/pegboard`.
    Runtime,
    /// `run` in the state folder.
    State,
    /// `/tmp/pegboard-UID`, if the other paths are too long.
    Temporary,
}

/// Returns a path for the socket of a state folder, in a folder that only this user can access, which is created if
/// necessary.
///
/// # Errors
/// Fails if no folder is usable.
pub fn socket_path(state: &Path, runtime: Option<&Path>) -> io::Result<(PathBuf, SocketFolder)> {
    let name = socket_name(state);
    let uid = rustix::process::geteuid().as_raw();
    let candidates = [
        (
            runtime.map(|folder| folder.join("pegboard")),
            SocketFolder::Runtime,
        ),
        (Some(state.join("run")), SocketFolder::State),
        (
            Some(PathBuf::from(format!("/tmp/pegboard-{uid}"))),
            SocketFolder::Temporary,
        ),
    ];
    let mut failure = io::Error::other("no folder for the socket is usable");
    for (folder, kind) in candidates {
        let Some(folder) = folder else { continue };
        // The variable may be left over from another user, for example after `su`.
        if kind == SocketFolder::Runtime && !folder.parent().is_some_and(is_private_folder) {
            continue;
        }
        let path = folder.join(&name);
        if path.as_os_str().len() + SUFFIX_BYTES > PATH_BYTES {
            continue;
        }
        match create_private_folder(&folder) {
            Ok(()) => return Ok((path, kind)),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

/// Returns a short name for a state folder.
pub fn state_id(state: &Path) -> String {
    let hash = blake3::hash(state.as_os_str().as_encoded_bytes()).to_hex();
    hash.chars().take(8).collect()
}

/// Returns the path, in the folder of [`SocketFolder::Runtime`], of the socket on which a service manager listens for
/// the process of a state folder. Returns `None` if there is no such socket, or if another user can access it.
pub fn activation_socket(state: &Path, runtime: &Path) -> Option<PathBuf> {
    use std::os::unix::fs::FileTypeExt;
    let folder = runtime.join("pegboard");
    let path = folder.join(format!("{}.activate", state_id(state)));
    let is_socket = |metadata: Metadata| {
        let is_own = metadata.uid() == rustix::process::geteuid().as_raw();
        metadata.file_type().is_socket() && is_own
    };
    let is_private = is_private_folder(runtime) && is_private_folder(&folder);
    let is_usable = is_private && path.symlink_metadata().is_ok_and(is_socket);
    is_usable.then_some(path)
}

/// Several state folders and several sandboxes of a user have different processes.
fn socket_name(state: &Path) -> String {
    let sandbox = Confinement::own().unwrap_or_default().name();
    format!("{}{sandbox}", state_id(state))
}

fn create_private_folder(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    if is_private_folder(folder) {
        return Ok(());
    }
    let message = format!("`{}` can be used by other users", folder.display());
    Err(io::Error::new(io::ErrorKind::PermissionDenied, message))
}

/// Whether a path is a folder, not a link, that belongs to this user and that no other user can access.
pub fn is_private_folder(folder: &Path) -> bool {
    let is_private = |metadata: Metadata| {
        let is_own = metadata.uid() == rustix::process::geteuid().as_raw();
        metadata.is_dir() && is_own && metadata.mode() & 0o077 == 0
    };
    folder.symlink_metadata().is_ok_and(is_private)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn set_mode(folder: &Path, mode: u32) {
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn r_share_01_the_socket_is_in_a_private_folder() {
        let root = tempfile::Builder::new()
            .prefix("p")
            .tempdir_in("/tmp")
            .unwrap();
        let (state, runtime) = (root.path().join("s"), root.path().join("r"));
        for folder in [&state, &runtime] {
            std::fs::create_dir(folder).unwrap();
        }
        set_mode(&runtime, 0o700);
        let kind = |runtime: Option<&Path>| socket_path(&state, runtime).unwrap().1;
        assert_eq!(kind(Some(&runtime)), SocketFolder::Runtime);
        assert_eq!(kind(None), SocketFolder::State);
        set_mode(&runtime, 0o755);
        assert_eq!(
            kind(Some(&runtime)),
            SocketFolder::State,
            "others can enter it"
        );
        assert_eq!(
            kind(Some(&root.path().join("missing"))),
            SocketFolder::State
        );
        let link = root.path().join("link");
        std::os::unix::fs::symlink(&runtime, &link).unwrap();
        set_mode(&runtime, 0o700);
        assert_eq!(kind(Some(&link)), SocketFolder::State, "a link");
        set_mode(&state.join("run"), 0o770);
        let other = kind(None);
        assert_eq!(other, SocketFolder::Temporary, "a group can enter it");
    }

    #[test]
    fn r_share_01_a_long_path_is_replaced_by_a_short_one() {
        let root = tempfile::tempdir().unwrap();
        let state = root.path().join("a".repeat(120));
        std::fs::create_dir(&state).unwrap();
        let (path, kind) = socket_path(&state, None).unwrap();
        assert_eq!(kind, SocketFolder::Temporary);
        assert!(path.as_os_str().len() <= PATH_BYTES);
        let other = socket_path(root.path(), None).unwrap().0;
        assert_ne!(
            path.file_name(),
            other.file_name(),
            "each state folder has its own"
        );
    }
}
