//! The stderr output of servers, in one bounded file per server.
//!
//! Each line starts with its time in milliseconds since 1970, in brackets. Lines of older versions have no time.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use pegboard_model::{ServerName, Timestamp};

use crate::{StateDir, StoreResult, errors, private_files};

/// How much of a log is kept when it is truncated, and shown.
const KEPT_BYTES: u64 = 64 * 1024;
/// The size at which a log is truncated. The distance to [`KEPT_BYTES`] makes truncation rare.
const FILE_BYTES_MAX: u64 = 128 * 1024;
/// The digits of a time, until the year 2286.
const TIME_DIGITS: usize = 13;

/// A line of a server's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// When it was written, if that is known.
    pub at: Option<Timestamp>,
    /// The text, which is untrusted and must be shown through [`pegboard_model::UntrustedText`].
    pub text: String,
}

impl LogLine {
    fn parse(line: &str) -> Self {
        let timed = line.strip_prefix('[').and_then(|line| {
            let (time, text) = line.split_once("] ")?;
            let is_time = time.len() == TIME_DIGITS && time.bytes().all(|b| b.is_ascii_digit());
            let at = time.parse().ok().filter(|_| is_time)?;
            Some((Timestamp(at), text))
        });
        Self {
            at: timed.map(|(at, _)| at),
            text: timed.map_or(line, |(_, text)| text).to_owned(),
        }
    }
}

/// The position of a reader who follows a log.
#[derive(Clone, Debug, Default)]
pub struct LogPosition {
    /// The end of the last complete line that was read.
    offset: u64,
    /// That line, which shows whether the file was truncated since.
    last: Vec<u8>,
}

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
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.unwrap_or_default().as_millis();
        let mut timed = String::with_capacity(text.len() + TIME_DIGITS + 3);
        for line in text.split_inclusive('\n') {
            timed.push_str(&format!("[{now:0TIME_DIGITS$}] {line}"));
        }
        let _ = self.try_append(server, timed.as_bytes());
    }

    /// Returns the end of a server's log, starting at a line; empty if there is none. The text is untrusted and must
    /// be shown through [`pegboard_model::UntrustedText`].
    ///
    /// # Errors
    /// Fails if the log exists and cannot be read.
    pub fn read(&self, server: &ServerName) -> StoreResult<String> {
        let bytes = self.with_file(server, tail)?;
        let text = String::from_utf8_lossy(&bytes);
        let lines = text.split_inclusive('\n');
        Ok(lines.map(|line| LogLine::parse(line).text).collect())
    }

    /// Returns the complete lines after a position, and moves the position. A new position is before the first line.
    /// If the log was truncated or replaced meanwhile, reading continues after the last line that was returned before,
    /// if it is still there.
    ///
    /// # Errors
    /// Fails if the log exists and cannot be read.
    pub fn read_from(
        &self,
        server: &ServerName,
        position: &mut LogPosition,
    ) -> StoreResult<Vec<LogLine>> {
        let from = position.clone();
        let (bytes, start) = self.with_file(server, |file| unread(file, &from))?;
        let complete = bytes.iter().rposition(|byte| *byte == b'\n');
        let complete = complete
            .and_then(|end| bytes.get(..=end))
            .unwrap_or_default();
        let text = String::from_utf8_lossy(complete);
        let lines: Vec<LogLine> = text.lines().map(LogLine::parse).collect();
        if let Some(last) = complete.split_inclusive(|byte| *byte == b'\n').next_back() {
            position.last = last.to_vec();
        }
        position.offset = start + complete.len() as u64;
        Ok(lines)
    }

    /// Reads a log. The result is empty if there is none.
    fn with_file<T: Default>(
        &self,
        server: &ServerName,
        read: impl FnOnce(&mut File) -> io::Result<T>,
    ) -> StoreResult<T> {
        let path = self.path(server);
        let file = private_files::open_own_file(&path, File::options().read(true));
        match file.and_then(|mut file| read(&mut file)) {
            Ok(read) => Ok(read),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(T::default()),
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

/// Returns the bytes after a position, and where they start in the file. A writer holds the lock while it truncates.
fn unread(file: &mut File, from: &LogPosition) -> io::Result<(Vec<u8>, u64)> {
    file.lock_shared()?;
    file.seek(SeekFrom::Start(0))?;
    let mut all = Vec::new();
    file.take(2 * FILE_BYTES_MAX).read_to_end(&mut all)?;
    let offset = usize::try_from(from.offset).unwrap_or(usize::MAX);
    let is_unchanged = all
        .get(..offset)
        .is_some_and(|before| before.ends_with(&from.last));
    let start = match is_unchanged {
        true => offset,
        false => end_of_last(&all, &from.last).unwrap_or(0),
    };
    Ok((all.split_off(start.min(all.len())), start as u64))
}

/// Returns the end of the last occurrence of a line.
fn end_of_last(all: &[u8], line: &[u8]) -> Option<usize> {
    let mut end = all.len();
    for part in all.split_inclusive(|byte| *byte == b'\n').rev() {
        if part == line {
            return Some(end);
        }
        end -= part.len();
    }
    None
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
    fn appended_entries_are_read_until_they_are_deleted() {
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
    fn r_cli_04_lines_have_times_and_old_files_stay_readable() {
        let (folder, logs, server) = logs();
        let path = folder.path().join("logs/github.log");
        fs::write(&path, "old line\n[12] no time\n").unwrap();
        logs.append(&server, "one\ntwo\n");
        let text = "old line\n[12] no time\none\ntwo\n";
        assert_eq!(logs.read(&server).unwrap(), text);
        let mut position = LogPosition::default();
        let lines = logs.read_from(&server, &mut position).unwrap();
        let timed: Vec<_> = lines
            .iter()
            .map(|line| (&*line.text, line.at.is_some()))
            .collect();
        let expected = [
            ("old line", false),
            ("[12] no time", false),
            ("one", true),
            ("two", true),
        ];
        assert_eq!(timed, expected);
    }

    #[test]
    fn r_cli_04_a_follower_sees_each_line_once_across_truncation() {
        let (folder, logs, server) = logs();
        let mut position = LogPosition::default();
        let mut seen: Vec<String> = Vec::new();
        for number in 0..8_000 {
            logs.append(
                &server,
                &format!("line {number} of a server that talks much\n"),
            );
            if number % 700 == 0 {
                let lines = logs.read_from(&server, &mut position).unwrap();
                seen.extend(lines.into_iter().map(|line| line.text));
            }
        }
        let lines = logs.read_from(&server, &mut position).unwrap();
        seen.extend(lines.into_iter().map(|line| line.text));
        let expected = (0..8_000).map(|n| format!("line {n} of a server that talks much"));
        assert_eq!(seen, expected.collect::<Vec<_>>());
        // An incomplete line is returned when it is complete.
        logs.append(&server, "half");
        assert!(logs.read_from(&server, &mut position).unwrap().is_empty());
        // A log that was deleted starts again.
        fs::remove_file(folder.path().join("logs/github.log")).unwrap();
        assert!(logs.read_from(&server, &mut position).unwrap().is_empty());
        logs.append(&server, "again\n");
        let lines = logs.read_from(&server, &mut position).unwrap();
        assert_eq!(lines.len(), 1);
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
