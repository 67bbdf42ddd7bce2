//! The approval inbox and the stored grants.

use pegboard_model::{
    ApprovalDecision, ApprovalRequest, ApprovalResponse, Grant, Reason, ServerName, ToolError,
    ToolResult, UntrustedText,
};
use pegboard_store::InboxViewer;
use tokio::sync::watch;

use crate::hub::Hub;

/// A viewer of the inbox. While it exists, calls that need an approval can wait in the inbox.
pub struct InboxWatch {
    changes: watch::Receiver<u64>,
    _viewer: InboxViewer,
}

impl InboxWatch {
    /// Waits until the inbox or the grants may have changed, in this or another process.
    pub async fn changed(&mut self) {
        // The sender lives as long as the hub; without it there are no more changes.
        if self.changes.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl Hub {
    /// Returns the pending approval requests of all processes that share the store, oldest first.
    ///
    /// # Errors
    /// Fails if the ledger cannot be read.
    pub async fn approvals(&self) -> ToolResult<Vec<ApprovalRequest>> {
        self.inner
            .approvals
            .ledger
            .pending_requests(self.inner.clock.now())
            .await
    }

    /// Decides a pending approval request and returns it. `by` names who decided, for the activity log.
    ///
    /// # Errors
    /// Fails if the request is not pending, if a session grant is requested for a call without a session, or if the
    /// ledger cannot be used.
    pub async fn decide_approval(
        &self,
        id: &str,
        decision: ApprovalDecision,
        by: &str,
    ) -> ToolResult<ApprovalRequest> {
        if decision == ApprovalDecision::Session {
            let pending = self.approvals().await?;
            let request = pending.iter().find(|request| request.id == id);
            if request.is_some_and(|request| !request.offers_session) {
                let message = format!("call `{id}` has no session that could be granted");
                let error = ToolError::new(Reason::RequestInvalid, message);
                return Err(error
                    .at_field("decision")
                    .with_remedy("Allow it once or always."));
            }
        }
        let response = ApprovalResponse {
            decision,
            by: by.to_owned(),
            at: self.inner.clock.now(),
        };
        let decided = self.inner.approvals.ledger.decide(id, response).await?;
        decided.ok_or_else(|| {
            let id = UntrustedText::new(id).shortened(40);
            let message = format!("no approval request `{id}` is pending");
            ToolError::new(Reason::ApprovalUnknown, message)
        })
    }

    /// Registers a viewer of the inbox. Tools with the policy "ask if possible" ask as long as there is one.
    ///
    /// # Errors
    /// Fails if the viewer cannot be registered in the ledger.
    pub fn watch_approvals(&self) -> ToolResult<InboxWatch> {
        Ok(InboxWatch {
            changes: self.inner.approvals.ledger.changes(),
            _viewer: self.inner.approvals.ledger.register_viewer()?,
        })
    }

    /// Returns every stored grant, sorted by server and tool.
    ///
    /// # Errors
    /// Fails if the ledger cannot be read.
    pub async fn grants(&self) -> ToolResult<Vec<Grant>> {
        self.inner.approvals.ledger.grants().await
    }

    /// Revokes all grants of a tool, stored ones and those of sessions. `tool` is the server's own name of the tool.
    /// Returns the number of stored grants that were revoked.
    ///
    /// # Errors
    /// Fails if the ledger cannot be written.
    pub async fn revoke_grant(&self, server: Option<&ServerName>, tool: &str) -> ToolResult<usize> {
        self.inner
            .approvals
            .session_grants
            .revoke(|version| version.server.as_ref() == server && version.tool == tool);
        self.inner.approvals.ledger.revoke(server, tool).await
    }
}
