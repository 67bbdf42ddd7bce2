//! The store in one SQLite file.

mod files;
mod rows;
mod scan;
mod schema;
mod search_store;
mod write_queue;

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use async_trait::async_trait;
use pegboard_model::{ConfigHash, Reason, ServerName, ServerRecord, Timestamp, ToolError};
use rusqlite::Connection;
use tokio::sync::oneshot;

use self::files::{Database, Files};
use self::rows::SealedRecord;
use self::scan::{ScanStop, scan};
use self::write_queue::{QueueWriter, WriteQueue};
use crate::discovery_lock::DiscoveryLocks;
use crate::seal::Sealer;
use crate::{DiscoveryLock, LoadedRecords, StateDir, Store, StoreResult, StoreStats, errors};

/// Upper bound for the notices that wait for the next load.
const NOTICES_MAX: usize = 16;
/// A write-ahead log of this length is checkpointed at shutdown or, failing that, after the next start, because a
/// start without other processes has to read all of it.
const LONG_LOG_BYTES: u64 = 256 * 1024;

/// Stores records in `pegboard.db` of a state folder, which several processes may use at once.
pub struct SqliteStore {
    inner: Arc<Inner>,
    discovery_locks: DiscoveryLocks,
    is_new: bool,
}

struct Inner {
    files: Files,
    sealer: Sealer,
    /// Empty until the database is opened or created.
    database: OnceLock<Mutex<Database>>,
    /// Held while the database is being opened.
    opening: Mutex<()>,
    queue: WriteQueue,
    /// Notices about damage found since the last load.
    notices: Mutex<Vec<ToolError>>,
}

impl SqliteStore {
    /// Opens the store of a state folder, creating it at the first start. A damaged file is set aside; the notices
    /// name it.
    ///
    /// # Errors
    /// Fails if the state folder cannot be used or the database has a newer version.
    pub fn open(state: &StateDir) -> StoreResult<(Self, Vec<ToolError>)> {
        let store = Self::closed(state)?;
        store.inner.opened()?;
        let notices = std::mem::take(&mut *store.inner.waiting_notices());
        Ok((store, notices))
    }

    /// Like [`Self::open`], but at the first start the database is created in the background: it is empty, and
    /// servers can be discovered meanwhile. Writers wait for it and get the error if it cannot be created.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_in_background(state: &StateDir) -> StoreResult<(Self, Vec<ToolError>)> {
        if Files::of(state).identity()?.is_some() {
            return Self::open(state);
        }
        Ok((Self::building(state)?, Vec::new()))
    }

    /// A store that is opened on first use, or created in the background at the first start.
    ///
    /// # Errors
    /// Fails if the state folder cannot be used.
    pub fn open_lazily(state: &StateDir) -> StoreResult<Self> {
        match Files::of(state).identity()? {
            Some(_) => Self::closed(state),
            None => Self::building(state),
        }
    }

    /// Whether the database is being created, so that it is empty.
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    fn building(state: &StateDir) -> StoreResult<Self> {
        let mut store = Self::closed(state)?;
        store.is_new = true;
        store.inner.clone().build_in_background();
        Ok(store)
    }

    fn closed(state: &StateDir) -> StoreResult<Self> {
        let inner = Inner {
            sealer: Sealer::new(&state.hash_key()?),
            files: Files::of(state),
            database: OnceLock::new(),
            opening: Mutex::default(),
            queue: WriteQueue::default(),
            notices: Mutex::default(),
        };
        Ok(Self {
            inner: Arc::new(inner),
            discovery_locks: DiscoveryLocks::across_processes(state.locks()),
            is_new: false,
        })
    }

    /// Loads every record on the calling thread.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    pub fn load_blocking(&self) -> StoreResult<LoadedRecords> {
        self.inner.load()
    }

    /// Loads the records of these definitions on the calling thread. Other records are not read.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    pub fn load_matching<'a>(
        &self,
        wanted: impl IntoIterator<Item = (&'a ServerName, &'a ConfigHash)>,
    ) -> StoreResult<LoadedRecords> {
        let wanted: Vec<_> = wanted.into_iter().collect();
        let inner = &self.inner;
        if self.is_new {
            return Ok(LoadedRecords::default());
        }
        let found = inner.with("read the store", |connection| {
            let find = |(server, config): &(&ServerName, &ConfigHash)| {
                rows::find(connection, &inner.sealer, server, config)
            };
            files::mapped(connection, || {
                // One transaction for all reads: separate ones would lock the file each time.
                let _look = connection.unchecked_transaction()?;
                wanted
                    .iter()
                    .filter_map(|one| find(one).transpose())
                    .collect::<rusqlite::Result<Vec<_>>>()
            })
        })?;
        let mut loaded = LoadedRecords {
            records: Vec::with_capacity(found.len()),
            notices: std::mem::take(&mut *inner.waiting_notices()),
        };
        for outcome in found {
            match outcome {
                Ok(record) => loaded.records.push(record),
                Err(notice) => loaded.notices.push(notice),
            }
        }
        self.shorten_log();
        Ok(loaded)
    }

    /// Checkpoints a long log in the background. A killed process leaves its log behind.
    fn shorten_log(&self) {
        if self.inner.has_long_log()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let inner = self.inner.clone();
            drop(runtime.spawn_blocking(move || inner.move_log()));
        }
    }

    /// Runs work on a blocking thread.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Inner) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        let inner = self.inner.clone();
        match tokio::task::spawn_blocking(move || work(&inner)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(task_cancelled()),
        }
    }
}

fn task_cancelled() -> ToolError {
    ToolError::new(Reason::Internal, "the store operation was cancelled")
}

impl Inner {
    fn has_long_log(&self) -> bool {
        self.files.log_bytes() >= LONG_LOG_BYTES
    }

    fn move_log(&self) {
        if let Ok(database) = self.current() {
            // If it fails, a later start does it.
            let _ = files::move_log(&database.connection);
        }
    }

    /// Creates the database on a separate thread. The first use waits for it and reports an error.
    fn build_in_background(self: Arc<Self>) {
        let thread = std::thread::Builder::new().name("pegboard-store".to_owned());
        // Without a thread, the first use creates it.
        let _ = thread.spawn(move || self.opened().map(drop));
    }

    fn opened(&self) -> StoreResult<&Mutex<Database>> {
        if let Some(database) = self.database.get() {
            return Ok(database);
        }
        let _opening = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(database) = self.database.get() {
            return Ok(database);
        }
        let (database, notices) = self.files.open()?;
        self.add_notices(notices);
        self.add_notices(database.read_only.clone());
        Ok(self.database.get_or_init(|| Mutex::new(database)))
    }

    fn load(&self) -> StoreResult<LoadedRecords> {
        let mut database = self.current()?;
        let mut notices = std::mem::take(&mut *self.waiting_notices());
        let found = scan(&database.connection, &self.sealer);
        notices.extend(found.notices);
        match found.stopped {
            None => {}
            Some(ScanStop::ByFault(error)) => {
                return Err(errors::sqlite("read the store", self.files.path(), &error));
            }
            Some(ScanStop::ByDamage(why)) => {
                if let Some(fault) = &database.read_only {
                    // Another process may be writing; the records read so far have valid seals.
                    notices.push(fault.clone());
                    return Ok(LoadedRecords {
                        records: found.records,
                        notices,
                    });
                }
                notices.extend(self.rebuild(&mut database, &why, &found.records)?);
            }
        }
        Ok(LoadedRecords {
            records: found.records,
            notices,
        })
    }

    /// Runs a read. If the database is damaged, it is rebuilt and the work is repeated.
    fn with<T>(
        &self,
        doing: &str,
        work: impl Fn(&Connection) -> rusqlite::Result<T>,
    ) -> StoreResult<T> {
        self.work(self.current()?, doing, work)
    }

    /// Runs a write. A read-only database is reopened first, because the disk may have free space again.
    fn change<T>(
        &self,
        doing: &str,
        work: impl Fn(&Connection) -> rusqlite::Result<T>,
    ) -> StoreResult<T> {
        let mut database = self.current()?;
        if database.read_only.is_some() {
            self.reopen(&mut database)?;
        }
        match &database.read_only {
            Some(fault) => Err(fault.clone()),
            None => self.work(database, doing, work),
        }
    }

    fn work<T>(
        &self,
        mut database: MutexGuard<'_, Database>,
        doing: &str,
        work: impl Fn(&Connection) -> rusqlite::Result<T>,
    ) -> StoreResult<T> {
        let fault = |error: rusqlite::Error| errors::sqlite(doing, self.files.path(), &error);
        let may_repair = database.read_only.is_none();
        match work(&database.connection) {
            Err(error) if may_repair && errors::is_damage(&error) => {
                let readable = scan(&database.connection, &self.sealer).records;
                let notice = self.rebuild(&mut database, &error.to_string(), &readable)?;
                self.add_notices(notice);
                work(&database.connection).map_err(fault)
            }
            other => other.map_err(fault),
        }
    }

    /// Replaces a damaged file with a new one that contains the readable records.
    fn rebuild(
        &self,
        database: &mut Database,
        why: &str,
        readable: &[ServerRecord],
    ) -> StoreResult<Option<ToolError>> {
        let kept: Vec<_> = readable
            .iter()
            .map(|record| SealedRecord::new(record, &self.sealer))
            .collect::<Result<_, _>>()?;
        let notice = self.files.replace(database.identity, why, &kept)?;
        self.reopen(database)?;
        Ok(notice)
    }

    /// Returns the open database, reopened if another process replaced the file.
    fn current(&self) -> StoreResult<MutexGuard<'_, Database>> {
        let database = self.opened()?;
        let mut database = database.lock().unwrap_or_else(PoisonError::into_inner);
        if self.files.identity()? != database.identity {
            self.reopen(&mut database)?;
        }
        Ok(database)
    }

    fn reopen(&self, database: &mut Database) -> StoreResult<()> {
        let (fresh, notices) = self.files.open()?;
        let was_read_only = database.read_only.is_some();
        *database = fresh;
        self.add_notices(notices);
        if !was_read_only {
            self.add_notices(database.read_only.clone());
        }
        Ok(())
    }

    fn add_notices(&self, notices: impl IntoIterator<Item = ToolError>) {
        let mut waiting = self.waiting_notices();
        let room = NOTICES_MAX.saturating_sub(waiting.len());
        waiting.extend(notices.into_iter().take(room));
    }

    fn waiting_notices(&self) -> MutexGuard<'_, Vec<ToolError>> {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn load(&self) -> StoreResult<LoadedRecords> {
        self.run(Inner::load).await
    }

    async fn load_server(
        &self,
        server: &ServerName,
        config: &ConfigHash,
    ) -> StoreResult<Option<ServerRecord>> {
        let (server, config) = (server.clone(), *config);
        self.run(move |inner| {
            inner
                .with("read the store", |connection| {
                    rows::find(connection, &inner.sealer, &server, &config)
                })?
                .transpose()
        })
        .await
    }

    async fn load_newer(
        &self,
        server: &ServerName,
        config: &ConfigHash,
        known: Option<Timestamp>,
    ) -> StoreResult<Option<ServerRecord>> {
        let (server, config) = (server.clone(), *config);
        self.run(move |inner| {
            let found = inner.with("read the store", |connection| {
                // The column only avoids reading a known record; the sealed record decides.
                match rows::is_newer(connection, &server, &config, known)? {
                    true => rows::find(connection, &inner.sealer, &server, &config),
                    false => Ok(None),
                }
            });
            let record = found?.transpose()?;
            Ok(record.filter(|record| record.attempted_at > known))
        })
        .await
    }

    async fn save(&self, record: &ServerRecord) -> StoreResult<()> {
        let (waiter, written) = oneshot::channel();
        if self.inner.queue.push(record.clone(), waiter) {
            let writer = QueueWriter::new(self.inner.clone());
            drop(tokio::task::spawn_blocking(move || writer.run()));
        }
        written.await.unwrap_or_else(|_| Err(task_cancelled()))
    }

    async fn save_attempt(&self, record: &ServerRecord) -> StoreResult<()> {
        let record = record.clone();
        self.run(move |inner| {
            let sealed = SealedRecord::new(&record, &inner.sealer)?;
            inner.with("write to the store", |connection| {
                sealed.write_if_absent(connection)
            })
        })
        .await
    }

    async fn load_former(
        &self,
        server: &ServerName,
        config: &ConfigHash,
    ) -> StoreResult<Option<ServerRecord>> {
        let (server, config) = (server.clone(), *config);
        self.run(move |inner| {
            inner
                .with("read the store", |connection| {
                    rows::find_former(connection, &inner.sealer, &server, &config)
                })?
                .transpose()
        })
        .await
    }

    async fn forget(&self, server: &ServerName) -> StoreResult<bool> {
        let server = server.clone();
        self.run(move |inner| {
            inner.change("write to the store", |connection| {
                rows::forget(connection, &server)
            })
        })
        .await
    }

    async fn clear(&self) -> StoreResult<usize> {
        self.run(|inner| inner.change("clear the store", rows::clear))
            .await
    }

    async fn stats(&self) -> StoreResult<StoreStats> {
        self.run(|inner| inner.with("read the store", rows::stats))
            .await
    }

    async fn lock_discovery(&self, server: &ServerName) -> StoreResult<DiscoveryLock> {
        self.discovery_locks.take(server).await
    }

    async fn checkpoint(&self) {
        if self.inner.has_long_log() {
            let moved = self.run(|inner| {
                inner.move_log();
                Ok(())
            });
            let _ = moved.await;
        }
    }
}
