//! The one way to call a tool.

use std::sync::Arc;

use async_trait::async_trait;
use pegboard_catalog::Catalog;
use pegboard_catalog::ServerEntry;
use pegboard_guard::decide;
use pegboard_model::{EventKind, Policy, Reason, ToolError, ToolRef, ToolResult, TraceId};
use pegboard_upstream::{CallOptions, CallOutcome};
use serde_json::value::RawValue;
use tokio::time::{Instant, timeout};

use crate::discover::{Insistence, from_note};
use crate::events::new_trace;
use crate::hub::{Hub, Inner};
use crate::refresh::{may_start, shutting_down};
use crate::static_tools::as_result;

/// Who asks: one connected client or embedding agent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SessionId(pub String);

/// A wish to call a tool.
pub struct CallRequest {
    /// Who asks.
    pub session: SessionId,
    /// The tool, in any form a person or a model writes it.
    pub tool: String,
    /// The arguments, a JSON object.
    pub arguments: Box<RawValue>,
}

/// A question to a person.
#[derive(Clone, Debug)]
pub struct Ask {
    /// Who wants to call.
    pub session: SessionId,
    /// The tool's exposed name.
    pub tool: String,
    /// The exact arguments.
    pub arguments: String,
    /// The rule that asks.
    pub rule: String,
}

/// A person's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Go on.
    Allow,
    /// Do not.
    Refuse,
    /// Nobody could be asked.
    Nobody,
}

/// Who is asked when a policy says `ask`.
#[async_trait]
pub trait Approver: Send + Sync {
    /// Puts the question.
    async fn ask(&self, question: Ask) -> Verdict;
}

/// An approver for places where no person is.
#[derive(Clone, Copy, Debug, Default)]
pub struct NobodyToAsk;

#[async_trait]
impl Approver for NobodyToAsk {
    async fn ask(&self, _question: Ask) -> Verdict {
        Verdict::Nobody
    }
}

impl Hub {
    /// Calls a tool: finds it, checks the arguments, asks the policy gate, starts or reuses exactly its
    /// server. A tool's own failure is an `Ok` with `is_error`.
    pub async fn call(&self, request: CallRequest) -> ToolResult<CallOutcome> {
        let trace = new_trace();
        let started = Instant::now();
        let (tool, result) = self.inner.route(&request, &trace).await;
        let outcome = match &result {
            Ok(outcome) if outcome.is_error => Reason::ToolFailed.code(),
            Ok(_) => "ok",
            Err(error) => error.reason.code(),
        };
        let kind = EventKind::CallFinished {
            tool: tool.unwrap_or_else(|| "unknown".to_owned()),
            outcome: outcome.to_owned(),
            duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        };
        self.inner.events.tell(&trace, kind);
        result
    }
}

impl Inner {
    /// The tool's exposed name, once it was found, and the result.
    async fn route(
        self: &Arc<Self>,
        request: &CallRequest,
        trace: &TraceId,
    ) -> (Option<String>, ToolResult<CallOutcome>) {
        let mut catalog = self.catalog.load_full();
        if let Err(error) = catalog.find(&request.tool) {
            if !matches!(error.reason, Reason::ToolUnknown) {
                return (None, Err(error));
            }
            if let Err(error) = self.look_for(&request.tool, &catalog, trace).await {
                return (None, Err(error));
            }
            catalog = self.catalog.load_full();
        }
        let view = match catalog.find(&request.tool) {
            Ok(view) => view,
            Err(error) => return (None, Err(error)),
        };
        let exposed = view.exposed().to_string();
        let arguments = match serde_json::from_str(request.arguments.get()) {
            Ok(arguments) => arguments,
            Err(error) => {
                let message = format!("the arguments are not JSON: {error}");
                let error = ToolError::new(Reason::ArgsInvalid, message).at_tool(&exposed);
                return (Some(exposed), Err(error));
            }
        };
        if let Err(error) = self.checks.check(&view, &arguments) {
            return (Some(exposed), Err(error));
        }
        let result = match (view.entry(), view.tool()) {
            (Some(entry), Some(tool)) => {
                let ready = may_start(&entry.spec).map_err(|error| error.at_tool(&exposed));
                match ready {
                    Ok(()) => match self.gate(request, entry, &tool.name, &exposed).await {
                        Ok(()) => self.call_server(entry, tool, request, trace).await,
                        Err(error) => Err(error),
                    },
                    Err(error) => Err(error),
                }
            }
            _ => self.call_static(&exposed, arguments).await,
        };
        (Some(exposed), result)
    }

    /// Asks for the tools that a name may mean and that were never seen: those of the server that it begins
    /// with, or, for a bare name, of every server.
    async fn look_for(
        self: &Arc<Self>,
        tool: &str,
        catalog: &Catalog,
        trace: &TraceId,
    ) -> ToolResult<()> {
        let server = match ToolRef::parse(tool.trim()) {
            Some(ToolRef::Qualified { server, .. }) => catalog.server(&server),
            _ => None,
        };
        let Some(entry) = server else {
            let inner = self.clone();
            let pending = Hub { inner }.ensure_known().await.discovering;
            if pending.is_empty() || self.catalog.load().find(tool).is_ok() {
                return Ok(());
            }
            let names: Vec<_> = pending.iter().map(|name| name.as_str()).collect();
            return Err(not_yet(format!(
                "no such tool is known yet; still being discovered: `{}`",
                names.join("`, `")
            )));
        };
        let spec = &entry.spec;
        if entry.record.is_known() {
            return Ok(());
        }
        if let Some(note) = &entry.record.last_error
            && self.is_resting(entry)
        {
            return Err(from_note(note, spec));
        }
        let seat = self.seat(&spec.name);
        // The call would only start the server again.
        let _kept = seat.want();
        let started = EventKind::DiscoveryStarted { servers: 1 };
        self.events.tell(trace, started);
        let flight = self.fly(spec.clone(), trace, Insistence::Patient);
        match timeout(spec.timeouts.call, flight).await {
            Ok(Some(outcome)) => outcome.result.as_ref().map(drop).map_err(Clone::clone),
            Ok(None) => Err(shutting_down()),
            Err(_) => {
                let message = format!("server `{}` is still being discovered", spec.name);
                Err(not_yet(message).at_server(&spec.name))
            }
        }
    }

    async fn call_static(
        &self,
        exposed: &str,
        arguments: serde_json::Value,
    ) -> ToolResult<CallOutcome> {
        let handler = crate::seat::lock(&self.handlers).get(exposed).cloned();
        match handler {
            Some(handler) => as_result(handler.call(arguments).await?),
            None => {
                let message = format!("tool `{exposed}` has no handler");
                Err(ToolError::new(Reason::HandlerMissing, message).at_tool(exposed))
            }
        }
    }

    /// The policy gate that every call of a server's tool passes.
    async fn gate(
        &self,
        request: &CallRequest,
        entry: &ServerEntry,
        tool: &str,
        exposed: &str,
    ) -> ToolResult<()> {
        let decision = decide(&entry.spec, tool);
        let refuse = |reason: Reason, why: &str| {
            let message = format!("tool `{exposed}` {why} ({})", decision.rule);
            Err(ToolError::new(reason, message)
                .at_server(&entry.spec.name)
                .at_tool(exposed))
        };
        match decision.policy {
            Policy::Allow => Ok(()),
            Policy::Deny => refuse(Reason::PolicyDenied, "may not be called"),
            Policy::Disable => refuse(Reason::ToolDisabled, "is disabled"),
            Policy::Ask => {
                let question = Ask {
                    session: request.session.clone(),
                    tool: exposed.to_owned(),
                    arguments: request.arguments.get().to_owned(),
                    rule: decision.rule.clone(),
                };
                match self.approver.ask(question).await {
                    // A person may take long, and the configuration change meanwhile.
                    Verdict::Allow => match self.is_still_allowed(entry, tool) {
                        true => Ok(()),
                        false => refuse(Reason::PolicyDenied, "was taken away meanwhile"),
                    },
                    Verdict::Refuse => {
                        refuse(Reason::PolicyDenied, "was refused by the person asked")
                    }
                    Verdict::Nobody => refuse(
                        Reason::PolicyDenied,
                        "needs a person's consent and nobody could be asked",
                    ),
                }
            }
        }
    }

    fn is_still_allowed(&self, entry: &ServerEntry, tool: &str) -> bool {
        let catalog = self.catalog.load();
        let present = catalog.server(&entry.spec.name);
        present.is_some_and(|present| {
            let policy = decide(&present.spec, tool).policy;
            present.spec.hash == entry.spec.hash
                && may_start(&present.spec).is_ok()
                && !matches!(policy, Policy::Deny | Policy::Disable)
        })
    }

    async fn call_server(
        self: &Arc<Self>,
        entry: &Arc<ServerEntry>,
        tool: &pegboard_model::Tool,
        request: &CallRequest,
        trace: &TraceId,
    ) -> ToolResult<CallOutcome> {
        let seat = self.seat(&entry.spec.name);
        let _place = seat.enter(entry.spec.timeouts.call).await?;
        let repeatable =
            tool.annotations.read_only == Some(true) || tool.annotations.idempotent == Some(true);
        let mut result = self.call_once(entry, &tool.name, request).await;
        if let Err(error) = &result
            && error.reason == Reason::ServerExited
            && repeatable
        {
            // A call that may have had an effect is never sent twice; this one has none, or may repeat.
            result = self.call_once(entry, &tool.name, request).await;
        }
        let catalog = self.catalog.load();
        if let Some(present) = catalog.server(&entry.spec.name)
            && self.freshness(present).is_stale()
            && !self.is_resting(present)
        {
            // The server runs now, so its list costs one message.
            self.refresh_soon(present.spec.clone(), trace);
        }
        result
    }

    async fn call_once(
        self: &Arc<Self>,
        entry: &Arc<ServerEntry>,
        tool: &str,
        request: &CallRequest,
    ) -> ToolResult<CallOutcome> {
        let spec = &entry.spec;
        // Starting is bounded by the discovery's time-out: it is the same start.
        let deadline = Instant::now() + spec.timeouts.discovery;
        let (hold, _) = self
            .acquire(spec, &entry.record, deadline, Insistence::Patient)
            .await?;
        hold.mark_called();
        let options = CallOptions::within(spec.timeouts.call);
        let result = hold
            .upstream()
            .call(tool, &request.arguments, options)
            .await;
        match &result {
            Ok(_) => self.seat(&spec.name).note_success(),
            Err(error) if error.reason == Reason::ServerExited => {
                self.lost(&self.seat(&spec.name), hold.running(), error);
            }
            Err(_) => {}
        }
        result
    }
}

/// Not known yet, and worth another try.
fn not_yet(message: impl Into<String>) -> ToolError {
    ToolError::new(Reason::DiscoveryTimeout, message)
}
