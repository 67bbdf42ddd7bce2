//! The stderr output of servers, in one bounded file per server.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use pegboard_model::ServerName;

use crate::{StateDir, StoreResult, errors, private_files};

/// How much of a log is kept when it is truncated, and shown.
const KEPT_BYTES: u64 = 64 * 1024;
/// The size at which a log is truncated. The distance to [`KEPT_BYTES`] makes truncation rare.
const FILE_BYTES_MAX: u64 = 128 * 1024;

/// The stderr logs of all servers.
#[derive(Clone, Debug)]
pub struct ServerLogs {
    folder: PathBuf,
}

impl ServerLogs {
    /// Opens the logs of a state folder.
    pub fn open(state: &StateDir) -> Self {
        Self {
            folder: state.logs(),
        }
    }

    /// Appends text. An error is ignored: a log that cannot be written must not affect the server.
    pub fn append(&self, server: &ServerName, text: &str) {
        let _ = self.try_append(server, text.as_bytes());
    }

    /// Returns the end of a server's log, starting at a line; empty if there is none. The text is untrusted and must
    /// be shown through [`pegboard_model::UntrustedText`].
    ///
    /// # Errors
    /// Fails if the log exists and cannot be read.
    pub fn read(&self, server: &ServerName) -> StoreResult<String> {
        let path = self.path(server);
        let file = private_files::open_own_file(&path, File::options().read(true));
        let tail = file.and_then(|mut file| tail(&mut file));
        match tail {
            Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
            Err(error) => Err(errors::io("read the log", &path, &error)),
        }
    }

    /// Deletes a server's log.
    ///
    /// # Errors
    /// Fails if the log exists and cannot be deleted.
    pub fn forget(&self, server: &ServerName) -> StoreResult<()> {
        let path = self.path(server);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(errors::io("remove the log", &path, &error))
            }
            _ => Ok(()),
        }
    }

    fn path(&self, server: &ServerName) -> PathBuf {
        self.folder.join(format!("{server}.log"))
    }

    /// The lock prevents another process from appending between reading the tail and truncating.
    fn try_append(&self, server: &ServerName, text: &[u8]) -> io::Result<()> {
        let mut options = private_files::options();
        let options = options.read(true).append(true).create(true);
        let mut file = private_files::open_own_file(&self.path(server), options)?;
        file.lock()?;
        let surplus = text.len().saturating_sub(KEPT_BYTES as usize);
        file.write_all(text.get(surplus..).unwrap_or_default())?;
        if file.metadata()?.len() > FILE_BYTES_MAX {
            let kept = tail(&mut file)?;
            file.set_len(0)?;
            file.write_all(&kept)?;
        }
        Ok(())
    }
}

/// Returns the last [`KEPT_BYTES`] of a file, without an incomplete first line.
fn tail(file: &mut File) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len();
    let start = length.saturating_sub(KEPT_BYTES);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(KEPT_BYTES).read_to_end(&mut bytes)?;
    if start > 0
        && let Some(end) = bytes.iter().position(|byte| *byte == b'\n')
        && end + 1 < bytes.len()
    {
        bytes.drain(..=end);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logs() -> (tempfile::TempDir, ServerLogs, ServerName) {
        let folder = tempfile::tempdir().unwrap();
        let logs = ServerLogs::open(&StateDir::open(folder.path()).unwrap());
        (folder, logs, ServerName::parse("github").unwrap())
    }

    #[test]
    fn what_was_appended_is_read_until_it_is_forgotten() {
        let (_folder, logs, server) = logs();
        assert_eq!(logs.read(&server).unwrap(), "");
        logs.append(&server, "one\n");
        logs.append(&server, "two é\n");
        assert_eq!(logs.read(&server).unwrap(), "one\ntwo é\n");
        logs.forget(&server).unwrap();
        logs.forget(&server).unwrap();
        assert_eq!(logs.read(&server).unwrap(), "");
    }

    #[test]
    fn r_sec_01_a_log_stays_small_and_keeps_its_end() {
        let (folder, logs, server) = logs();
        for number in 0..20_000 {
            logs.append(
                &server,
                &format!("line {number} of a server that talks much\n"),
            );
        }
        let path = folder.path().join("logs/github.log");
        assert!(fs::metadata(&path).unwrap().len() <= FILE_BYTES_MAX);
        let text = logs.read(&server).unwrap();
        assert!(text.len() as u64 <= KEPT_BYTES && text.len() as u64 > KEPT_BYTES / 2);
        assert!(text.starts_with("line "), "it starts with a whole line");
        assert!(text.ends_with("line 19999 of a server that talks much\n"));
        logs.append(&server, &"é".repeat(200_000));
        assert!(fs::metadata(&path).unwrap().len() <= FILE_BYTES_MAX);
        assert!(logs.read(&server).unwrap().ends_with("éé"));
    }

    #[test]
    fn several_writers_lose_nothing_of_each_other() {
        let (_folder, logs, server) = logs();
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let (logs, server) = (&logs, &server);
                scope.spawn(move || {
                    (0..100).for_each(|n| logs.append(server, &format!("{writer}-{n}\n")))
                });
            }
        });
        assert_eq!(logs.read(&server).unwrap().lines().count(), 400);
    }

    #[cfg(unix)]
    #[test]
    fn r_store_k07_a_pipe_or_a_link_in_place_of_a_log_is_refused_at_once() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let (folder, logs, server) = logs();
        let path = folder.path().join("logs/github.log");
        let kind = rustix::fs::FileType::Fifo;
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &path, kind, mode, 0).unwrap();
        let error = logs.read(&server).unwrap_err();
        assert!(error.message.contains("regular file"), "{}", error.message);
        // More than a pipe buffers: the write would block.
        logs.append(&server, &"x".repeat(KEPT_BYTES as usize * 2));

        fs::remove_file(&path).unwrap();
        let target = folder.path().join("target");
        fs::write(&target, "foreign").unwrap();
        fs::set_permissions(&target, fs::Permissions::from_mode(0o644)).unwrap();
        symlink(&target, &path).unwrap();
        logs.append(&server, "text");
        let error = logs.read(&server).unwrap_err();
        assert!(error.message.contains("symbolic link"), "{}", error.message);
        assert_eq!(fs::read_to_string(&target).unwrap(), "foreign");
        let mode = fs::metadata(&target).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o644);
    }

    #[cfg(unix)]
    #[test]
    fn r_store_k07_logs_are_0600() {
        use std::os::unix::fs::PermissionsExt;
        let (folder, logs, server) = logs();
        logs.append(&server, "x");
        let mode = fs::metadata(folder.path().join("logs/github.log"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
