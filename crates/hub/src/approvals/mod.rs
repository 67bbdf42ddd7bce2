//! Approvals and grants: what a person allowed, and asking for more.

mod elicitation;
mod grant_index;
mod inbox;
mod prompt;
mod request;
mod session_grants;
mod shown_arguments;

use std::sync::{Arc, Mutex};

use pegboard_model::{AskVia, Grant, ServerName, ToolVersion};
use pegboard_store::Ledger;

use self::grant_index::GrantIndex;
pub use self::inbox::InboxWatch;
pub use self::prompt::{ApprovalPrompt, ApprovalSettings, Approver, NoApprover, PromptResponse};
pub(crate) use self::request::{ApprovalContext, ApprovalOutcome};
use self::session_grants::SessionGrants;
pub use self::shown_arguments::readable as readable_arguments;
use crate::calls::CallRequest;
use crate::sync::lock;

/// The grants of sessions and of the ledger, and the ways to ask a person.
pub(crate) struct Approvals {
    ledger: Arc<dyn Ledger>,
    approver: Arc<dyn Approver>,
    settings: Mutex<ApprovalSettings>,
    session_grants: SessionGrants,
    grant_index: GrantIndex,
}

/// What earlier approvals say about a version of a tool.
pub(crate) enum PriorApproval {
    /// The request is the next round of an approved call.
    NextRound,
    /// This version is granted.
    Granted,
    /// Another version of the same definition is granted.
    Changed(Box<Grant>),
    None,
}

impl Approvals {
    pub(crate) fn new(
        ledger: Arc<dyn Ledger>,
        approver: Arc<dyn Approver>,
        settings: ApprovalSettings,
        max_session_grants: usize,
    ) -> Self {
        Self {
            grant_index: GrantIndex::new(ledger.clone()),
            ledger,
            approver,
            settings: Mutex::new(settings),
            session_grants: SessionGrants::new(max_session_grants),
        }
    }

    pub(crate) fn settings(&self) -> ApprovalSettings {
        *lock(&self.settings)
    }

    pub(crate) fn set_settings(&self, settings: ApprovalSettings) {
        *lock(&self.settings) = settings;
    }

    /// Returns the approver of a call: the caller's own, or that of the hub.
    fn approver_of<'a>(&'a self, request: &'a CallRequest) -> &'a dyn Approver {
        &**request.approver.as_ref().unwrap_or(&self.approver)
    }

    /// Whether there is a way to ask a person about this call.
    pub(crate) fn can_ask(&self, request: &CallRequest) -> bool {
        let via = self.settings().via;
        (via != AskVia::Inbox && elicitation::can_ask(request))
            || self.approver_of(request).can_ask()
            || (via != AskVia::Client && self.ledger.has_viewers())
    }

    /// Whether it is certain, without reading the ledger, that a tool has no grant.
    pub(crate) fn has_no_grant(&self, server: Option<&ServerName>, tool: &str) -> bool {
        self.grant_index.has_none(server, tool)
    }

    /// Looks for an approval of this version. The next round of an approved call is used up by this.
    pub(crate) async fn find(&self, request: &CallRequest, version: &ToolVersion) -> PriorApproval {
        if self.session_grants.take_next_round(request, version) {
            return PriorApproval::NextRound;
        }
        if self.session_grants.covers(&request.session, version) {
            return PriorApproval::Granted;
        }
        let server = version.server.as_ref();
        let grants = self.grant_index.grants_of(server, &version.tool).await;
        if grants.iter().any(|grant| grant.version == *version) {
            return PriorApproval::Granted;
        }
        let mut same_definition = grants
            .into_iter()
            .filter(|grant| grant.version.config == version.config);
        match same_definition.next() {
            Some(grant) => PriorApproval::Changed(Box::new(grant)),
            None => PriorApproval::None,
        }
    }

    /// Stores a grant. A failure is logged, because the call that it belongs to is approved in any case.
    pub(crate) async fn store_grant(&self, grant: Grant) {
        if let Err(error) = self.ledger.save_grant(grant).await {
            tracing::warn!(target: "pegboard", %error, "cannot store a grant");
        }
    }

    pub(crate) fn session_grants(&self) -> &SessionGrants {
        &self.session_grants
    }
}
