//! Notices that the program's file was replaced by another version.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// The file of this program as it was at the start.
pub(super) struct ProgramFile {
    path: PathBuf,
    identity: Option<(u64, u64, i64)>,
}

impl ProgramFile {
    pub(super) fn own() -> Self {
        let path = std::env::current_exe().unwrap_or_default();
        let identity = path.metadata().ok().map(identity);
        Self { path, identity }
    }

    /// Whether the file is another one now. A file that is missing for a moment while it is replaced does not count.
    pub(super) fn is_replaced(&self) -> bool {
        match self.path.metadata() {
            Ok(metadata) => self.identity.is_some() && self.identity != Some(identity(metadata)),
            Err(_) => false,
        }
    }
}

fn identity(metadata: Metadata) -> (u64, u64, i64) {
    (metadata.dev(), metadata.ino(), metadata.mtime())
}
