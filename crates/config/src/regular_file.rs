//! Reads regular files up to a size limit, without ever blocking. A named pipe at the path of a config file would
//! otherwise block every command.

use std::convert::Infallible;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::Path;

use pegboard_model::Reason;

use crate::problem::{Problem, shown_path};

#[derive(Debug)]
pub(crate) enum ReadError {
    Io(io::Error),
    /// A folder, pipe, socket or device.
    NotRegular,
    TooLarge,
}

impl ReadError {
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Self::Io(error) if error.kind() == io::ErrorKind::NotFound)
    }
}

impl From<ReadError> for io::Error {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Io(error) => error,
            ReadError::NotRegular => Self::other("it is not a regular file"),
            ReadError::TooLarge => Self::other("the file is too large"),
        }
    }
}

/// The error for a path that is not a regular file, with what it is.
pub(crate) fn not_regular(path: &Path) -> Problem {
    let kind = std::fs::metadata(path).map_or("not a regular file", |metadata| kind(&metadata));
    let message = format!("`{}` is {kind}", shown_path(path));
    let help = "replace it with a regular file, or remove it";
    Problem::error(Reason::ConfigIo, message)
        .help(help)
        .in_file(path)
}

/// Returns a problem if a path exists and is not a regular file. Opens nothing.
pub(crate) fn special_file_problem(path: &Path) -> Option<Problem> {
    let metadata = std::fs::metadata(path).ok()?;
    (!metadata.is_file()).then(|| not_regular(path))
}

fn kind(metadata: &Metadata) -> &'static str {
    if metadata.is_dir() {
        return "a folder, not a file";
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kind = metadata.file_type();
        if kind.is_fifo() {
            return "a named pipe, not a regular file";
        }
        if kind.is_socket() {
            return "a socket, not a regular file";
        }
        if kind.is_char_device() || kind.is_block_device() {
            return "a device, not a regular file";
        }
    }
    "not a regular file"
}

/// Reads a regular file of at most `limit` bytes.
///
/// # Errors
/// Fails if the file cannot be opened or read, is not a regular file, or is larger.
pub(crate) fn read_regular_file(path: &Path, limit: u64) -> Result<Vec<u8>, ReadError> {
    let read = read_regular_file_if(path, limit, |_| Ok::<_, Infallible>(()))?;
    let Ok(bytes) = read;
    Ok(bytes)
}

/// Like [`read_regular_file`], if the file's metadata passes a check. The inner error is the check's.
///
/// # Errors
/// Fails as [`read_regular_file`] does.
pub(crate) fn read_regular_file_if<E>(
    path: &Path,
    limit: u64,
    check: impl FnOnce(&Metadata) -> Result<(), E>,
) -> Result<Result<Vec<u8>, E>, ReadError> {
    let file = open(path).map_err(ReadError::Io)?;
    let metadata = file.metadata().map_err(ReadError::Io)?;
    if !metadata.is_file() {
        return Err(ReadError::NotRegular);
    }
    if let Err(error) = check(&metadata) {
        return Ok(Err(error));
    }
    if metadata.len() > limit {
        return Err(ReadError::TooLarge);
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
    // The file may grow while it is read.
    file.take(limit.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(ReadError::Io)?;
    if bytes.len() as u64 > limit {
        return Err(ReadError::TooLarge);
    }
    Ok(Ok(bytes))
}

/// Opens without waiting for a writer, and without making a terminal the controlling one.
fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt;
        let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits();
        options.custom_flags(i32::try_from(flags).unwrap_or(0));
    }
    options.open(path)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn r_cfg_04_only_a_regular_file_within_the_limit_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "12345").unwrap();
        assert_eq!(read_regular_file(&path, 5).unwrap(), b"12345");
        assert!(matches!(
            read_regular_file(&path, 4),
            Err(ReadError::TooLarge)
        ));
        assert!(matches!(
            read_regular_file(folder.path(), 9),
            Err(ReadError::NotRegular)
        ));
        let missing = read_regular_file(&folder.path().join("none"), 9).unwrap_err();
        assert!(missing.is_missing());
        let pipe = folder.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
        assert!(matches!(
            read_regular_file(&pipe, 9),
            Err(ReadError::NotRegular)
        ));
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert_eq!(read_regular_file(&link, 9).unwrap(), b"12345");
    }
}
