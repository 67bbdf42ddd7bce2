//! Hashes of file contents, used to detect changes since a file was read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pegboard_model::Limits;

use crate::regular_file::read_regular_file;

/// The state of each recorded file at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContentHashes(BTreeMap<PathBuf, FileState>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileState {
    /// The file does not exist or cannot be read.
    Missing,
    /// The file contains only whitespace.
    Blank,
    Hash(blake3::Hash),
}

impl FileState {
    fn from_bytes(bytes: &[u8]) -> Self {
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        match text.iter().all(u8::is_ascii_whitespace) {
            true => Self::Blank,
            false => Self::Hash(blake3::hash(bytes)),
        }
    }
}

impl ContentHashes {
    /// Records the current state of the files.
    pub(crate) fn of_files(files: &[PathBuf]) -> Self {
        let mut contents = Self::default();
        files.iter().for_each(|file| contents.record(file));
        contents
    }

    /// Records the current state of a file. Call this before reading the file for another purpose, so that a change
    /// in between is detected.
    pub fn record(&mut self, file: &Path) {
        let read = read_regular_file(file, Limits::default().config_bytes);
        let content = read.map_or(FileState::Missing, |bytes| FileState::from_bytes(&bytes));
        self.0.insert(file.to_owned(), content);
    }

    /// Records the bytes that were read from a file, or `None` if it does not exist.
    pub(crate) fn record_read(&mut self, file: &Path, bytes: Option<&[u8]>) {
        let content = bytes.map_or(FileState::Missing, FileState::from_bytes);
        self.0.insert(file.to_owned(), content);
    }

    /// Adds the records of another set.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Returns these records, with the earlier state for files that `earlier` contains.
    pub(crate) fn or_earlier(&self, earlier: &Self) -> Self {
        let contents = self.0.iter().map(|(file, now)| {
            let content = earlier.0.get(file).unwrap_or(now);
            (file.clone(), *content)
        });
        Self(contents.collect())
    }

    /// Whether a file contained anything other than whitespace.
    pub fn has_text(&self, file: &Path) -> bool {
        matches!(self.0.get(file), Some(FileState::Hash(_)))
    }

    /// Whether a file that had content is now empty or missing.
    pub(crate) fn lost_text(&self, now: &Self) -> bool {
        self.0
            .keys()
            .any(|file| self.has_text(file) && !now.has_text(file))
    }
}
