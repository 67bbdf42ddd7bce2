//! Asking a person: in the client that calls, at the terminal, or in the inbox.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pegboard_model::{
    ActivityKind, ApprovalDecision, ApprovalRequest, AskVia, ClientApproval, EventKind, Reason,
    ServerName, ToolError, ToolResult, ToolVersion, TraceId, UntrustedText,
};
use tokio::time::Instant;

use crate::call::{CallRequest, SessionId};
use crate::elicitation::{self, Reply};
use crate::hub::Inner;
use crate::shown_arguments::{longest_values, readable};
use crate::sync::lock;
use crate::telemetry::millis;

/// Characters of arguments that a person reads in a message of a client or at a terminal. Longer ones are shown in the
/// inbox, which has room for `Limits::shown_argument_bytes`.
const ARGUMENTS_IN_MESSAGE: usize = 16_000;

/// How long a person at the client or the terminal may take where no call waits in the inbox.
const PRESENT_USER_TIMEOUT: Duration = Duration::from_secs(120);

/// How people are asked, as of now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ApprovalSettings {
    /// How long a call waits for a person who has to approve it; zero asks only who is there.
    pub timeout: Duration,
    /// Where a person is asked.
    pub via: AskVia,
    /// How far an approval reaches that came through the client that calls.
    pub client: ClientApproval,
}

/// A question to a person.
#[derive(Clone, Debug)]
pub struct ApprovalPrompt {
    /// Who wants to call.
    pub session: SessionId,
    /// The tool's exposed name.
    pub tool: String,
    /// The server; `None` for a tool of the host program.
    pub server: Option<ServerName>,
    /// The exact arguments.
    pub arguments: String,
    /// The rule that asks.
    pub rule: String,
    /// Where the tool differs from the version that was allowed before, when one was.
    pub changed: Vec<String>,
}

impl ApprovalPrompt {
    /// Whether a message can show the arguments completely. Unavailable is asked to approve what is not shown.
    pub fn fits_message(&self) -> bool {
        self.shown_arguments_text()
            .chars()
            .nth(ARGUMENTS_IN_MESSAGE)
            .is_none()
    }

    /// The arguments, complete, with whatever could deceive or tire a reader written out.
    fn shown_arguments_text(&self) -> String {
        UntrustedText::new(&readable(&self.arguments)).to_string()
    }

    /// The question in words, with whatever could deceive a reader escaped.
    pub fn words(&self) -> String {
        let server = match &self.server {
            Some(server) => format!(" of server `{server}`"),
            None => String::new(),
        };
        let changed = match self.changed.is_empty() {
            true => String::new(),
            false => format!(
                "\nIt CHANGED since it was allowed; different: {}.",
                self.changed.join(", ")
            ),
        };
        format!(
            "`{}`{server} asks for your approval ({}).{changed}\nArguments: {}",
            UntrustedText::new(&self.tool),
            UntrustedText::new(&self.rule),
            self.shown_arguments_text(),
        )
    }
}

/// A person's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptResponse {
    /// Go on, this once.
    Allow,
    /// Go on, also with later calls of this version of the tool in this session.
    AllowForSession,
    /// Go on, also with all later calls of this version of the tool.
    AllowAlways,
    /// Do not.
    Refuse,
    /// Unavailable could be asked.
    Unavailable,
}

/// Who is asked when a policy says `ask` and the client cannot.
#[async_trait]
pub trait Approver: Send + Sync {
    /// Whether there is somebody to ask.
    fn can_ask(&self) -> bool {
        true
    }

    /// Puts the question.
    async fn ask(&self, question: ApprovalPrompt) -> PromptResponse;
}

/// An approver for places where no person is.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoApprover;

#[async_trait]
impl Approver for NoApprover {
    fn can_ask(&self) -> bool {
        false
    }

    async fn ask(&self, _question: ApprovalPrompt) -> PromptResponse {
        PromptResponse::Unavailable
    }
}

/// Everything that a question is about.
pub(crate) struct ApprovalContext {
    pub(crate) session: SessionId,
    pub(crate) client: Option<String>,
    pub(crate) tool: String,
    pub(crate) version: ToolVersion,
    pub(crate) definition: String,
    pub(crate) arguments: String,
    pub(crate) rule: String,
    pub(crate) changed: Vec<String>,
    /// Whether consent for the session means anything.
    pub(crate) offers_session: bool,
    /// Whether it waits in the inbox although nobody may be looking.
    pub(crate) in_inbox: bool,
}

impl ApprovalContext {
    fn ask(&self) -> ApprovalPrompt {
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

/// What came of a question.
pub(crate) enum ApprovalOutcome {
    Decided {
        decision: ApprovalDecision,
        by: String,
    },
    /// Unavailable answered in time.
    TimedOut,
    /// There was nobody to ask.
    Unavailable,
    /// The client closed the request without an answer, and there was no other way to ask.
    Dismissed,
}

impl Inner {
    /// Whether there is a person to ask about this call.
    pub(crate) fn can_ask(&self, request: &CallRequest) -> bool {
        let via = lock(&self.asking).via;
        (via != AskVia::Inbox && elicitation::can_ask(request))
            || self.approver.can_ask()
            || (via != AskVia::Client && self.ledger.has_viewers())
    }

    /// Asks until somebody answers or the time is over. A call that is taken back takes its question back.
    pub(crate) async fn ask(
        self: &Arc<Self>,
        request: &CallRequest,
        question: ApprovalContext,
        trace: &TraceId,
    ) -> ToolResult<ApprovalOutcome> {
        let settings = *lock(&self.asking);
        let started = Instant::now();
        let id = new_id();
        let mut asked = ApprovalAttempt {
            inner: self,
            question: &question,
            id: &id,
            trace,
            started,
            is_over: false,
        };
        let said = asked.try_channels(request, settings).await;
        asked.is_over = true;
        match &said {
            Ok(ApprovalOutcome::Decided { decision, by }) => asked.emit_decided(*decision, by),
            Ok(ApprovalOutcome::TimedOut) => asked.emit_expired(Reason::ApprovalTimeout.code()),
            Ok(ApprovalOutcome::Dismissed) => asked.emit_expired(Reason::ApprovalUnanswered.code()),
            Ok(ApprovalOutcome::Unavailable) => {}
            Err(error) => asked.emit_expired(error.reason.code()),
        }
        said
    }
}

/// A question that is being put; dropping it tells that nobody waits for the answer.
struct ApprovalAttempt<'a> {
    inner: &'a Arc<Inner>,
    question: &'a ApprovalContext,
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
    async fn try_channels(
        &self,
        request: &CallRequest,
        settings: ApprovalSettings,
    ) -> ToolResult<ApprovalOutcome> {
        let timeout = settings.timeout;
        // A person who is there has time in any case.
        let deadline = match timeout.is_zero() {
            true => self.started + PRESENT_USER_TIMEOUT,
            false => self.started + timeout,
        };
        let arguments = &self.question.arguments;
        let limit = self.inner.limits.shown_argument_bytes;
        if arguments.len() > limit {
            return Err(self.too_long(limit));
        }
        let ask = self.question.ask();
        let is_shown = ask.fits_message();
        let mut nobody = ApprovalOutcome::Unavailable;
        if is_shown && settings.via != AskVia::Inbox && elicitation::can_ask(request) {
            self.emit_requested("client");
            let offers_session =
                self.question.offers_session && settings.client == ClientApproval::Session;
            let answer = elicitation::ask(request, &ask, offers_session);
            match within(deadline, answer).await {
                Some(Reply::Decided(decision)) => {
                    return Ok(decided(decision, "the user in the client"));
                }
                Some(Reply::Cancelled) => nobody = ApprovalOutcome::Dismissed,
                Some(Reply::Failed) => {}
                None => return Ok(ApprovalOutcome::TimedOut),
            }
        }
        if is_shown && self.inner.approver.can_ask() {
            self.emit_requested("terminal");
            let verdict = within(deadline, self.inner.approver.ask(ask)).await;
            let decision = match verdict {
                Some(PromptResponse::Allow) => ApprovalDecision::Once,
                Some(PromptResponse::AllowForSession) => ApprovalDecision::Session,
                Some(PromptResponse::AllowAlways) => ApprovalDecision::Always,
                Some(PromptResponse::Refuse) => ApprovalDecision::Refuse,
                Some(PromptResponse::Unavailable) => return Ok(nobody),
                None => return Ok(ApprovalOutcome::TimedOut),
            };
            return Ok(decided(decision, "the user"));
        }
        let is_watched = || self.inner.ledger.has_viewers();
        let is_open = settings.via != AskVia::Client && !timeout.is_zero();
        if is_open && (self.question.in_inbox || is_watched()) {
            return self.in_inbox(deadline, timeout).await;
        }
        match is_shown {
            true => Ok(nobody),
            false => Err(self.too_long(ARGUMENTS_IN_MESSAGE)),
        }
    }

    /// Unavailable approves what cannot be shown completely.
    fn too_long(&self, limit: usize) -> ToolError {
        let tool = &self.question.tool;
        let longest = longest_values(&self.question.arguments);
        let message = format!(
            "tool `{tool}` needs a person's approval, and its arguments are too long to be shown completely \
             (at most {limit} characters; {longest})"
        );
        let error = ToolError::new(Reason::ApprovalTooLong, message).at_tool(tool.as_str());
        match &self.question.version.server {
            Some(server) => error.at_server(server),
            None => error,
        }
    }

    async fn in_inbox(&self, deadline: Instant, timeout: Duration) -> ToolResult<ApprovalOutcome> {
        let inner = self.inner;
        let Some(_running) = inner.tasks.enter() else {
            return Err(crate::refresh::shutting_down());
        };
        // Listening comes before asking, so that no answer is missed.
        let mut changes = inner.ledger.changes();
        let request = self.request(timeout);
        if !inner
            .ledger
            .ask(request, inner.limits.waiting_approvals)
            .await?
        {
            let message = "too many calls wait for a person's consent";
            let error = ToolError::new(Reason::Overloaded, message);
            return Err(error.at_tool(self.question.tool.as_str()));
        }
        let mut entry = InboxEntry {
            inner,
            id: self.id,
            is_closed: false,
        };
        self.emit_requested("inbox");
        let stopped = loop {
            changes.mark_unchanged();
            if inner.ledger.response_to(self.id).await?.is_some() {
                break None;
            }
            tokio::select! {
                _ = changes.changed() => {}
                () = tokio::time::sleep_until(deadline) => break None,
                () = inner.tasks.closing() => break Some(crate::refresh::shutting_down()),
            }
        };
        // Whoever answered before this moment answered in time.
        entry.is_closed = true;
        let answer = inner.ledger.close(self.id).await?;
        Ok(match (answer, stopped) {
            (_, Some(error)) => return Err(error),
            (Some(answer), None) => decided(answer.decision, &answer.by),
            (None, None) => ApprovalOutcome::TimedOut,
        })
    }

    fn request(&self, timeout: Duration) -> ApprovalRequest {
        let question = self.question;
        let asked_at = self.inner.clock.now();
        ApprovalRequest {
            id: self.id.to_owned(),
            session: question.session.0.clone(),
            client: question.client.clone(),
            tool: question.tool.clone(),
            version: question.version.clone(),
            definition: question.definition.clone(),
            arguments: question.arguments.clone(),
            rule: question.rule.clone(),
            changed: question.changed.clone(),
            offers_session: question.offers_session,
            asked_at,
            expires_at: asked_at.after(timeout),
        }
    }

    fn emit_requested(&self, way: &str) {
        let kind = EventKind::ApprovalRequested {
            id: self.id.to_owned(),
            tool: self.question.tool.clone(),
            server: self.question.version.server.clone(),
            way: way.to_owned(),
        };
        self.inner.telemetry.emit(self.trace, kind);
    }

    fn emit_decided(&self, decision: ApprovalDecision, by: &str) {
        let kind = EventKind::ApprovalDecided {
            id: self.id.to_owned(),
            tool: self.question.tool.clone(),
            decision: decision.as_str().to_owned(),
            by: by.to_owned(),
        };
        self.inner.telemetry.emit(self.trace, kind);
        self.record(decision.as_str());
    }

    fn emit_expired(&self, outcome: &str) {
        let kind = EventKind::ApprovalExpired {
            id: self.id.to_owned(),
            tool: self.question.tool.clone(),
        };
        self.inner.telemetry.emit(self.trace, kind);
        self.record(outcome);
    }

    fn record(&self, outcome: &str) {
        let telemetry = &self.inner.telemetry;
        telemetry.record(ActivityKind::Approval, outcome, |line| {
            line.session = Some(self.question.session.0.clone());
            line.tool = Some(self.question.tool.clone());
            line.server = self.question.version.server.clone();
            line.duration_ms = Some(millis(self.started.elapsed()));
            line.trace = Some(*self.trace);
        });
    }
}

/// A request in the inbox; dropping it takes it out again.
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
        let (ledger, id) = (self.inner.ledger.clone(), self.id.to_owned());
        self.inner.tasks.spawn_to_end(async move {
            // What stays is out of date by itself.
            let _ = ledger.close(&id).await;
        });
    }
}

fn decided(decision: ApprovalDecision, by: &str) -> ApprovalOutcome {
    ApprovalOutcome::Decided {
        decision,
        by: by.to_owned(),
    }
}

/// What comes before a moment. Work that was not looked at meanwhile counts only if it is in time, too.
async fn within<T>(deadline: Instant, work: impl Future<Output = T>) -> Option<T> {
    let done = tokio::time::timeout_at(deadline, work).await.ok()?;
    (Instant::now() <= deadline).then_some(done)
}

/// A number that a person can type.
fn new_id() -> String {
    let mut bytes = [0; 4];
    // Without randomness the time tells requests apart.
    if getrandom::fill(&mut bytes).is_err() {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        bytes = now.unwrap_or_default().subsec_nanos().to_be_bytes();
    }
    format!("{:08x}", u32::from_be_bytes(bytes))
}
