//! What people decided and what was done: lasting consents, calls that wait for a person, and activity.
//!
//! The ledger is a file of its own beside the catalog's: its many small writes must not make the catalog's log
//! long, which every start reads; and clearing the catalog must not take anybody's decision away.

mod inbox_notifier;
mod inbox_viewers;
mod memory;
mod rows;
mod sqlite;

use async_trait::async_trait;
use pegboard_model::{Activity, ApprovalRequest, ApprovalResponse, Grant, ServerName, Timestamp};
use tokio::sync::watch;

use crate::StoreResult;

pub use inbox_viewers::InboxViewer;
pub use memory::MemoryLedger;
pub use sqlite::SqliteLedger;

/// What every ledger can do, whatever keeps it.
#[async_trait]
pub trait Ledger: Send + Sync {
    /// Opens what the first use would have to open. Whatever goes wrong is told by that use.
    async fn prepare(&self) {}

    /// Every lasting consent, sorted by server and tool.
    async fn grants(&self) -> StoreResult<Vec<Grant>>;

    /// The lasting consents for a tool, under whatever definition of its server.
    async fn grants_of(&self, server: Option<&ServerName>, tool: &str) -> StoreResult<Vec<Grant>>;

    /// Keeps a consent in place of the earlier one for the same tool and definition of its server.
    async fn save_grant(&self, grant: Grant) -> StoreResult<()>;

    /// Takes the consents for a tool back and says how many there were.
    async fn revoke(&self, server: Option<&ServerName>, tool: &str) -> StoreResult<usize>;

    /// Puts a request into the inbox; `false` when `most` wait there already.
    async fn ask(&self, request: ApprovalRequest, most: usize) -> StoreResult<bool>;

    /// The requests that wait at this moment, the oldest first.
    async fn waiting(&self, now: Timestamp) -> StoreResult<Vec<ApprovalRequest>>;

    /// Answers a request, once and in time; `None` when it does not wait, or no longer. An answer that lasts is
    /// kept in the same step.
    async fn answer(
        &self,
        id: &str,
        answer: ApprovalResponse,
    ) -> StoreResult<Option<ApprovalRequest>>;

    /// The answer to a request, when there is one.
    async fn response_to(&self, id: &str) -> StoreResult<Option<ApprovalResponse>>;

    /// Takes a request out of the inbox, and gives the answer that came before.
    async fn close(&self, id: &str) -> StoreResult<Option<ApprovalResponse>>;

    /// Changes whenever the inbox may have, in whatever process.
    fn changes(&self) -> watch::Receiver<u64>;

    /// Tells all processes that a person looks at the inbox, until it is dropped.
    fn register_viewer(&self) -> StoreResult<InboxViewer>;

    /// Whether a person looks at the inbox, in whatever process.
    fn has_viewers(&self) -> bool;

    /// Adds lines of activity; the oldest beyond `most` are dropped.
    async fn note(&self, lines: Vec<Activity>, most: usize) -> StoreResult<()>;

    /// The newest lines of activity before a place, the newest first.
    async fn activity(&self, limit: usize, before: Option<u64>) -> StoreResult<Vec<Activity>>;
}
