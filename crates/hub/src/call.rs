//! The one way to call a tool.

use std::sync::Arc;

use pegboard_catalog::{ServerEntry, ToolView};
use pegboard_guard::parse_arguments;
use pegboard_model::{
    CallFacts, Era, EventKind, Outcome, Reason, SpanContext, Tool, ToolError, ToolResult, TraceId,
    Transport, TransportKind,
};
use pegboard_upstream::{
    CallOptions, CallOutcome, Caller, InputResponses, OutcomeKind, mirrored_headers,
};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::discovery::Backoff;
use crate::discovery::may_start;
use crate::hub::{Hub, Inner};
use crate::panics::catch_panic;
use crate::policy::{GatePass, refused};
use crate::result_check::output_mismatch;
use crate::schema_checks::HeaderUse;
use crate::slots::{ConnectionHold, ServerSlot};
use crate::static_tools::as_result;
use crate::telemetry::{FinishedRequest, OpenCall, TraceScope, outcome_of, transport_kind};

/// A modern server's word that a header does not repeat what the body says.
const HEADER_MISMATCH: i64 = -32020;
/// How much longer than one silence a whole call may take, whatever progress it tells.
const LONGEST_IN_TIMEOUTS: u32 = 10;

/// Who asks: one connected client or embedding agent.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(transparent)]
pub struct SessionId(pub String);

/// A wish to call a tool.
#[derive(Clone)]
pub struct CallRequest {
    /// Who asks.
    pub session: SessionId,
    /// The tool, in any form a person or a model writes it.
    pub tool: String,
    /// The arguments, a JSON object.
    pub arguments: Box<RawValue>,
    /// The client behind the call, as far as the server may reach it.
    pub caller: Option<Arc<dyn Caller>>,
    /// Members for the request's `_meta`, for example `traceparent`. Where spans are made, the call's own span
    /// takes that one's place.
    pub meta: Option<serde_json::Map<String, serde_json::Value>>,
    /// The span that the call is a part of: ours, or the one that a client named.
    pub span: Option<SpanContext>,
    /// Answers to what the server asked for in an earlier round.
    pub input: Option<InputResponses>,
    /// What the client calls itself, for a person who is asked; foreign text.
    pub client: Option<Arc<str>>,
    /// Whether more calls of the same session can follow.
    pub is_lasting: bool,
    /// Whether the call is refused unless the server marks the tool as read-only.
    pub read_only: bool,
}

impl CallRequest {
    /// A plain call.
    pub fn new(session: SessionId, tool: impl Into<String>, arguments: Box<RawValue>) -> Self {
        Self {
            session,
            tool: tool.into(),
            arguments,
            caller: None,
            meta: None,
            span: None,
            input: None,
            client: None,
            is_lasting: true,
            read_only: false,
        }
    }
}

impl Hub {
    /// Calls a tool: finds it, checks the arguments, asks the policy gate, starts or reuses exactly its
    /// server. A tool's own failure is an `Ok` with `is_error`.
    pub async fn call(&self, request: &CallRequest) -> ToolResult<CallOutcome> {
        let started = Instant::now();
        let trace = TraceScope::below(request.span.as_ref());
        let span = self.inner.telemetry.recorder().begin(trace.above(), &trace);
        let span = span.map(|span| span.with_labels(&request.tool, &request.session.0));
        let trace = trace.under(span.as_ref());
        let open = OpenCall::new(&self.inner, request, &trace);
        let catalog = self.inner.catalog.load_full();
        let later;
        let found = match catalog.find(&request.tool) {
            Err(error) if error.reason == Reason::ToolUnknown => {
                let looked = self
                    .inner
                    .discover_missing(&request.tool, &catalog, &trace)
                    .await;
                later = self.inner.catalog.load_full();
                looked.and_then(|()| later.find(&request.tool))
            }
            found => found,
        };
        let result = match &found {
            Ok(view) => {
                let routed = self.inner.route(view, request, span.as_ref(), &trace);
                let what = || format!("the call of tool `{}`", view.exposed());
                catch_panic(what, routed).await
            }
            Err(error) => Err(error.clone()),
        };
        open.end();
        if let (Ok(view), Ok(outcome)) = (&found, &result)
            && !outcome.is_error
            && outcome.kind == OutcomeKind::Complete
        {
            self.inner
                .remember_successful_search(&request.session, view);
            if let Some(server) = view.server() {
                let (sessions, limits) = (&self.inner.sessions, &self.inner.limits);
                let uris = sessions.record_links(&request.session, server, &outcome.result, limits);
                self.inner.withdraw_session_resources(server, uris, &trace);
            }
        }
        let tool = match &found {
            Ok(view) => view.exposed().as_str(),
            Err(_) => "unknown",
        };
        let took = started.elapsed();
        let view = found.as_ref().ok();
        let mismatch = view
            .zip(result.as_ref().ok())
            .and_then(|(view, outcome)| output_mismatch(&self.inner.schemas, view, outcome));
        let outcome = match &mismatch {
            Some(mismatch) => mismatch.reason.code(),
            None => outcome_of(&result),
        };
        if let Some(mismatch) = mismatch {
            let event = EventKind::OutputMismatch {
                tool: tool.to_owned(),
                server: view.and_then(|view| view.server().cloned()),
                reason: mismatch.reason.code().to_owned(),
                error: mismatch.message,
            };
            self.inner.telemetry.emit(&trace, event);
        }
        let entry = view.and_then(ToolView::entry);
        let facts = CallFacts {
            server: view.and_then(ToolView::server),
            tool: view.map_or(tool, ToolView::name),
            exposed: tool,
            transport: entry.map_or(TransportKind::InProcess, |entry| {
                transport_kind(&entry.spec)
            }),
            protocol: entry.and_then(|entry| entry.record.protocol_version.as_deref()),
            started: span.is_some() && self.inner.was_started(entry, started),
            arguments: Some(request.arguments.get()),
            result: result.as_ref().ok().map(|outcome| outcome.result.get()),
            outcome: match &result {
                Ok(outcome) if outcome.is_error => Outcome::ToolFailed,
                result => Outcome::of(result),
            },
            took,
        };
        self.inner.telemetry.recorder().call(span.as_ref(), &facts);
        let finished = FinishedRequest {
            session: &request.session,
            name: tool,
            server: view.and_then(ToolView::server),
            outcome,
            took,
        };
        self.inner.telemetry.call_finished(&trace, finished);
        result
    }
}

/// A call on its way to its server.
#[derive(Clone, Copy)]
struct CallContext<'a> {
    request: &'a CallRequest,
    pass: &'a GatePass,
    span: Option<&'a SpanContext>,
    trace: &'a TraceScope,
}

impl Inner {
    async fn route(
        self: &Arc<Self>,
        view: &ToolView<'_>,
        request: &CallRequest,
        span: Option<&SpanContext>,
        trace: &TraceScope,
    ) -> ToolResult<CallOutcome> {
        let exposed = view.exposed().as_str();
        check_read_only(request, view)?;
        let arguments =
            parse_arguments(request.arguments.get()).map_err(|error| error.at_tool(exposed))?;
        let checked = self.schemas.check(view, &arguments)?;
        match (view.entry(), view.tool()) {
            (Some(entry), Some(tool)) => {
                drop(arguments);
                may_start(&entry.spec).map_err(|error| error.at_tool(exposed))?;
                let pass = self.gate(request, view, trace).await?;
                let context = CallContext {
                    request,
                    pass: &pass,
                    span,
                    trace,
                };
                let result = self.call_server(entry, tool, checked, context).await;
                if let (Ok(outcome), Some(version)) = (&result, pass.approved_once())
                    && outcome.kind == OutcomeKind::InputRequired
                {
                    self.approvals
                        .expect_next_round(request, version, &outcome.result);
                }
                result
            }
            _ => {
                let pass = self.gate(request, view, trace).await?;
                self.check_static(&pass, exposed)?;
                self.call_static(exposed, arguments).await
            }
        }
    }

    /// Whether a server that runs now did not run before.
    fn was_started(&self, entry: Option<&Arc<ServerEntry>>, before: Instant) -> bool {
        let running = entry.and_then(|entry| self.slots.running(&entry.spec.name));
        running.is_some_and(|running| running.since >= before)
    }

    async fn call_static(
        &self,
        exposed: &str,
        arguments: serde_json::Value,
    ) -> ToolResult<CallOutcome> {
        match self.catalog.handler(exposed) {
            Some(handler) => as_result(handler.call(arguments).await?),
            None => {
                let message = format!("tool `{exposed}` has no handler");
                Err(ToolError::new(Reason::HandlerMissing, message).at_tool(exposed))
            }
        }
    }

    async fn call_server(
        self: &Arc<Self>,
        entry: &Arc<ServerEntry>,
        tool: &Tool,
        checked: HeaderUse,
        context: CallContext<'_>,
    ) -> ToolResult<CallOutcome> {
        let slot = self.slots.get_or_create(&entry.spec.name);
        let tool_server = entry.spec.name.clone();
        let _place = slot.acquire_call_permit(entry.spec.timeouts.call).await?;
        let mirrors = checked == HeaderUse::Mirrored;
        let mut result = self.call_once(&slot, entry, tool, mirrors, context).await;
        match &result {
            // A call that may have had an effect is never sent twice; this one has none, or may repeat.
            Err(error) if error.reason == Reason::ServerExited && is_repeatable(tool) => {
                result = self.call_once(&slot, entry, tool, mirrors, context).await;
            }
            // The server refused it unread, because its list names other headers than the known one does.
            Err(error) if is_header_mismatch(error, entry) => {
                self.discover_once(entry.spec.clone(), context.trace, Backoff::Ignore)
                    .await;
                let catalog = self.catalog.load_full();
                let view = catalog.find(tool.exposed.as_str()).ok();
                let renewed = view.and_then(|view| Some((view, view.entry()?, view.tool()?)));
                if let Some((view, entry, renewed)) = renewed
                    && entry.spec.name == tool_server
                    && renewed.name == tool.name
                {
                    check_read_only(context.request, &view)?;
                    let mirrors = self.schemas.is_mirrored(renewed);
                    // It may be another version now, under another policy.
                    let pass = match renewed.fingerprint == tool.fingerprint {
                        true => None,
                        false => Some(self.gate(context.request, &view, context.trace).await?),
                    };
                    let pass = pass.as_ref().unwrap_or(context.pass);
                    let context = CallContext { pass, ..context };
                    result = self
                        .call_once(&slot, entry, renewed, mirrors, context)
                        .await;
                }
            }
            _ => {}
        }
        self.renew_if_stale(entry, context.trace);
        result
    }

    /// The server runs now, so its list costs one message.
    pub(crate) fn renew_if_stale(self: &Arc<Self>, entry: &ServerEntry, trace: &TraceScope) {
        let catalog = self.catalog.load();
        if let Some(present) = catalog.server(&entry.spec.name)
            && self.freshness(present).is_stale()
            && !self.failed_recently(present)
        {
            self.refresh_in_background(present.spec.clone(), trace);
        }
    }

    async fn call_once(
        self: &Arc<Self>,
        slot: &Arc<ServerSlot>,
        entry: &Arc<ServerEntry>,
        tool: &Tool,
        mirrors: bool,
        context: CallContext<'_>,
    ) -> ToolResult<CallOutcome> {
        let hold = self.hold_for_call(slot, entry, context.trace).await?;
        let request = context.request;
        // The server may have had to be started first, and its tools may be others since.
        self.check_dispatch(request, context.pass, entry, tool, context.trace)
            .await?;
        let (mut meta, caller) = (request.meta.clone(), request.caller.clone());
        if let Some(span) = context.span {
            span.inject(meta.get_or_insert_default());
        }
        let mut options = options(entry, meta, caller, request.input.clone());
        if mirrors && hold.upstream().handshake().era == Era::Modern && is_remote(entry) {
            options.headers = headers_of(tool, &request.arguments)?;
        }
        let upstream = hold.upstream();
        let send = |options| upstream.call(&tool.name, &request.arguments, options);
        let result = self
            .send_checked(&entry.spec, &request.session, options, send)
            .await;
        self.note(slot, &hold, &result);
        result.map_err(|error| with_effect(error, tool))
    }

    /// Holds the server's connection for a request, starting the server when it must be.
    pub(crate) async fn hold_for_call(
        self: &Arc<Self>,
        slot: &Arc<ServerSlot>,
        entry: &ServerEntry,
        trace: &TraceId,
    ) -> ToolResult<ConnectionHold> {
        let spec = &entry.spec;
        if let Some(hold) = slot.hold(&spec.hash) {
            hold.mark_called();
            return Ok(hold);
        }
        // Starting is bounded by the discovery's time-out: it is the same start.
        let deadline = Instant::now() + spec.timeouts.discovery;
        let (hold, _) = self
            .acquire(spec, &entry.record, deadline, Backoff::Respect, trace)
            .await?;
        hold.mark_called();
        Ok(hold)
    }

    /// Remembers how the server did.
    pub(crate) fn note<T>(
        self: &Arc<Self>,
        slot: &ServerSlot,
        hold: &ConnectionHold,
        result: &ToolResult<T>,
    ) {
        match result {
            Ok(_) => slot.record_success(),
            Err(error) if error.reason == Reason::ServerExited => {
                self.connection_lost(slot, hold.running(), error);
            }
            Err(_) => {}
        }
    }
}

/// How a request to a server is made.
pub(crate) fn options(
    entry: &ServerEntry,
    meta: Option<Map<String, Value>>,
    caller: Option<Arc<dyn Caller>>,
    input: Option<InputResponses>,
) -> CallOptions {
    let timeout = entry.spec.timeouts.call;
    CallOptions {
        max_duration: timeout.saturating_mul(LONGEST_IN_TIMEOUTS),
        meta,
        caller,
        input,
        ..CallOptions::with_timeout(timeout)
    }
}

/// Refuses a read-only call of a tool that its server does not mark as read-only. The mark allows nothing by
/// itself: the policy gate is asked as for every other call.
fn check_read_only(request: &CallRequest, view: &ToolView<'_>) -> ToolResult<()> {
    if !request.read_only || view.annotations().claims_read_only() {
        return Ok(());
    }
    let exposed = view.exposed().as_str();
    let message = format!("tool `{exposed}` is not marked read-only by its server");
    let error = refused(exposed, view.server(), Reason::ToolNotReadOnly, message);
    Err(error)
}

fn is_repeatable(tool: &Tool) -> bool {
    let hints = tool.annotations;
    hints.read_only == Some(true) || hints.idempotent == Some(true)
}

/// Says that a call which was sent and has no answer may have had an effect, where that matters.
fn with_effect(mut error: ToolError, tool: &Tool) -> ToolError {
    let is_lost = matches!(
        error.reason,
        Reason::ServerExited | Reason::FrameInvalid | Reason::FrameTooLarge
    );
    if is_lost && !is_repeatable(tool) {
        let lost = "it is not known whether this call had an effect";
        error.message = format!("{lost}: {}", error.message);
    }
    error
}

fn is_remote(entry: &ServerEntry) -> bool {
    matches!(entry.spec.transport, Transport::Http { .. })
}

fn is_header_mismatch(error: &ToolError, entry: &ServerEntry) -> bool {
    let code = error.rpc.as_ref().map(|rpc| rpc.code);
    code == Some(HEADER_MISMATCH) && is_remote(entry)
}

fn headers_of(tool: &Tool, arguments: &RawValue) -> ToolResult<Vec<(String, String)>> {
    let schema = tool.parts().ok().and_then(|parts| parts.input_schema);
    match schema {
        Some(schema) => mirrored_headers(schema, arguments)
            .map_err(|error| error.at_tool(tool.exposed.as_str())),
        None => Ok(Vec::new()),
    }
}
