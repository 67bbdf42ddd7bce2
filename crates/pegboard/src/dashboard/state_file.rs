//! Opens small files of the state directory without blocking.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Opens a regular file. Anything else, such as a pipe, which would block, is an error; links are not followed.
///
/// # Errors
/// Fails if the file cannot be opened, or if it is not a regular file.
pub(super) fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY).bits();
    options.custom_flags(i32::try_from(flags).unwrap_or(0));
    let file = options.open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("not a regular file")),
    }
}

/// Reads a regular file as text, up to `limit` bytes.
///
/// # Errors
/// Fails like [`open`], and if the file is not UTF-8.
pub(super) fn read(path: &Path, limit: u64) -> io::Result<String> {
    let mut text = String::new();
    let file = open(path, OpenOptions::new().read(true))?;
    file.take(limit).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_store_k07_a_pipe_or_a_link_in_place_of_a_state_file_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let (file, pipe, link) = (
            folder.path().join("file"),
            folder.path().join("pipe"),
            folder.path().join("link"),
        );
        std::fs::write(&file, "12345").unwrap();
        assert_eq!(read(&file, 3).unwrap(), "123");
        let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, mode, 0).unwrap();
        assert!(read(&pipe, 3).is_err());
        assert!(open(&pipe, OpenOptions::new().write(true)).is_err());
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(read(&link, 3).is_err());
    }
}
