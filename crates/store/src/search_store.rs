//! Storage for search by meaning: vectors of tools, which can be computed again, and remembered queries.

use async_trait::async_trait;
use pegboard_model::{ConfigHash, Fingerprint, ServerName, Timestamp};

use crate::StoreResult;

/// Upper bound for remembered queries; the oldest are deleted first.
pub const MAX_REMEMBERED_QUERIES: usize = 4_000;
/// Upper bound for remembered queries of one tool, so that it does not crowd out the others.
pub const MAX_REMEMBERED_QUERIES_PER_TOOL: usize = 16;

/// A query that led to a successful call of a tool. Only its vector is stored, not its text.
#[derive(Clone, Debug, PartialEq)]
pub struct RememberedQuery {
    /// The tool's server.
    pub server: ServerName,
    /// The server's own name of the tool.
    pub tool: String,
    /// The tool's fingerprint at the time of the call.
    pub fingerprint: Fingerprint,
    /// The query's vector, in the encoding of its model.
    pub vector: Vec<u8>,
    /// When the tool was called.
    pub at: Timestamp,
}

/// Stores vectors and remembered queries. Vectors of another model are never returned.
///
/// # Errors
/// All operations fail if the underlying storage cannot be used.
#[async_trait]
pub trait SearchStore: Send + Sync {
    /// Returns the stored vectors of a server's tools under one definition.
    async fn load_vectors(
        &self,
        server: &ServerName,
        config: &ConfigHash,
        model: &str,
    ) -> StoreResult<Option<Vec<u8>>>;

    /// Stores the vectors of a server's tools, replacing earlier ones. They are deleted with the server's record.
    async fn save_vectors(
        &self,
        server: &ServerName,
        config: &ConfigHash,
        model: &str,
        vectors: Vec<u8>,
    ) -> StoreResult<()>;

    /// Returns every remembered query, newest first.
    async fn load_queries(&self, model: &str) -> StoreResult<Vec<RememberedQuery>>;

    /// Stores a query.
    async fn remember(&self, model: &str, query: RememberedQuery) -> StoreResult<()>;

    /// Deletes all queries and returns their number.
    async fn clear_queries(&self) -> StoreResult<usize>;
}
