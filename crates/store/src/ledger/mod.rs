//! The ledger: grants, pending approval requests and activity.
//!
//! It is a database separate from the catalog: its many small writes must not lengthen the catalog's write-ahead log,
//! which every start reads, and clearing the catalog must not delete grants.

mod inbox_notifier;
mod inbox_viewers;
mod memory;
mod review_rows;
mod rows;
mod sqlite;

use async_trait::async_trait;
use pegboard_model::{
    Activity, ApprovalRequest, ApprovalResponse, Grant, ReviewDecision, ServerName, Timestamp,
};
use tokio::sync::watch;

use crate::StoreResult;

pub use inbox_viewers::InboxViewer;
pub use memory::MemoryLedger;
pub use sqlite::SqliteLedger;

/// Stores grants, approval requests and activity.
///
/// # Errors
/// All operations fail if the underlying storage cannot be used.
#[async_trait]
pub trait Ledger: Send + Sync {
    /// Opens the ledger ahead of its first use, which reports any error.
    async fn prepare(&self) {}

    /// Returns every grant, sorted by server and tool.
    async fn grants(&self) -> StoreResult<Vec<Grant>>;

    /// Returns the grants of a tool, under any definition of its server.
    async fn grants_of(&self, server: Option<&ServerName>, tool: &str) -> StoreResult<Vec<Grant>>;

    /// Stores a grant, replacing the one for the same tool and definition.
    async fn save_grant(&self, grant: Grant) -> StoreResult<()>;

    /// Deletes the grants of a tool and returns their number.
    async fn revoke(&self, server: Option<&ServerName>, tool: &str) -> StoreResult<usize>;

    /// Adds an approval request. Returns `false` if `most` requests are pending already.
    async fn add_request(&self, request: ApprovalRequest, most: usize) -> StoreResult<bool>;

    /// Returns the pending requests, oldest first.
    async fn pending_requests(&self, now: Timestamp) -> StoreResult<Vec<ApprovalRequest>>;

    /// Decides a pending request, once. Returns `None` if it is not pending or has expired. A lasting decision is
    /// stored as a grant in the same transaction.
    async fn decide(
        &self,
        id: &str,
        response: ApprovalResponse,
    ) -> StoreResult<Option<ApprovalRequest>>;

    /// Returns the decision about a request, if there is one.
    async fn decision(&self, id: &str) -> StoreResult<Option<ApprovalResponse>>;

    /// Removes a request and returns the decision about it, if there is one.
    async fn remove_request(&self, id: &str) -> StoreResult<Option<ApprovalResponse>>;

    /// Returns every decision about a review. Blocks: it is read where a snapshot is built.
    fn review_decisions(&self) -> StoreResult<Vec<ReviewDecision>>;

    /// Stores a decision about a review, replacing the one about the same version.
    async fn save_review(&self, decision: ReviewDecision) -> StoreResult<()>;

    /// Returns the names of a server's tools that have a grant or were called, as far as the activity log shows. Names
    /// of called tools are exposed names. Blocks.
    fn used_tools(&self, server: &ServerName) -> StoreResult<Vec<String>>;

    /// Changes whenever the inbox, the grants or the reviews may have changed, in any process.
    fn changes(&self) -> watch::Receiver<u64>;

    /// Registers a viewer of the inbox for all processes, until it is dropped.
    fn register_viewer(&self) -> StoreResult<InboxViewer>;

    /// Whether the inbox has a viewer, in any process.
    fn has_viewers(&self) -> bool;

    /// Adds lines of activity and deletes the oldest beyond `most`.
    async fn add_activity(&self, lines: Vec<Activity>, most: usize) -> StoreResult<()>;

    /// Returns the newest lines of activity before an id, newest first.
    async fn activity(&self, limit: usize, before: Option<u64>) -> StoreResult<Vec<Activity>>;
}
