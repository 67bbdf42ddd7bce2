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

/// Notices that wait for the next load; more of them would say nothing new.
const NOTICES_MAX: usize = 16;
/// A log from this length on is moved into the database when the work is over or, if that was not to be, after
/// the next start, because a start that finds nobody else there has to read all of it.
const LONG_LOG_BYTES: u64 = 256 * 1024;

/// Keeps records in `pegboard.db` of a state folder, which several processes may use at once.
pub struct SqliteStore {
    inner: Arc<Inner>,
    discovery_locks: DiscoveryLocks,
    is_new: bool,
}

struct Inner {
    files: Files,
    sealer: Sealer,
    /// Missing until it is built, at the first start.
    database: OnceLock<Mutex<Database>>,
    /// Held by whoever opens it.
    opening: Mutex<()>,
    queue: WriteQueue,
    /// What a person should know of damage that was met between two loads.
    notices: Mutex<Vec<ToolError>>,
}

impl SqliteStore {
    /// Opens the store of a state folder, building it at the first start. A damaged file is set aside
    /// under a name that the notices tell.
    pub fn open(state: &StateDir) -> StoreResult<(Self, Vec<ToolError>)> {
        let store = Self::closed(state)?;
        store.inner.opened()?;
        let notices = std::mem::take(&mut *store.inner.waiting_notices());
        Ok((store, notices))
    }

    /// The same, but at the first start the store is built beside the work: there is nothing to read in it, and
    /// servers can be asked meanwhile. Whoever writes waits for it, and is told if it cannot be built.
    pub fn open_in_background(state: &StateDir) -> StoreResult<(Self, Vec<ToolError>)> {
        if Files::of(state).identity()?.is_some() {
            return Self::open(state);
        }
        Ok((Self::building(state)?, Vec::new()))
    }

    /// A store that is opened by whoever needs it first, or built beside the work at the first start.
    pub fn open_lazily(state: &StateDir) -> StoreResult<Self> {
        match Files::of(state).identity()? {
            Some(_) => Self::closed(state),
            None => Self::building(state),
        }
    }

    /// Whether it is built just now, so that nothing can be read in it.
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

    /// Every record, on the caller's own thread: for start-up, before there is a runtime.
    pub fn load_blocking(&self) -> StoreResult<LoadedRecords> {
        self.inner.load()
    }

    /// The records of these definitions, read on this thread, for start-up. What was kept for other
    /// definitions is not looked at.
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
                // One look for all: each of its own would lock the file anew.
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

    /// A program that was killed leaves its log; whoever comes next and finds a long one moves it, beside the
    /// work.
    fn shorten_log(&self) {
        if self.inner.has_long_log()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let inner = self.inner.clone();
            drop(runtime.spawn_blocking(move || inner.move_log()));
        }
    }

    /// Runs work that waits for the disk or for other processes on a thread that may wait.
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
    ToolError::new(Reason::Internal, "the store's work was broken off")
}

impl Inner {
    fn has_long_log(&self) -> bool {
        self.files.log_bytes() >= LONG_LOG_BYTES
    }

    fn move_log(&self) {
        if let Ok(database) = self.current() {
            // Without success a later start will do it.
            let _ = files::move_log(&database.connection);
        }
    }

    /// Builds the database on a thread of its own. Whoever needs it waits for it, and tells a fault.
    fn build_in_background(self: Arc<Self>) {
        let thread = std::thread::Builder::new().name("pegboard-store".to_owned());
        // Without a thread the first who needs it builds it.
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
        self.note(notices);
        self.note(database.read_only.clone());
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
                    // Another process may write at this moment; what was read so far has its seals.
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

    /// Reads something from the database. Damage is met by a new file, and the work is done again there.
    fn with<T>(
        &self,
        doing: &str,
        work: impl Fn(&Connection) -> rusqlite::Result<T>,
    ) -> StoreResult<T> {
        self.work(self.current()?, doing, work)
    }

    /// Changes something in the database. One that could only be read is tried again first: the disk may have room
    /// by now.
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
                self.note(notice);
                work(&database.connection).map_err(fault)
            }
            other => other.map_err(fault),
        }
    }

    /// Puts a new file with the readable records in the place of a damaged one.
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

    /// The database that stands under the name now: another process may have replaced it.
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
        self.note(notices);
        if !was_read_only {
            self.note(database.read_only.clone());
        }
        Ok(())
    }

    fn note(&self, notices: impl IntoIterator<Item = ToolError>) {
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
                // The column only saves the reading of what is known; what counts is under the seal.
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

    async fn rest(&self) {
        if self.inner.has_long_log() {
            let moved = self.run(|inner| {
                inner.move_log();
                Ok(())
            });
            let _ = moved.await;
        }
    }
}
