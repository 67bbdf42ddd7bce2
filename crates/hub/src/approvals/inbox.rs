//! The inbox of calls that wait for a person, and the consents that last.

use pegboard_model::{
    ApprovalDecision, ApprovalRequest, ApprovalResponse, Grant, Reason, ServerName, ToolError,
    ToolResult, UntrustedText,
};
use pegboard_store::InboxViewer;
use tokio::sync::watch;

use crate::hub::Hub;

/// Somebody who looks at the inbox. As long as it is held, there is a person to ask.
pub struct InboxWatch {
    changes: watch::Receiver<u64>,
    _viewer: InboxViewer,
}

impl InboxWatch {
    /// Waits until the inbox or the lasting consents may have changed, in whatever process.
    pub async fn changed(&mut self) {
        // The sender lives as long as the hub; without it nothing changes any more.
        if self.changes.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl Hub {
    /// The calls that wait for a person now, the oldest first, of all processes that share the store.
    pub async fn approvals(&self) -> ToolResult<Vec<ApprovalRequest>> {
        self.inner
            .approvals
            .ledger
            .waiting(self.inner.clock.now())
            .await
    }

    /// Answers a call that waits, and gives back what it was about. `by` says who answers, for the log.
    ///
    /// # Errors
    /// When no such call waits, when it has no session and the decision is for the session, or when the ledger cannot
    /// be used.
    pub async fn decide_approval(
        &self,
        id: &str,
        decision: ApprovalDecision,
        by: &str,
    ) -> ToolResult<ApprovalRequest> {
        if decision == ApprovalDecision::Session {
            let waiting = self.approvals().await?;
            let request = waiting.iter().find(|request| request.id == id);
            if request.is_some_and(|request| !request.offers_session) {
                let message = format!("call `{id}` belongs to no session that could be allowed");
                let error = ToolError::new(Reason::RequestInvalid, message);
                return Err(error
                    .at_field("decision")
                    .with_remedy("Allow it once or always."));
            }
        }
        let answer = ApprovalResponse {
            decision,
            by: by.to_owned(),
            at: self.inner.clock.now(),
        };
        let answered = self.inner.approvals.ledger.answer(id, answer).await?;
        answered.ok_or_else(|| {
            let id = UntrustedText::new(id).shortened(40);
            let message = format!("no call `{id}` waits for an answer");
            ToolError::new(Reason::ApprovalUnknown, message)
        })
    }

    /// Looks at the inbox from now on: tools that ask when possible ask as long as somebody does.
    pub fn watch_approvals(&self) -> ToolResult<InboxWatch> {
        Ok(InboxWatch {
            changes: self.inner.approvals.ledger.changes(),
            _viewer: self.inner.approvals.ledger.register_viewer()?,
        })
    }

    /// Every lasting consent, sorted by server and tool.
    pub async fn grants(&self) -> ToolResult<Vec<Grant>> {
        self.inner.approvals.ledger.grants().await
    }

    /// Takes every consent for a tool back, the lasting ones and those of sessions; `tool` is the server's own
    /// name for it. Gives how many lasting ones there were.
    pub async fn revoke_grant(&self, server: Option<&ServerName>, tool: &str) -> ToolResult<usize> {
        self.inner
            .approvals
            .session_grants
            .revoke(|version| version.server.as_ref() == server && version.tool == tool);
        self.inner.approvals.ledger.revoke(server, tool).await
    }
}
