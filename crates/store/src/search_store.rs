//! What search by meaning keeps: vectors of tools, which can always be computed again, and past queries,
//! which a person may have kept and may drop.

use async_trait::async_trait;
use pegboard_model::{ConfigHash, Fingerprint, ServerName, Timestamp};

use crate::StoreResult;

/// Queries that are remembered at the most; the oldest go first.
pub const MAX_REMEMBERED_QUERIES: usize = 4_000;
/// Queries that are remembered for one tool: more would only drown the others.
pub const MAX_REMEMBERED_QUERIES_PER_TOOL: usize = 16;

/// A query that led to a successful call of a tool. The words are not kept, only their vector.
#[derive(Clone, Debug, PartialEq)]
pub struct RememberedQuery {
    /// The tool's server.
    pub server: ServerName,
    /// The server's own name for the tool.
    pub tool: String,
    /// The tool as it was when it was called.
    pub fingerprint: Fingerprint,
    /// The query's vector, as its model writes it.
    pub vector: Vec<u8>,
    /// When it was called.
    pub at: Timestamp,
}

/// Keeps what search by meaning needs. Vectors belong to one model: those of another are not given out.
#[async_trait]
pub trait SearchStore: Send + Sync {
    /// The vectors of a server's tools under one definition, as they were saved.
    async fn load_vectors(
        &self,
        server: &ServerName,
        config: &ConfigHash,
        model: &str,
    ) -> StoreResult<Option<Vec<u8>>>;

    /// Keeps the vectors of a server's tools in place of earlier ones. They leave with the server's record.
    async fn save_vectors(
        &self,
        server: &ServerName,
        config: &ConfigHash,
        model: &str,
        vectors: Vec<u8>,
    ) -> StoreResult<()>;

    /// Every remembered query, the newest first.
    async fn load_queries(&self, model: &str) -> StoreResult<Vec<RememberedQuery>>;

    /// Remembers a query.
    async fn remember(&self, model: &str, query: RememberedQuery) -> StoreResult<()>;

    /// Forgets every query and says how many there were.
    async fn clear_queries(&self) -> StoreResult<usize>;
}
