//! The ledger in one SQLite file that several processes may use at once. It is opened on first use, because most
//! commands never need it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use pegboard_model::{
    Activity, ApprovalRequest, ApprovalResponse, Grant, Reason, ReviewDecision, ServerName,
    Timestamp, ToolError,
};
use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use tokio::sync::watch;

use super::inbox_notifier::InboxNotifier;
use super::inbox_viewers::InboxViewers;
use super::review_rows;
use super::rows::{self, MIGRATIONS, Seals};
use super::{InboxViewer, Ledger};
use crate::{StateDir, StoreResult, errors, private_files, read_only};

const DATABASE: &str = "ledger.db";
const COMPANIONS: [&str; 2] = ["-wal", "-shm"];
const NOTIFIER_FOLDER: &str = "notify";
const VIEWERS_LOCK: &str = "inbox.lock";
/// How long a writer waits for the writers of other processes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Checkpoint after half a megabyte of write-ahead log. A command leaves its log behind, and the next one reads all
/// of it before it writes.
const CHECKPOINT_PAGES: i64 = 128;

/// Stores grants, approval requests and activity in `ledger.db` of a state folder.
pub struct SqliteLedger {
    inner: Arc<Inner>,
    notifier: InboxNotifier,
    viewers: InboxViewers,
}

struct Inner {
    state: StateDir,
    path: PathBuf,
    open: Mutex<Option<OpenLedger>>,
}

struct OpenLedger {
    connection: Connection,
    seals: Seals,
    identity: Option<Identity>,
    /// Why the database is read-only, if it is.
    read_only: Option<ToolError>,
}

/// Whether work needs to write.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Write,
}

/// Identifies the open file. A file that was renamed or deleted is not written any more.
type Identity = (u64, u64);

impl SqliteLedger {
    /// Creates the ledger of a state folder without opening it.
    pub fn new(state: &StateDir) -> Self {
        let folder = state.path();
        Self {
            notifier: InboxNotifier::across_processes(folder.join(NOTIFIER_FOLDER)),
            viewers: InboxViewers::across_processes(folder.join(VIEWERS_LOCK)),
            inner: Arc::new(Inner {
                state: state.clone(),
                path: folder.join(DATABASE),
                open: Mutex::default(),
            }),
        }
    }

    /// Runs a read on a blocking thread.
    async fn run<T: Send + 'static>(
        &self,
        work: impl Fn(&Connection, &Seals) -> rusqlite::Result<T> + Send + 'static,
    ) -> StoreResult<T> {
        self.run_with(Access::Read, work).await
    }

    /// Runs work on a blocking thread.
    async fn run_with<T: Send + 'static>(
        &self,
        access: Access,
        work: impl Fn(&Connection, &Seals) -> rusqlite::Result<T> + Send + 'static,
    ) -> StoreResult<T> {
        let inner = self.inner.clone();
        match tokio::task::spawn_blocking(move || inner.with(access, work)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(ToolError::new(
                Reason::Internal,
                "the ledger operation was cancelled",
            )),
        }
    }

    /// Runs a write that changes the inbox or the grants, and notifies subscribers.
    async fn change<T: Send + 'static>(
        &self,
        work: impl Fn(&Connection, &Seals) -> rusqlite::Result<T> + Send + 'static,
    ) -> StoreResult<T> {
        let outcome = self.run_with(Access::Write, work).await;
        self.notifier.notify_all();
        outcome
    }
}

impl Inner {
    /// Runs work on the database. A damaged database is set aside, which loses grants but never creates one.
    fn with<T>(
        &self,
        access: Access,
        work: impl Fn(&Connection, &Seals) -> rusqlite::Result<T>,
    ) -> StoreResult<T> {
        let mut held = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let fault = |error: rusqlite::Error| errors::sqlite("use", &self.path, &error);
        if held
            .as_ref()
            .is_none_or(|open| open.identity != identity(&self.path))
        {
            *held = None;
        }
        let is_read_only = |open: &OpenLedger| open.read_only.is_some();
        if access == Access::Write && held.as_ref().is_some_and(is_read_only) {
            // The disk may have free space again.
            *held = None;
        }
        let attempt = |held: &mut Option<OpenLedger>| -> StoreResult<rusqlite::Result<T>> {
            if held.is_none() {
                match self.open()? {
                    Ok(open) => *held = Some(open),
                    Err(error) => return Ok(Err(error)),
                }
            }
            Ok(match held {
                Some(OpenLedger {
                    read_only: Some(fault),
                    ..
                }) if access == Access::Write => return Err(fault.clone()),
                Some(open) => work(&open.connection, &open.seals),
                None => Err(rusqlite::Error::InvalidQuery),
            })
        };
        match attempt(&mut held)? {
            Err(error) if errors::is_damage(&error) && !held.as_ref().is_some_and(is_read_only) => {
                *held = None;
                self.set_aside(&error.to_string())?;
                attempt(&mut held)?.map_err(fault)
            }
            outcome => outcome.map_err(fault),
        }
    }

    /// Opens the database. If it cannot be written, it is opened for reading; if it cannot be created, it is empty.
    fn open(&self) -> StoreResult<rusqlite::Result<OpenLedger>> {
        let fault = match self.open_to_write() {
            Err(fault) if fault.reason == Reason::StoreIo => fault,
            Ok(Err(error)) if is_unwritable(&error) => errors::sqlite("use", &self.path, &error),
            outcome => return outcome,
        };
        match self.open_to_read(&fault) {
            Some(open) => Ok(Ok(open)),
            None => Err(fault),
        }
    }

    fn open_to_read(&self, why: &ToolError) -> Option<OpenLedger> {
        let identity = identity(&self.path);
        let connection = match identity {
            None => read_only::empty(MIGRATIONS).ok()?,
            Some(_) => {
                private_files::check_own_file(&self.path).ok()?;
                let log = fs::metadata(with_suffix(&self.path, COMPANIONS[0]));
                let has_log = log.is_ok_and(|log| log.len() > 0);
                match read_only::open(&self.path, has_log) {
                    Ok(connection) if version(&connection) == Ok(current_version()) => connection,
                    // A file that was created and never filled.
                    _ => read_only::empty(MIGRATIONS).ok()?,
                }
            }
        };
        Some(OpenLedger {
            connection,
            seals: Seals::new(&self.state.hash_key().ok()?),
            identity,
            read_only: Some(errors::read_only(&self.path, why)),
        })
    }

    fn open_to_write(&self) -> StoreResult<rusqlite::Result<OpenLedger>> {
        if !self.path.exists() {
            // The folder may have been deleted at runtime.
            self.state.restore()?;
        }
        let seals = Seals::new(&self.state.hash_key()?);
        let fault = |error: std::io::Error| errors::io("open", &self.path, &error);
        private_files::lock_file(&self.path).map_err(fault)?;
        private_files::restrict_file(&self.path).map_err(fault)?;
        let connection = match self.connect() {
            Ok(connection) => connection,
            Err(error) => return Ok(Err(error)),
        };
        if let Some(number) = newer(&connection) {
            let message = format!(
                "the ledger {} has version {number}; this version of Pegboard supports versions up to {}",
                errors::display_path(&self.path),
                MIGRATIONS.len()
            );
            return Err(ToolError::new(Reason::StoreTooNew, message));
        }
        Ok(Ok(OpenLedger {
            identity: identity(&self.path),
            connection,
            seals,
            read_only: None,
        }))
    }

    fn connect(&self) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(&self.path, flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
        // Pending requests contain arguments, which must not remain in the file.
        connection.pragma_update(None, "secure_delete", "ON")?;
        let current = current_version();
        if version(&connection)? < current {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let done = usize::try_from(version(&transaction)?).unwrap_or(0);
            for step in MIGRATIONS.iter().skip(done) {
                transaction.execute_batch(step)?;
            }
            transaction.pragma_update(None, "user_version", current)?;
            transaction.commit()?;
        }
        Ok(connection)
    }

    fn set_aside(&self, why: &str) -> StoreResult<()> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let number = now.unwrap_or_default().as_millis();
        for suffix in ["", COMPANIONS[0], COMPANIONS[1]] {
            let from = with_suffix(&self.path, suffix);
            let to = with_suffix(&self.path, &format!(".damaged-{number}{suffix}"));
            match fs::rename(&from, to) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(errors::io("set aside", &from, &error));
                }
                _ => {}
            }
        }
        tracing::warn!(target: "pegboard", why, "the ledger was damaged and set aside; approvals are requested again");
        Ok(())
    }
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

fn current_version() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

/// Whether SQLite failed because the file cannot be written, which does not mean that it is damaged.
fn is_unwritable(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{CannotOpen, DiskFull, ReadOnly, SystemIoFailure};
    let code = error.sqlite_error_code();
    matches!(
        code,
        Some(CannotOpen | DiskFull | ReadOnly | SystemIoFailure)
    )
}

fn newer(connection: &Connection) -> Option<i64> {
    let number = version(connection).ok()?;
    (number > current_version()).then_some(number)
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// On other systems an open file cannot be renamed, so the path always names the open file.
#[cfg(not(unix))]
fn identity(_path: &Path) -> Option<Identity> {
    Some((0, 0))
}

#[async_trait]
impl Ledger for SqliteLedger {
    async fn prepare(&self) {
        let _ = self.run(|_, _| Ok(())).await;
    }

    async fn grants(&self) -> StoreResult<Vec<Grant>> {
        self.run(rows::grants).await
    }

    async fn grants_of(&self, server: Option<&ServerName>, tool: &str) -> StoreResult<Vec<Grant>> {
        let (server, tool) = (server.cloned(), tool.to_owned());
        self.run(move |connection, seals| {
            rows::grants_of(connection, seals, server.as_ref(), &tool)
        })
        .await
    }

    async fn save_grant(&self, grant: Grant) -> StoreResult<()> {
        self.change(move |connection, seals| rows::save_grant(connection, seals, &grant))
            .await
    }

    async fn revoke(&self, server: Option<&ServerName>, tool: &str) -> StoreResult<usize> {
        let (server, tool) = (server.cloned(), tool.to_owned());
        self.change(move |connection, _| rows::revoke(connection, server.as_ref(), &tool))
            .await
    }

    async fn add_request(&self, request: ApprovalRequest, most: usize) -> StoreResult<bool> {
        self.change(move |connection, seals| rows::add_request(connection, seals, &request, most))
            .await
    }

    async fn pending_requests(&self, now: Timestamp) -> StoreResult<Vec<ApprovalRequest>> {
        self.run(move |connection, seals| rows::pending_requests(connection, seals, now))
            .await
    }

    async fn decide(
        &self,
        id: &str,
        response: ApprovalResponse,
    ) -> StoreResult<Option<ApprovalRequest>> {
        let id = id.to_owned();
        self.change(move |connection, seals| rows::decide(connection, seals, &id, &response))
            .await
    }

    async fn decision(&self, id: &str) -> StoreResult<Option<ApprovalResponse>> {
        let id = id.to_owned();
        self.run(move |connection, seals| rows::decision(connection, seals, &id))
            .await
    }

    async fn remove_request(&self, id: &str) -> StoreResult<Option<ApprovalResponse>> {
        let id = id.to_owned();
        self.change(move |connection, seals| rows::remove_request(connection, seals, &id))
            .await
    }

    fn review_decisions(&self) -> StoreResult<Vec<ReviewDecision>> {
        self.inner.with(Access::Read, review_rows::all)
    }

    async fn save_review(&self, decision: ReviewDecision) -> StoreResult<()> {
        self.change(move |connection, seals| review_rows::save(connection, seals, &decision))
            .await
    }

    fn used_tools(&self, server: &ServerName) -> StoreResult<Vec<String>> {
        self.inner.with(Access::Read, |connection, _| {
            review_rows::used_tools(connection, server)
        })
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.notifier.subscribe()
    }

    fn register_viewer(&self) -> StoreResult<InboxViewer> {
        self.viewers.register_viewer()
    }

    fn has_viewers(&self) -> bool {
        self.viewers.has_viewers()
    }

    async fn add_activity(&self, lines: Vec<Activity>, most: usize) -> StoreResult<()> {
        self.run_with(Access::Write, move |connection, _| {
            rows::add_activity(connection, &lines, most)
        })
        .await
    }

    async fn activity(&self, limit: usize, before: Option<u64>) -> StoreResult<Vec<Activity>> {
        self.run(move |connection, _| rows::activity(connection, limit, before))
            .await
    }
}
