//! The interface of a store.

use async_trait::async_trait;
use pegboard_model::{ConfigHash, ServerName, ServerRecord, Timestamp, ToolError};
use serde::Serialize;

use crate::{DiscoveryLock, SearchStore};

/// The result of a store operation.
pub type StoreResult<T> = Result<T, ToolError>;

/// The stored records, and which of them cannot be used.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadedRecords {
    /// The valid records, sorted by server.
    pub records: Vec<ServerRecord>,
    /// Why records were ignored, and other notices for the user.
    pub notices: Vec<ToolError>,
}

/// Statistics of the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StoreStats {
    /// Number of servers with a record.
    pub servers: usize,
    /// Number of their tools.
    pub tools: usize,
    /// Size of all records in bytes.
    pub bytes: u64,
    /// When the oldest tool list was received.
    pub oldest: Option<Timestamp>,
    /// When the newest tool list was received.
    pub newest: Option<Timestamp>,
}

/// Stores one record per server and definition, so that projects that define a server differently do not replace each
/// other's tools.
///
/// # Errors
/// All operations fail if the underlying storage cannot be used.
#[async_trait]
pub trait Store: SearchStore {
    /// Returns every record.
    async fn load(&self) -> StoreResult<LoadedRecords>;

    /// Returns the record of one server under one definition.
    ///
    /// # Errors
    /// Also fails if the record cannot be trusted.
    async fn load_server(
        &self,
        server: &ServerName,
        config: &ConfigHash,
    ) -> StoreResult<Option<ServerRecord>>;

    /// Like [`Store::load_server`], but only if the record is of a later attempt than `known`. Finding nothing new is
    /// cheap.
    async fn load_newer(
        &self,
        server: &ServerName,
        config: &ConfigHash,
        known: Option<Timestamp>,
    ) -> StoreResult<Option<ServerRecord>> {
        let record = self.load_server(server, config).await?;
        Ok(record.filter(|record| record.attempted_at > known))
    }

    /// Stores a record, replacing the one of the same definition atomically. The least recently used of many
    /// definitions of one server are deleted.
    async fn save(&self, record: &ServerRecord) -> StoreResult<()>;

    /// Stores the record of an unfinished attempt, unless there is a record of the same definition.
    async fn save_attempt(&self, record: &ServerRecord) -> StoreResult<()>;

    /// Returns the newest record with tools under another definition of the server.
    async fn load_former(
        &self,
        server: &ServerName,
        config: &ConfigHash,
    ) -> StoreResult<Option<ServerRecord>>;

    /// Deletes a server's records. Returns `false` if there were none.
    async fn forget(&self, server: &ServerName) -> StoreResult<bool>;

    /// Deletes all records and returns their number.
    async fn clear(&self) -> StoreResult<usize>;

    /// Returns statistics.
    async fn stats(&self) -> StoreResult<StoreStats>;

    /// Waits until this caller alone may discover the server, among all processes that share the store. The lock ends
    /// when it is dropped or its process dies.
    async fn lock_discovery(&self, server: &ServerName) -> StoreResult<DiscoveryLock>;

    /// Moves the write-ahead log into the database at shutdown, so that the next start reads less.
    async fn checkpoint(&self) {}
}
