//! Calling a tool. Every tool call passes [`Hub::call`].

use std::borrow::Cow;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use pegboard_catalog::{Catalog, ResolvedTool, ToolView};
use pegboard_model::{
    CallFacts, EventKind, Outcome, Reason, SpanContext, ToolResult, TransportKind,
};
use pegboard_upstream::{CallOutcome, OutcomeKind};
use tokio::time::Instant;

use super::panics::panicked;
use super::request::{CallRequest, ToolTarget};
use super::result_check::output_mismatch;
use crate::hub::{Hub, Inner};
use crate::telemetry::{FinishedRequest, OpenCall, TraceScope, outcome_of, transport_kind};

impl Hub {
    /// Calls a tool: checks the arguments and the policy, then starts or reuses the tool's server. An error of the
    /// tool itself is an `Ok` with `is_error`.
    ///
    /// # Errors
    /// Fails if the tool is unknown, the arguments are invalid, the policy refuses the call, or the server cannot be
    /// started or does not respond.
    pub async fn call(&self, request: &CallRequest) -> ToolResult<CallOutcome> {
        let inner = &self.inner;
        let started = Instant::now();
        let trace = TraceScope::below(request.span.as_ref());
        let span = inner.telemetry.recorder().begin(trace.above(), &trace);
        let span = span.map(|span| span.with_labels(request.tool.as_str(), &request.session.0));
        let trace = trace.under(span.as_ref());
        let mut open = OpenCall::new(&inner.telemetry, request, &trace);
        let (catalog, resolved) = inner.resolve(&request.tool, &trace).await;
        if let Ok(Cow::Owned(tool)) = &resolved {
            open.set_tool(tool.clone());
        }
        let tool = resolved.as_ref().map_err(Clone::clone);
        let tool = tool.and_then(|tool| catalog.current(tool));
        let result = match &tool {
            Ok(view) => {
                let routed = AssertUnwindSafe(inner.route(view, request, span.as_ref(), &trace));
                let panicked = || panicked(&format!("the call of tool `{}`", view.exposed()));
                let routed = routed.catch_unwind().await;
                let routed = routed.unwrap_or_else(|_| Err(panicked()));
                routed.map(|outcome| inner.marked_result(outcome))
            }
            Err(error) => Err(error.clone()),
        };
        open.end();
        let view = tool.as_ref().ok();
        if let Some((view, server)) = view.and_then(|view| Some((view, view.server()?))) {
            inner.catalog.reviews().record_call(server, view.name());
        }
        if let (Some(view), Ok(outcome)) = (view, &result) {
            inner.follow_up(view, request, outcome, &trace);
        }
        let finished = FinishedCall {
            request,
            view,
            result: &result,
            started,
            took: started.elapsed(),
        };
        inner.record_call(&finished, span.as_ref(), &trace);
        result
    }
}

/// A call that is over.
struct FinishedCall<'a> {
    request: &'a CallRequest,
    /// `None` if the tool is unknown.
    view: Option<&'a ToolView<'a>>,
    result: &'a ToolResult<CallOutcome>,
    started: Instant,
    took: Duration,
}

impl Inner {
    /// Resolves the tool of a call, and returns the snapshot that has it. A name that is unknown may belong to a server
    /// that was never discovered, which is then discovered first.
    async fn resolve<'a>(
        self: &Arc<Self>,
        tool: &'a ToolTarget,
        trace: &TraceScope,
    ) -> (Arc<Catalog>, ToolResult<Cow<'a, ResolvedTool>>) {
        let catalog = self.catalog.load_full();
        let name = match tool {
            ToolTarget::Resolved(tool) => return (catalog, Ok(Cow::Borrowed(tool))),
            ToolTarget::Named(name) => name,
        };
        match catalog.resolve(name) {
            Err(error) if error.reason == Reason::ToolUnknown => {
                let discovered = self.discover_missing(name, &catalog, trace).await;
                let catalog = self.catalog.load_full();
                let resolved = discovered.and_then(|()| catalog.resolve(name));
                (catalog, resolved.map(Cow::Owned))
            }
            resolved => (catalog, resolved.map(Cow::Owned)),
        }
    }

    /// Remembers what a successful call shows: the search that led to it, and the resources that its result links.
    fn follow_up(
        self: &Arc<Self>,
        view: &ToolView<'_>,
        request: &CallRequest,
        outcome: &CallOutcome,
        trace: &TraceScope,
    ) {
        if outcome.is_error || outcome.kind != OutcomeKind::Complete {
            return;
        }
        self.remember_successful_search(&request.session, view);
        if let Some(server) = view.server() {
            let links = self.sessions.links();
            let uris = links.record(&request.session, server, &outcome.result, &self.limits);
            self.withdraw_session_resources(server, &request.session, uris, trace);
        }
    }

    fn record_call(&self, call: &FinishedCall<'_>, span: Option<&SpanContext>, trace: &TraceScope) {
        let (view, result) = (call.view, call.result);
        let exposed = view.map_or("unknown", |view| view.exposed().as_str());
        let server = view.and_then(ToolView::server);
        let entry = view.and_then(ToolView::entry);
        let mismatch = view
            .zip(result.as_ref().ok())
            .and_then(|(view, outcome)| output_mismatch(&self.schemas, view, outcome));
        let facts = CallFacts {
            server,
            tool: view.map_or(exposed, ToolView::name),
            exposed,
            transport: entry.map_or(TransportKind::InProcess, |entry| {
                transport_kind(&entry.spec)
            }),
            protocol: entry.and_then(|entry| entry.record.protocol_version.as_deref()),
            started: span.is_some() && self.was_started(entry, call.started),
            arguments: Some(call.request.arguments.get()),
            result: result.as_ref().ok().map(|outcome| outcome.result.get()),
            outcome: match result {
                Ok(outcome) if outcome.is_error => Outcome::ToolFailed,
                result => Outcome::of(result),
            },
            took: call.took,
        };
        let outcome = match &mismatch {
            Some(mismatch) => mismatch.reason.code(),
            None => outcome_of(result),
        };
        if let Some(mismatch) = mismatch {
            let event = EventKind::OutputMismatch {
                tool: exposed.to_owned(),
                server: server.cloned(),
                reason: mismatch.reason.code().to_owned(),
                error: mismatch.into_details().message,
            };
            self.telemetry.emit(trace, event);
        }
        self.telemetry.recorder().call(span, &facts);
        let finished = FinishedRequest {
            session: &call.request.session,
            client: call.request.client.as_deref(),
            name: exposed,
            server,
            outcome,
            took: call.took,
        };
        self.telemetry.call_finished(trace, finished);
    }
}
