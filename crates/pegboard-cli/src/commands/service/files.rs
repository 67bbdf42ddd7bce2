//! The files of the service. Each carries a checksum of its text, by which it is recognised: a file without it, or with
//! another text, was not written by Pegboard and is neither replaced nor removed.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use pegboard_config::write_file_atomically;
use pegboard_model::{Reason, ToolError, ToolResult};
use serde::Serialize;

/// The beginning of the comment with the checksum.
const MARK: &str = "Written by `pegboard service install`, checksum ";
/// Maximum size of a file. A larger one is not ours.
const FILE_BYTES: u64 = 64 * 1024;
/// Hex digits of the checksum.
const CHECKSUM_CHARS: usize = 16;

/// A file of the service as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ServiceFile {
    pub(super) path: PathBuf,
    pub(super) text: String,
}

/// What is at the place of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FileState {
    Missing,
    /// As this program would write it.
    Installed,
    /// Written by Pegboard, with another version or for other folders.
    Outdated,
    /// Written by Pegboard and changed afterwards.
    Changed,
    /// Written by someone else, or unreadable.
    Foreign,
}

impl ServiceFile {
    /// Adds the comment with the checksum as the first line, or as the second one of an XML file.
    pub(super) fn new(path: PathBuf, text: &str) -> Self {
        let sum = checksum(text);
        let text = match text
            .strip_prefix("<?xml")
            .and_then(|_| text.split_once('\n'))
        {
            Some((first, rest)) => format!("{first}\n<!-- {MARK}{sum} -->\n{rest}"),
            None => format!("# {MARK}{sum}\n{text}"),
        };
        Self { path, text }
    }

    /// Returns what is at the place of the file.
    pub(super) fn state(&self) -> FileState {
        match read(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => FileState::Missing,
            Err(_) => FileState::Foreign,
            Ok(text) if text == self.text => FileState::Installed,
            Ok(text) => match own_text(&text) {
                Some((sum, rest)) if sum == checksum(&rest) => FileState::Outdated,
                Some(_) => FileState::Changed,
                None => FileState::Foreign,
            },
        }
    }

    /// Fails if the file must not be replaced or removed.
    pub(super) fn check(&self) -> ToolResult<()> {
        let path = self.path.display();
        let message = match self.state() {
            FileState::Missing | FileState::Installed | FileState::Outdated => return Ok(()),
            FileState::Changed => {
                format!("`{path}` was changed after `pegboard service install` wrote it")
            }
            FileState::Foreign => format!("`{path}` was not written by Pegboard"),
        };
        Err(ToolError::new(Reason::ServiceFileForeign, message))
    }

    /// Writes the file.
    pub(super) fn write(&self) -> ToolResult<()> {
        let written = match self.path.parent() {
            Some(folder) => std::fs::create_dir_all(folder),
            None => Ok(()),
        };
        let written =
            written.and_then(|()| write_file_atomically(&self.path, self.text.as_bytes(), 0o644));
        written.map_err(|error| failed("write", &self.path, &error))
    }

    /// Removes the file. Returns whether there was one.
    pub(super) fn remove(&self) -> ToolResult<bool> {
        match std::fs::remove_file(&self.path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(failed("remove", &self.path, &error)),
        }
    }
}

fn failed(verb: &str, path: &Path, error: &io::Error) -> ToolError {
    let message = format!("cannot {verb} `{}`: {error}", path.display());
    ToolError::new(Reason::ConfigIo, message)
        .with_remedy("Check the free space and permissions of its folder.")
}

/// Reads a file of limited size. A link is not followed: its target may be a file of another program.
fn read(path: &Path) -> io::Result<String> {
    if !path.symlink_metadata()?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut text = String::new();
    let file = File::open(path)?;
    let read = file.take(FILE_BYTES).read_to_string(&mut text)?;
    match u64::try_from(read) {
        Ok(read) if read < FILE_BYTES => Ok(text),
        _ => Err(io::Error::other("it is too large")),
    }
}

/// Returns the checksum in the comment of a text, and the text without the comment.
fn own_text(text: &str) -> Option<(String, String)> {
    let (before, comment, rest) = match text.split_once('\n')? {
        (first, rest) if first.starts_with("<?xml") => {
            let (comment, rest) = rest.split_once('\n')?;
            (format!("{first}\n"), comment, rest)
        }
        (comment, rest) => (String::new(), comment, rest),
    };
    let comment = comment
        .trim_start_matches("<!-- ")
        .trim_start_matches("# ")
        .trim_end_matches(" -->");
    let sum = comment.strip_prefix(MARK)?;
    Some((sum.to_owned(), format!("{before}{rest}")))
}

fn checksum(text: &str) -> String {
    let hash = blake3::hash(text.as_bytes()).to_hex();
    hash.chars().take(CHECKSUM_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_share_01_only_files_that_were_written_here_are_recognised() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/pegboard.service");
        for text in ["[Unit]\nA=1\n", "<?xml version=\"1.0\"?>\n<plist/>\n"] {
            let file = ServiceFile::new(path.clone(), text);
            assert_eq!(file.state(), FileState::Missing);
            file.write().unwrap();
            assert_eq!(file.state(), FileState::Installed);
            let other = ServiceFile::new(path.clone(), &text.replace('1', "2"));
            let expected = match other == file {
                true => FileState::Installed,
                false => FileState::Outdated,
            };
            assert_eq!(other.state(), expected);
            std::fs::write(&path, format!("{}# mine\n", file.text)).unwrap();
            assert_eq!(file.state(), FileState::Changed);
            assert!(file.check().is_err());
            std::fs::write(&path, text).unwrap();
            assert_eq!(file.state(), FileState::Foreign);
            assert_eq!(file.check().unwrap_err().reason, Reason::ServiceFileForeign);
            assert!(file.remove().unwrap());
            assert!(!file.remove().unwrap());
        }
    }

    #[test]
    fn r_share_01_links_and_large_files_are_foreign() {
        let folder = tempfile::tempdir().unwrap();
        let file = ServiceFile::new(folder.path().join("unit"), "[Unit]\n");
        let target = folder.path().join("target");
        std::fs::write(&target, &file.text).unwrap();
        std::os::unix::fs::symlink(&target, &file.path).unwrap();
        assert_eq!(file.state(), FileState::Foreign);
        std::fs::remove_file(&file.path).unwrap();
        std::fs::write(&file.path, vec![b'a'; 70_000]).unwrap();
        assert_eq!(file.state(), FileState::Foreign);
    }
}
