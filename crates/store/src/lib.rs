//! Persistent storage: the discovered tools of every server in one SQLite file, grants and activity in another, the
//! key of all hashes, and the tail of each server's stderr.
//!
//! Invariant: a kill at any moment leaves, per server, the old or the new record, never a mixture.
//! Invariant: a record is returned only if its seal is valid, so that only Pegboard can have written it.
//! Invariant: the only secrets stored here are logins, and they are sealed with a key that is stored elsewhere; the
//! key of the seals and hashes is in a file of its own.
//! Invariant: every folder is 0700 and every file 0600.
//! Invariant: nothing panics, whatever the files contain.

mod discovery_lock;
mod errors;
mod folder_watch;
mod ledger;
mod logins;
mod logs;
mod memory;
mod private_files;
mod read_only;
mod record_format;
mod seal;
mod search_store;
mod sqlite;
mod state_dir;
mod store;

pub use discovery_lock::DiscoveryLock;
pub use ledger::{InboxViewer, Ledger, MemoryLedger, SqliteLedger};
pub use logins::{KeyHolder, LoginFiles};
pub use logs::{LogLine, LogPosition, ServerLogs};
pub use memory::MemoryStore;
pub use search_store::{
    MAX_REMEMBERED_QUERIES, MAX_REMEMBERED_QUERIES_PER_TOOL, RememberedQuery, SearchStore,
};
pub use sqlite::SqliteStore;
pub use state_dir::StateDir;
pub use store::{LoadedRecords, Store, StoreResult, StoreStats};
