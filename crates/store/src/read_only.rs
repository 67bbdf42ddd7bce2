//! Opening a database that cannot be written, because the disk is full or the file system is read-only.

use std::ffi::OsString;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

/// Opens a database for reading, without creating or changing any file.
///
/// SQLite reads a database with a write-ahead log through an index in shared memory, which is a file that it would
/// have to create. Without a log, the file is opened as immutable. With a log, the connection is exclusive and keeps
/// the index in its own memory; it takes no locks, because a read-only file cannot be locked. Another process may
/// write at the same time: a row that was read half-changed has an invalid seal.
///
/// # Errors
/// Fails if the file does not exist or is not a database.
pub(crate) fn open(path: &Path, has_log: bool) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = match has_log {
        #[cfg(unix)]
        true => {
            let connection = Connection::open_with_flags_and_vfs(path, flags, "unix-none")?;
            connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
            connection
        }
        _ => {
            let flags = flags | OpenFlags::SQLITE_OPEN_URI;
            Connection::open_with_flags(immutable_uri(path), flags)?
        }
    };
    connection.pragma_update(None, "query_only", "ON")?;
    Ok(connection)
}

/// Creates an empty read-only database in memory, for a folder in which no file can be created.
pub(crate) fn empty(migrations: &[&str]) -> rusqlite::Result<Connection> {
    let connection = Connection::open_in_memory()?;
    for step in migrations {
        connection.execute_batch(step)?;
    }
    connection.pragma_update(None, "query_only", "ON")?;
    Ok(connection)
}

/// The URI of a database that SQLite treats as immutable.
fn immutable_uri(path: &Path) -> OsString {
    let mut uri = OsString::from(if path.is_absolute() {
        "file://"
    } else {
        "file:"
    });
    uri.push(escape_path(path));
    uri.push("?immutable=1");
    uri
}

/// Escapes the characters of a path that have a meaning in a URI.
#[cfg(unix)]
fn escape_path(path: &Path) -> OsString {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let escape = |byte: &u8| match byte {
        b'%' => b"%25".to_vec(),
        b'?' => b"%3f".to_vec(),
        b'#' => b"%23".to_vec(),
        byte => vec![*byte],
    };
    let bytes = path.as_os_str().as_bytes();
    OsString::from_vec(bytes.iter().flat_map(escape).collect())
}

#[cfg(not(unix))]
fn escape_path(path: &Path) -> OsString {
    let text = path.to_string_lossy().replace('\\', "/");
    let text = text.replace('%', "%25").replace('?', "%3f");
    format!("/{}", text.replace('#', "%23")).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(connection: &Connection) -> Vec<i64> {
        let mut statement = connection.prepare("SELECT x FROM t").unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    }

    #[test]
    fn r_store_05_a_database_is_read_with_and_without_its_log_and_never_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a %25?#.db");
        let writer = Connection::open(&path).unwrap();
        writer.pragma_update(None, "journal_mode", "WAL").unwrap();
        writer
            .execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (1);")
            .unwrap();
        // The writer stays open, so that its log exists.
        let reader = open(&path, true).unwrap();
        assert_eq!(values(&reader), [1]);
        reader.execute("INSERT INTO t VALUES (2)", []).unwrap_err();
        drop(reader);
        assert_eq!(values(&writer), [1], "the log was left alone");
        drop(writer);
        let files = || std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(files(), 1, "the last writer removes the log");
        let reader = open(&path, false).unwrap();
        assert_eq!(values(&reader), [1]);
        reader.execute("INSERT INTO t VALUES (2)", []).unwrap_err();
        assert_eq!(files(), 1, "reading creates no file");
        assert!(open(&folder.path().join("none"), false).is_err());
    }

    #[test]
    fn an_empty_database_is_read_as_empty_and_takes_nothing() {
        let empty = empty(&["CREATE TABLE t (x)"]).unwrap();
        assert!(values(&empty).is_empty());
        empty.execute("INSERT INTO t VALUES (1)", []).unwrap_err();
    }
}
