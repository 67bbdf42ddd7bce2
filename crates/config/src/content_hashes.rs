//! What files held when they were read, so that a change since then can be noticed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pegboard_model::Limits;

use crate::regular_file::read_regular_file;

/// The content of each file at one moment, as hashes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContentHashes(BTreeMap<PathBuf, FileState>);

/// What a file held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileState {
    /// It was not there or could not be read.
    Missing,
    /// It held nothing but white space.
    Blank,
    Hash(blake3::Hash),
}

impl FileState {
    fn of(bytes: &[u8]) -> Self {
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        match text.iter().all(u8::is_ascii_whitespace) {
            true => Self::Blank,
            false => Self::Hash(blake3::hash(bytes)),
        }
    }
}

impl ContentHashes {
    /// What the files hold now.
    pub(crate) fn now(files: &[PathBuf]) -> Self {
        let mut contents = Self::default();
        files.iter().for_each(|file| contents.record(file));
        contents
    }

    /// Records what a file holds now. To be called before the file is read for another purpose.
    pub fn record(&mut self, file: &Path) {
        let read = read_regular_file(file, Limits::default().config_bytes);
        let content = read.map_or(FileState::Missing, |bytes| FileState::of(&bytes));
        self.0.insert(file.to_owned(), content);
    }

    /// Records the bytes that were read of a file; `None` if it is not there.
    pub(crate) fn record_read(&mut self, file: &Path, bytes: Option<&[u8]>) {
        let content = bytes.map_or(FileState::Missing, FileState::of);
        self.0.insert(file.to_owned(), content);
    }

    /// Adds what another reading recorded of the same moment.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// The same contents, but of the files that were recorded earlier, what they held then.
    pub(crate) fn or_earlier(&self, earlier: &Self) -> Self {
        let contents = self.0.iter().map(|(file, now)| {
            let content = earlier.0.get(file).unwrap_or(now);
            (file.clone(), *content)
        });
        Self(contents.collect())
    }

    /// Whether a file held something.
    pub fn has_text(&self, file: &Path) -> bool {
        matches!(self.0.get(file), Some(FileState::Hash(_)))
    }

    /// Whether a file that held something holds nothing now, or is gone.
    pub(crate) fn lost_text(&self, now: &Self) -> bool {
        self.0
            .keys()
            .any(|file| self.has_text(file) && !now.has_text(file))
    }
}
