//! The database file: opening it, creating it, and setting a damaged one aside.
//!
//! A file gets its name only when it is complete, and loses it only under a lock. So the usual open needs neither a
//! lock nor a write.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pegboard_model::{Limits, Reason, ToolError, UntrustedText};
use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, MAIN_DB, OpenFlags};

use super::rows::{self, SealedRecord};
use super::schema::{self, MIGRATIONS, Version};
use crate::{StateDir, StoreResult, errors, private_files, read_only};

const DATABASE: &str = "pegboard.db";
/// Files that SQLite may create beside a database.
const COMPANIONS: [&str; 3] = ["-wal", "-shm", "-journal"];
/// How long a writer waits for the writers of other processes. One record is written in milliseconds.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// Records are large, so large pages save system calls: 5 MB are read with about 160.
const PAGE_BYTES: i64 = 32 * 1024;
/// Checkpoint after 4 MiB of write-ahead log.
const CHECKPOINT_PAGES: i64 = 128;
/// Size of SQLite's page cache: 256 KiB. A start reads every page once, and allocating memory for each would cost
/// more than reading.
const CACHE_PAGES: i64 = 8;
/// How much of the file a start maps into memory; usually all of it, which avoids copies.
const MAPPED_BYTES: i64 = 256 * 1024 * 1024;
/// How often opening is repeated because another process replaced the file in between.
const OPEN_ATTEMPTS: usize = 20;

/// The paths of the database and its lock.
pub(super) struct Files {
    state: StateDir,
    folder: PathBuf,
    database: PathBuf,
}

/// An open database.
pub(super) struct Database {
    pub(super) connection: Connection,
    /// The open file; `None` if there is no file and none can be created.
    pub(super) identity: Option<Identity>,
    /// Why the database is read-only, if it is.
    pub(super) read_only: Option<ToolError>,
}

/// Identifies a file independently of its name: a file that was set aside differs from its successor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity(u64, u64);

enum Probe {
    Ready(Database),
    Older(Database),
    Missing,
    Replaced,
    Damaged(String),
}

impl Files {
    pub(super) fn of(state: &StateDir) -> Self {
        Self {
            state: state.clone(),
            folder: state.path().to_owned(),
            database: state.path().join(DATABASE),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.database
    }

    /// Identifies the file that currently has the database's name.
    pub(super) fn identity(&self) -> StoreResult<Option<Identity>> {
        match fs::metadata(&self.database) {
            Ok(metadata) => Ok(Some(identity_of(&metadata))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(errors::io("look at the store", &self.database, &error)),
        }
    }

    /// Size of the write-ahead log.
    pub(super) fn log_bytes(&self) -> u64 {
        let [log, ..] = companions(&self.database);
        fs::metadata(log).map_or(0, |metadata| metadata.len())
    }

    /// Opens the database. It is created or migrated if necessary, and a damaged one is set aside. If it cannot be
    /// written, it is opened for reading; if it cannot be created, it is empty.
    pub(super) fn open(&self) -> StoreResult<(Database, Vec<ToolError>)> {
        let fault = match self.open_to_write() {
            Err(fault) if fault.reason == Reason::StoreIo => fault,
            outcome => return outcome,
        };
        match self.open_to_read(&fault) {
            Some(database) => Ok((database, Vec::new())),
            None => Err(fault),
        }
    }

    fn open_to_read(&self, why: &ToolError) -> Option<Database> {
        let identity = self.identity().ok()?;
        let connection = match identity {
            None => read_only::empty(MIGRATIONS).ok()?,
            Some(_) => {
                private_files::check_own_file(&self.database).ok()?;
                let connection = read_only::open(&self.database, self.log_bytes() > 0).ok()?;
                match schema::version(&connection, MIGRATIONS) {
                    Ok(Version::Current) => connection,
                    _ => return None,
                }
            }
        };
        Some(Database {
            connection,
            identity,
            read_only: Some(errors::read_only(&self.database, why)),
        })
    }

    fn open_to_write(&self) -> StoreResult<(Database, Vec<ToolError>)> {
        if let Probe::Ready(database) = self.probe()? {
            return Ok((database, Vec::new()));
        }
        // The folder may have been deleted at runtime.
        self.state.restore()?;
        let _lock = self.lock()?;
        let mut notices = Vec::new();
        for _ in 0..OPEN_ATTEMPTS {
            match self.probe()? {
                Probe::Ready(database) => return Ok((database, notices)),
                Probe::Older(mut database) => schema::migrate(&mut database.connection, MIGRATIONS)
                    .map_err(|e| errors::sqlite("migrate the store", &self.database, &e))?,
                Probe::Missing => self.build(&[])?,
                Probe::Replaced => {}
                Probe::Damaged(why) => notices.push(self.set_aside(&why, 0)?),
            }
        }
        let message = format!(
            "the store {} is being replaced repeatedly by other processes",
            errors::display_path(&self.database)
        );
        Err(ToolError::new(Reason::StoreIo, message))
    }

    /// Sets a damaged file aside, unless another process already did, and creates a new one with the readable
    /// records.
    pub(super) fn replace(
        &self,
        damaged: Option<Identity>,
        why: &str,
        kept: &[SealedRecord],
    ) -> StoreResult<Option<ToolError>> {
        let _lock = self.lock()?;
        if self.identity()? != damaged {
            return Ok(None);
        }
        let notice = self.set_aside(why, kept.len())?;
        self.build(kept)?;
        Ok(Some(notice))
    }

    fn probe(&self) -> StoreResult<Probe> {
        let Some(identity) = self.identity()? else {
            return Ok(Probe::Missing);
        };
        for path in std::iter::once(self.database.clone()).chain(companions(&self.database)) {
            private_files::restrict_file(&path)
                .map_err(|e| errors::io("shut others out of", &path, &e))?;
        }
        let probe = match probe_connection(&self.database) {
            Ok((connection, Version::Current)) => Probe::Ready(Database {
                connection,
                identity: Some(identity),
                read_only: None,
            }),
            Ok((connection, Version::Older)) => Probe::Older(Database {
                connection,
                identity: Some(identity),
                read_only: None,
            }),
            Ok((_, Version::Newer(number))) => return Err(self.too_new(number)),
            Ok((_, Version::Invalid)) => Probe::Damaged("it has no believable version".to_owned()),
            Err(error) if errors::is_damage(&error) => Probe::Damaged(error.to_string()),
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::CannotOpen) => {
                if self.identity()?.is_none() {
                    return Ok(Probe::Missing);
                }
                return Err(errors::sqlite("open the store", &self.database, &error));
            }
            Err(error) => return Err(errors::sqlite("open the store", &self.database, &error)),
        };
        Ok(if self.identity()? == Some(identity) {
            probe
        } else {
            Probe::Replaced
        })
    }

    /// The lock under which files get and lose the database's name.
    fn lock(&self) -> StoreResult<File> {
        let path = self.folder.join(format!("{DATABASE}.lock"));
        let fault = |e: io::Error| errors::io("lock the store by", &path, &e);
        let file = private_files::lock_file(&path).map_err(fault)?;
        file.lock().map_err(fault)?;
        Ok(file)
    }

    /// Creates a complete database under another name and renames it at the end. Logs of an earlier database are
    /// removed first, because SQLite would apply them to the new one.
    fn build(&self, records: &[SealedRecord]) -> StoreResult<()> {
        let new = self.folder.join(format!("{DATABASE}.new"));
        let fault = |e: io::Error| errors::io("build the store", &self.database, &e);
        for path in std::iter::once(new.clone())
            .chain(companions(&new))
            .chain(companions(&self.database))
        {
            remove_if_exists(&path).map_err(fault)?;
        }
        private_files::options()
            .write(true)
            .create_new(true)
            .open(&new)
            .map_err(fault)?;
        let filled = fill(&new, records)
            .map_err(|e| errors::sqlite("build the store", &self.database, &e))
            .and_then(|()| fs::rename(&new, &self.database).map_err(fault));
        if filled.is_err() {
            // An incomplete file would occupy the missing space.
            for path in std::iter::once(new.clone()).chain(companions(&new)) {
                let _ = remove_if_exists(&path);
            }
            return filled;
        }
        private_files::sync_folder(&self.folder).map_err(fault)
    }

    /// Renames the database first: from then on it cannot be opened, and its logs can follow.
    fn set_aside(&self, why: &str, kept: usize) -> StoreResult<ToolError> {
        let aside = self.free_name();
        let fault = |e: io::Error| errors::io("set the damaged store aside as", &aside, &e);
        fs::rename(&self.database, &aside).map_err(fault)?;
        for (from, to) in companions(&self.database)
            .into_iter()
            .zip(companions(&aside))
        {
            match fs::rename(from, to) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(fault(error)),
                _ => {}
            }
        }
        private_files::sync_folder(&self.folder).map_err(fault)?;
        let message = format!(
            "the store {} was damaged ({}); it was set aside as {}, and a new one contains the {kept} servers \
             that could still be read",
            errors::display_path(&self.database),
            UntrustedText::new(why).shortened(200),
            errors::display_path(&aside),
        );
        Ok(ToolError::new(Reason::CacheCorrupt, message))
    }

    fn free_name(&self) -> PathBuf {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_millis();
        let mut number = now;
        loop {
            let path = self.folder.join(format!("{DATABASE}.damaged-{number}"));
            if !path.exists() {
                return path;
            }
            number += 1;
        }
    }

    fn too_new(&self, number: i64) -> ToolError {
        let message = format!(
            "the store {} has version {number}; this version of Pegboard supports versions up to {}",
            errors::display_path(&self.database),
            MIGRATIONS.len(),
        );
        ToolError::new(Reason::StoreTooNew, message)
    }
}

/// Opens a file and reads its version and schema without writing.
fn probe_connection(path: &Path) -> rusqlite::Result<(Connection, Version)> {
    let connection = connect(path)?;
    let version = schema::version(&connection, MIGRATIONS)?;
    if version == Version::Current {
        drop(connection.prepare_cached("SELECT name, body, seal FROM server")?);
        // The permissions allow writing, so a read-only header means damage.
        if connection.is_readonly(MAIN_DB)? {
            return Ok((connection, Version::Invalid));
        }
    }
    Ok((connection, version))
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    // With a write-ahead log, NORMAL keeps every transaction atomic even on power loss; at worst the newest ones are
    // lost, and those can be discovered again.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    connection.pragma_update(None, "cache_size", CACHE_PAGES)?;
    // A record is little more than its list of tools, which is limited. A damaged length must not make SQLite
    // allocate more.
    let limit = i32::try_from(Limits::default().list_bytes.saturating_mul(2)).unwrap_or(i32::MAX);
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, limit)?;
    Ok(connection)
}

/// Runs a large read through a memory map. The map is removed afterwards, because truncating a mapped file kills the
/// process.
pub(super) fn mapped<T>(
    connection: &Connection,
    work: impl FnOnce() -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    connection.pragma_update(None, "mmap_size", MAPPED_BYTES)?;
    let outcome = work();
    connection.pragma_update(None, "mmap_size", 0)?;
    outcome
}

/// Checkpoints the whole log, unless another process is reading or writing; a later start does it then.
pub(super) fn move_log(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(Duration::ZERO)?;
    let moved = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    connection.busy_timeout(BUSY_TIMEOUT)?;
    moved
}

fn fill(path: &Path, records: &[SealedRecord]) -> rusqlite::Result<()> {
    let mut connection = connect(path)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "page_size", PAGE_BYTES)?;
    schema::migrate(&mut connection, MIGRATIONS)?;
    rows::write(&connection, records)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.close().map_err(|(_, error)| error)
}

fn companions(path: &Path) -> [PathBuf; 3] {
    COMPANIONS.map(|suffix| {
        let mut name = OsString::from(path);
        name.push(suffix);
        PathBuf::from(name)
    })
}

fn remove_if_exists(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(unix)]
fn identity_of(metadata: &fs::Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt;
    Identity(metadata.dev(), metadata.ino())
}

/// On other systems an open file cannot be renamed, so the path always names the open file.
#[cfg(not(unix))]
fn identity_of(_metadata: &fs::Metadata) -> Identity {
    Identity(0, 0)
}
