//! The one way to call a tool.

use std::sync::Arc;

use async_trait::async_trait;
use pegboard_catalog::ServerEntry;
use pegboard_guard::{check_arguments, decide};
use pegboard_model::{EventKind, Policy, Reason, ToolError, ToolResult, TraceId};
use pegboard_upstream::{CallOptions, CallOutcome};
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::discover::Insistence;
use crate::events::new_trace;
use crate::hub::{Hub, Inner};
use crate::refresh::may_start;
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
            // The tool may be one of a server that was never seen.
            Hub {
                inner: self.clone(),
            }
            .ensure_known()
            .await;
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
        let result = match (view.entry(), view.tool()) {
            (Some(entry), Some(tool)) => {
                let ready = check_arguments(tool, &arguments)
                    .and_then(|()| may_start(&entry.spec))
                    .map_err(|error| error.at_tool(&exposed));
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
                    Verdict::Allow => Ok(()),
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

    async fn call_server(
        self: &Arc<Self>,
        entry: &Arc<ServerEntry>,
        tool: &pegboard_model::Tool,
        request: &CallRequest,
        trace: &TraceId,
    ) -> ToolResult<CallOutcome> {
        let seat = self.seat(&entry.spec.name);
        let _place = seat.enter().await?;
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
        if self.freshness(entry).is_stale() {
            // The server runs now, so its list costs one message.
            self.refresh_soon(entry.spec.clone(), trace);
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
                self.seat(&spec.name).remove(hold.running());
            }
            Err(_) => {}
        }
        result
    }
}
