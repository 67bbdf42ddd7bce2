//! What every store can do, whatever engine keeps it.

use async_trait::async_trait;
use pegboard_model::{ConfigHash, ServerName, ServerRecord, Timestamp, ToolError};
use serde::Serialize;

use crate::{DiscoveryLock, SearchStore};

/// What anything about the store answers.
pub type StoreResult<T> = Result<T, ToolError>;

/// Everything that was kept, and what of it could not be used.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadedRecords {
    /// The sound records, sorted by server.
    pub records: Vec<ServerRecord>,
    /// Why each of the others was left out, and what else a person should know.
    pub notices: Vec<ToolError>,
}

/// The store in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StoreStats {
    /// Servers with a record.
    pub servers: usize,
    /// Their tools.
    pub tools: usize,
    /// Bytes of all records.
    pub bytes: u64,
    /// When the oldest of the tool lists was received.
    pub oldest: Option<Timestamp>,
    /// When the newest of the tool lists was received.
    pub newest: Option<Timestamp>,
}

/// Keeps one record per server and definition, so that two projects that define a server differently do
/// not take each other's tools away.
#[async_trait]
pub trait Store: SearchStore {
    /// Every record.
    async fn load(&self) -> StoreResult<LoadedRecords>;

    /// The record of one server under one definition; an error when there is one that cannot be trusted.
    async fn load_server(
        &self,
        server: &ServerName,
        config: &ConfigHash,
    ) -> StoreResult<Option<ServerRecord>>;

    /// The same when it is of a later try than `known`; `None` otherwise. A look that finds nothing new is cheap.
    async fn load_newer(
        &self,
        server: &ServerName,
        config: &ConfigHash,
        known: Option<Timestamp>,
    ) -> StoreResult<Option<ServerRecord>> {
        let record = self.load_server(server, config).await?;
        Ok(record.filter(|record| record.attempted_at > known))
    }

    /// Keeps a record in place of the earlier one of the same definition, all of it or nothing. Of very
    /// many definitions of one server the oldest are dropped.
    async fn save(&self, record: &ServerRecord) -> StoreResult<()>;

    /// Keeps the record of a try that has not ended, unless there is a record of the same definition.
    async fn save_attempt(&self, record: &ServerRecord) -> StoreResult<()>;

    /// The latest record with tools that the server has under another definition than this one.
    async fn load_former(
        &self,
        server: &ServerName,
        config: &ConfigHash,
    ) -> StoreResult<Option<ServerRecord>>;

    /// Drops a server's records; `false` when there was none.
    async fn forget(&self, server: &ServerName) -> StoreResult<bool>;

    /// Drops every record and says how many there were.
    async fn clear(&self) -> StoreResult<usize>;

    /// The store in numbers.
    async fn stats(&self) -> StoreResult<StoreStats>;

    /// Waits until this caller alone may discover the server, among all that share the store.
    /// The lead ends when it is dropped, and when its process dies.
    async fn lock_discovery(&self, server: &ServerName) -> StoreResult<DiscoveryLock>;

    /// The work is over: puts what was written where the next start reads it fastest.
    async fn rest(&self) {}
}
