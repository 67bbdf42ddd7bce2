//! Sending a call to its server, or to the handler of a host tool.

use std::sync::Arc;

use pegboard_catalog::{ServerEntry, ToolView};
use pegboard_guard::parse_arguments;
use pegboard_jsonrpc::code;
use pegboard_model::{Era, Reason, SpanContext, Tool, ToolError, ToolResult, TraceId, Transport};
use pegboard_upstream::{
    CallOptions, CallOutcome, Caller, InputResponses, OutcomeKind, mirrored_headers,
};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::request::CallRequest;
use super::schema_checks::HeaderUse;
use super::static_tools::as_result;
use crate::discovery::Backoff;
use crate::discovery::may_start;
use crate::hub::Inner;
use crate::policy::{GatePass, refused};
use crate::slots::{ConnectionHold, ServerSlot};
use crate::telemetry::TraceScope;

/// Upper bound for a whole call, in multiples of the call timeout. Progress notifications extend the timeout up to
/// this bound.
const LONGEST_IN_TIMEOUTS: u32 = 10;

/// A call that passed the policy gate.
#[derive(Clone, Copy)]
struct CallContext<'a> {
    view: &'a ToolView<'a>,
    request: &'a CallRequest,
    pass: &'a GatePass,
    span: Option<&'a SpanContext>,
    trace: &'a TraceScope,
}

impl Inner {
    pub(super) async fn route(
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
                    view,
                    request,
                    pass: &pass,
                    span,
                    trace,
                };
                let result = self.call_server(entry, tool, checked, context).await;
                if let (Ok(outcome), Some(version)) = (&result, pass.approved_once())
                    && outcome.kind == OutcomeKind::InputRequired
                {
                    self.approvals.session_grants().expect_next_round(
                        request,
                        version,
                        &outcome.result,
                    );
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

    /// Whether the server was started after `before`.
    pub(super) fn was_started(&self, entry: Option<&Arc<ServerEntry>>, before: Instant) -> bool {
        let Some(entry) = entry else {
            return false;
        };
        let slots = self.slots.of_server(&entry.spec.name);
        let mut running = slots.iter().filter_map(|slot| slot.running());
        running.any(|running| running.since >= before)
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
        let slot = self.slot_for_request(entry, &context.request.session)?;
        let longest = entry.spec.timeouts.call;
        let _place = slot
            .acquire_call_place(&context.request.session, longest)
            .await?;
        let mirrors = checked == HeaderUse::Mirrored;
        let mut result = self.call_once(&slot, entry, tool, mirrors, context).await;
        match &result {
            // Resent only because the tool is read-only or idempotent. Other calls may have had an effect.
            Err(error) if error.reason == Reason::ServerExited && is_repeatable(tool) => {
                result = self.call_once(&slot, entry, tool, mirrors, context).await;
            }
            // The server rejected the request before running it: its current list requires other headers.
            Err(error) if is_header_mismatch(error, entry) => {
                self.discover_once(entry.spec.clone(), context.trace, Backoff::Ignore)
                    .await;
                let catalog = self.catalog.load_full();
                let view = catalog.current(&context.view.resolved()).ok();
                let renewed = view.and_then(|view| Some((view, view.entry()?, view.tool()?)));
                if let Some((view, entry, renewed)) = renewed {
                    check_read_only(context.request, &view)?;
                    let mirrors = self.schemas.is_mirrored(renewed);
                    // The tool may have changed, and its policy with it.
                    let pass = match renewed.fingerprint == tool.fingerprint {
                        true => None,
                        false => Some(self.gate(context.request, &view, context.trace).await?),
                    };
                    let pass = pass.as_ref().unwrap_or(context.pass);
                    let context = CallContext {
                        view: &view,
                        pass,
                        ..context
                    };
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

    /// Renews the list of a server that is running anyway, which costs one request.
    pub(crate) fn renew_if_stale(self: &Arc<Self>, entry: &ServerEntry, trace: &TraceScope) {
        let catalog = self.catalog.load();
        if let Some(present) = catalog.server(&entry.spec.name)
            && self.freshness(present).is_stale()
            && !self.failed_recently(present)
            && !self.waits_for_login(present)
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
        // Starting the server may have taken long, and its tools may have changed.
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
        self.record_result(slot, &hold, &result);
        if let Err(error) = &result {
            self.record_login_needed(&entry.spec, error);
        }
        result.map_err(|error| with_effect(error, tool))
    }

    /// Holds the server's connection for a request, starting the server if necessary.
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
        // A start for a call is bounded by the discovery timeout, because it is the same start.
        let deadline = Instant::now() + spec.timeouts.discovery;
        let (hold, _) = self
            .acquire(slot, spec, &entry.record, deadline, Backoff::Respect, trace)
            .await?;
        hold.mark_called();
        Ok(hold)
    }

    /// Updates the server's failure history with the result of a request.
    pub(crate) fn record_result<T>(
        self: &Arc<Self>,
        slot: &ServerSlot,
        hold: &ConnectionHold,
        result: &ToolResult<T>,
    ) {
        self.learn_from(hold.running(), slot.server());
        match result {
            Ok(_) => slot.record_success(),
            Err(error) if error.reason == Reason::ServerExited => {
                self.connection_lost(slot, hold.running(), error);
            }
            Err(_) => {}
        }
    }
}

/// Builds the options of a request to a server.
pub(super) fn options(
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

/// Refuses a read-only call of a tool that its server does not mark as read-only. The mark itself allows nothing; the
/// policy gate decides as for every call.
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

/// Adds to the error of a lost response that the call may have had an effect, unless the tool can be repeated safely.
fn with_effect(mut error: ToolError, tool: &Tool) -> ToolError {
    let is_lost = matches!(
        error.reason,
        Reason::ServerExited | Reason::FrameInvalid | Reason::FrameTooLarge
    );
    if is_lost && !is_repeatable(tool) {
        let lost = "it is unknown whether this call had an effect";
        error.message = format!("{lost}: {}", error.message);
    }
    error
}

fn is_remote(entry: &ServerEntry) -> bool {
    matches!(entry.spec.transport, Transport::Http { .. })
}

fn is_header_mismatch(error: &ToolError, entry: &ServerEntry) -> bool {
    let code = error.rpc.as_ref().map(|rpc| rpc.code);
    code == Some(code::HEADER_MISMATCH) && is_remote(entry)
}

fn headers_of(tool: &Tool, arguments: &RawValue) -> ToolResult<Vec<(String, String)>> {
    let schema = tool.parts().ok().and_then(|parts| parts.input_schema);
    match schema {
        Some(schema) => mirrored_headers(schema, arguments)
            .map_err(|error| error.at_tool(tool.exposed.as_str())),
        None => Ok(Vec::new()),
    }
}
