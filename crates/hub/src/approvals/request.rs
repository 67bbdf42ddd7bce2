//! Asking a person to approve a call: in the calling client, at the terminal, or in the inbox.

use std::sync::Arc;
use std::time::Duration;

use pegboard_model::{
    ActivityKind, ApprovalDecision, ApprovalRequest, AskVia, ClientApproval, EventKind, Reason,
    ToolError, ToolResult, ToolVersion, TraceId,
};
use tokio::time::Instant;

use super::elicitation::{self, Reply};
use super::prompt::{ARGUMENTS_IN_MESSAGE, ApprovalPrompt, Approver, PromptResponse};
use super::shown_arguments::longest_values;
use crate::calls::{CallRequest, SessionId};
use crate::discovery::shutting_down;
use crate::hub::Inner;
use crate::telemetry::millis;

/// How long a person at the client or the terminal may take if calls do not wait in the inbox.
const PRESENT_USER_TIMEOUT: Duration = Duration::from_secs(120);

/// Everything that an approval request shows or stores.
pub(crate) struct ApprovalContext {
    pub(crate) session: SessionId,
    pub(crate) client: Option<String>,
    pub(crate) tool: String,
    pub(crate) version: ToolVersion,
    pub(crate) definition: String,
    pub(crate) arguments: String,
    pub(crate) rule: String,
    pub(crate) changed: Vec<String>,
    /// Whether a grant for the session is offered.
    pub(crate) offers_session: bool,
    /// Whether the request waits in the inbox even if the inbox has no viewer.
    pub(crate) in_inbox: bool,
}

impl ApprovalContext {
    fn prompt(&self) -> ApprovalPrompt {
        ApprovalPrompt {
            session: self.session.clone(),
            tool: self.tool.clone(),
            server: self.version.server.clone(),
            arguments: self.arguments.clone(),
            rule: self.rule.clone(),
            changed: self.changed.clone(),
        }
    }
}

/// The outcome of an approval request.
pub(crate) enum ApprovalOutcome {
    Decided {
        decision: ApprovalDecision,
        by: String,
    },
    /// No response arrived in time.
    TimedOut,
    /// There was no way to ask.
    Unavailable,
    /// The client dismissed the prompt without a response, and there was no other way to ask.
    Dismissed,
}

impl Inner {
    /// Requests an approval and waits for the decision or the timeout. Dropping the future withdraws the request.
    pub(crate) async fn ask_for_approval(
        self: &Arc<Self>,
        request: &CallRequest,
        context: ApprovalContext,
        trace: &TraceId,
    ) -> ToolResult<ApprovalOutcome> {
        let id = new_id();
        let mut attempt = ApprovalAttempt {
            inner: self,
            context: &context,
            id: &id,
            trace,
            started: Instant::now(),
            is_over: false,
        };
        let outcome = attempt.try_channels(request).await;
        attempt.is_over = true;
        match &outcome {
            Ok(ApprovalOutcome::Decided { decision, by }) => attempt.emit_decided(*decision, by),
            Ok(ApprovalOutcome::TimedOut) => attempt.emit_expired(Reason::ApprovalTimeout.code()),
            Ok(ApprovalOutcome::Dismissed) => {
                attempt.emit_expired(Reason::ApprovalUnanswered.code());
            }
            Ok(ApprovalOutcome::Unavailable) => {}
            Err(error) => attempt.emit_expired(error.reason.code()),
        }
        outcome
    }
}

/// A pending approval request. If it is dropped before a decision, it is reported as cancelled.
struct ApprovalAttempt<'a> {
    inner: &'a Arc<Inner>,
    context: &'a ApprovalContext,
    id: &'a str,
    trace: &'a TraceId,
    started: Instant,
    is_over: bool,
}

impl Drop for ApprovalAttempt<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.emit_expired(Reason::Cancelled.code());
        }
    }
}

impl ApprovalAttempt<'_> {
    async fn try_channels(&self, request: &CallRequest) -> ToolResult<ApprovalOutcome> {
        let approvals = &self.inner.approvals;
        let settings = approvals.settings();
        let timeout = settings.timeout;
        // The client and the terminal get their own timeout if the configured one is zero.
        let deadline = match timeout.is_zero() {
            true => self.started + PRESENT_USER_TIMEOUT,
            false => self.started + timeout,
        };
        let arguments = &self.context.arguments;
        let limit = self.inner.limits.shown_argument_bytes;
        if arguments.len() > limit {
            return Err(self.too_long(limit));
        }
        let prompt = self.context.prompt();
        let is_shown = prompt.fits_message();
        let mut unavailable = ApprovalOutcome::Unavailable;
        if is_shown && settings.via != AskVia::Inbox && elicitation::can_ask(request) {
            self.emit_requested("client");
            let offers_session =
                self.context.offers_session && settings.client == ClientApproval::Session;
            let reply = elicitation::ask(request, &prompt, offers_session);
            match within(deadline, reply).await {
                Some(Reply::Decided(decision)) => {
                    return Ok(decided(decision, "the user in the client"));
                }
                Some(Reply::Cancelled) => unavailable = ApprovalOutcome::Dismissed,
                Some(Reply::Failed) => {}
                None => return Ok(ApprovalOutcome::TimedOut),
            }
        }
        let approver = approvals.approver_of(request);
        if is_shown && approver.can_ask() {
            self.emit_requested("terminal");
            let response = within(deadline, approver.ask(prompt)).await;
            let decision = match response {
                Some(PromptResponse::Allow) => ApprovalDecision::Once,
                Some(PromptResponse::AllowForSession) => ApprovalDecision::Session,
                Some(PromptResponse::AllowAlways) => ApprovalDecision::Always,
                Some(PromptResponse::Refuse) => ApprovalDecision::Refuse,
                Some(PromptResponse::Unavailable) => return Ok(unavailable),
                None => return Ok(ApprovalOutcome::TimedOut),
            };
            return Ok(decided(decision, "the user"));
        }
        let is_watched = || approvals.ledger.has_viewers();
        let is_open = settings.via != AskVia::Client && !timeout.is_zero();
        if is_open && (self.context.in_inbox || is_watched()) {
            return self.wait_in_inbox(approver, deadline, timeout).await;
        }
        match is_shown {
            true => Ok(unavailable),
            false => Err(self.too_long(ARGUMENTS_IN_MESSAGE)),
        }
    }

    /// The error for arguments that cannot be shown completely.
    fn too_long(&self, limit: usize) -> ToolError {
        let tool = &self.context.tool;
        let longest = longest_values(&self.context.arguments);
        let message = format!(
            "tool `{tool}` needs an approval, and its arguments are too long to be shown completely \
             (at most {limit} characters; {longest})"
        );
        let error = ToolError::new(Reason::ApprovalTooLong, message).at_tool(tool.as_str());
        match &self.context.version.server {
            Some(server) => error.at_server(server),
            None => error,
        }
    }

    async fn wait_in_inbox(
        &self,
        approver: &dyn Approver,
        deadline: Instant,
        timeout: Duration,
    ) -> ToolResult<ApprovalOutcome> {
        let inner = self.inner;
        let ledger = &inner.approvals.ledger;
        let Some(_running) = inner.tasks.enter() else {
            return Err(shutting_down());
        };
        // Subscribe before the request is added, so that no response is missed.
        let mut changes = ledger.changes();
        let request = self.request(timeout);
        if !ledger
            .add_request(request, inner.limits.waiting_approvals)
            .await?
        {
            let message = "too many calls are waiting for approval";
            let error = ToolError::new(Reason::Overloaded, message);
            return Err(error.at_tool(self.context.tool.as_str()));
        }
        let mut entry = InboxEntry {
            inner,
            id: self.id,
            is_closed: false,
        };
        self.emit_requested("inbox");
        approver.waits_in_inbox(self.id);
        let stopped = loop {
            changes.mark_unchanged();
            if ledger.decision(self.id).await?.is_some() {
                break None;
            }
            tokio::select! {
                _ = changes.changed() => {}
                () = tokio::time::sleep_until(deadline) => break None,
                () = inner.tasks.closing() => break Some(shutting_down()),
            }
        };
        // A response that arrived before this moment was in time.
        entry.is_closed = true;
        let response = ledger.remove_request(self.id).await?;
        Ok(match (response, stopped) {
            (_, Some(error)) => return Err(error),
            (Some(response), None) => decided(response.decision, &response.by),
            (None, None) => ApprovalOutcome::TimedOut,
        })
    }

    fn request(&self, timeout: Duration) -> ApprovalRequest {
        let context = self.context;
        let asked_at = self.inner.clock.now();
        ApprovalRequest {
            id: self.id.to_owned(),
            session: context.session.0.clone(),
            client: context.client.clone(),
            tool: context.tool.clone(),
            version: context.version.clone(),
            definition: context.definition.clone(),
            arguments: context.arguments.clone(),
            rule: context.rule.clone(),
            changed: context.changed.clone(),
            offers_session: context.offers_session,
            asked_at,
            expires_at: asked_at.after(timeout),
        }
    }

    fn emit_requested(&self, way: &str) {
        let kind = EventKind::ApprovalRequested {
            id: self.id.to_owned(),
            tool: self.context.tool.clone(),
            server: self.context.version.server.clone(),
            way: way.to_owned(),
        };
        self.inner.telemetry.emit(self.trace, kind);
    }

    fn emit_decided(&self, decision: ApprovalDecision, by: &str) {
        let kind = EventKind::ApprovalDecided {
            id: self.id.to_owned(),
            tool: self.context.tool.clone(),
            decision: decision.as_str().to_owned(),
            by: by.to_owned(),
        };
        self.inner.telemetry.emit(self.trace, kind);
        self.record(decision.as_str());
    }

    fn emit_expired(&self, outcome: &str) {
        let kind = EventKind::ApprovalExpired {
            id: self.id.to_owned(),
            tool: self.context.tool.clone(),
        };
        self.inner.telemetry.emit(self.trace, kind);
        self.record(outcome);
    }

    fn record(&self, outcome: &str) {
        let telemetry = &self.inner.telemetry;
        telemetry.record(ActivityKind::Approval, outcome, |line| {
            line.session = Some(self.context.session.0.clone());
            line.client = self.context.client.clone();
            line.tool = Some(self.context.tool.clone());
            line.server = self.context.version.server.clone();
            line.duration_ms = Some(millis(self.started.elapsed()));
            line.trace = Some(*self.trace);
        });
    }
}

/// A request in the inbox. Dropping it removes the request.
struct InboxEntry<'a> {
    inner: &'a Arc<Inner>,
    id: &'a str,
    is_closed: bool,
}

impl Drop for InboxEntry<'_> {
    fn drop(&mut self) {
        if self.is_closed || tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        let (ledger, id) = (self.inner.approvals.ledger.clone(), self.id.to_owned());
        self.inner.tasks.spawn_to_end(async move {
            // If this fails, the entry expires by itself.
            let _ = ledger.remove_request(&id).await;
        });
    }
}

fn decided(decision: ApprovalDecision, by: &str) -> ApprovalOutcome {
    ApprovalOutcome::Decided {
        decision,
        by: by.to_owned(),
    }
}

/// Awaits `work` until the deadline. A result that is ready but was polled too late does not count.
async fn within<T>(deadline: Instant, work: impl Future<Output = T>) -> Option<T> {
    let done = tokio::time::timeout_at(deadline, work).await.ok()?;
    (Instant::now() <= deadline).then_some(done)
}

/// An id that is short enough to type.
fn new_id() -> String {
    let mut bytes = [0; 4];
    // Without randomness, use the time to tell requests apart.
    if getrandom::fill(&mut bytes).is_err() {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        bytes = now.unwrap_or_default().subsec_nanos().to_be_bytes();
    }
    format!("{:08x}", u32::from_be_bytes(bytes))
}
