//! Forwarding of prompts, resources and completion requests to their server.

use std::sync::Arc;

use pegboard_catalog::ServerEntry;
use pegboard_model::{Reason, ServerName, SpanContext, ToolResult};
use pegboard_upstream::{CallOutcome, Caller, ForwardedRequest, InputResponses};
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::dispatch::options;
use super::request::SessionId;
use crate::discovery::may_start;
use crate::hub::{Hub, Inner};
use crate::policy::OfferPass;
use crate::slots::ServerSlot;
use crate::telemetry::{FinishedRequest, TraceScope, outcome_of};

/// The only method that can refer to a template.
pub(crate) const COMPLETE: &str = "completion/complete";

/// Methods without side effects, which may be resent to a server that exited.
const REPEATABLE: &[&str] = &[COMPLETE, "prompts/get", "resources/read"];

/// A prompt or resource of a server, by the server's own name or URI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OfferRef {
    /// A prompt's name.
    Prompt(String),
    /// A resource's URI.
    Resource(String),
    /// A resource template as the server wrote it. It can be completed, but not read.
    Template(String),
}

impl OfferRef {
    /// The server's own name or URI.
    pub fn key(&self) -> &str {
        match self {
            Self::Prompt(key) | Self::Resource(key) | Self::Template(key) => key,
        }
    }
}

/// A request to be forwarded to a server. Create one with [`ForwardRequest::new`] and set the fields that matter.
#[derive(Clone)]
#[non_exhaustive]
pub struct ForwardRequest {
    /// The session that makes the call.
    pub session: SessionId,
    /// The server to forward it to.
    pub server: ServerName,
    /// The MCP method.
    pub method: String,
    /// The members of its `params`, without braces and without `_meta`.
    pub members: String,
    /// The prompt or resource that the request refers to.
    pub about: OfferRef,
    /// The client behind the request, for requests of the server to the client.
    pub caller: Option<Arc<dyn Caller>>,
    /// Members of the request's `_meta`, for example `traceparent`.
    pub meta: Option<Map<String, Value>>,
    /// The parent span: one of ours, or the one that the client named.
    pub span: Option<SpanContext>,
    /// The client's responses to an earlier `input_required` result.
    pub input: Option<InputResponses>,
    /// The client's name and version, for approval requests and the activity log. Untrusted text.
    pub client: Option<Arc<str>>,
}

impl ForwardRequest {
    /// Creates a request without optional parts.
    pub fn new(
        session: SessionId,
        server: ServerName,
        method: impl Into<String>,
        about: OfferRef,
        members: impl Into<String>,
    ) -> Self {
        Self {
            session,
            server,
            method: method.into(),
            members: members.into(),
            about,
            caller: None,
            meta: None,
            span: None,
            input: None,
            client: None,
        }
    }
}

impl Hub {
    /// Forwards a request to its server under the same policy rules as a call. The server is started if necessary.
    /// Returns the server's result verbatim.
    ///
    /// # Errors
    /// Fails if the server or the prompt or resource is unknown, if the policy refuses the request, or if the server
    /// fails.
    pub async fn forward(&self, request: &ForwardRequest) -> ToolResult<CallOutcome> {
        let trace = TraceScope::below(request.span.as_ref());
        let started = Instant::now();
        let result = match self.inner.usable(&request.server) {
            Ok(entry) => {
                let result = match self.inner.gate_offer(&entry, request, &trace).await {
                    Ok(pass) => {
                        self.inner
                            .send_forward(&entry, request, &pass, &trace)
                            .await
                    }
                    Err(error) => Err(error),
                };
                self.inner.renew_if_stale(&entry, &trace);
                result
            }
            Err(error) => Err(error),
        };
        let finished = FinishedRequest {
            session: &request.session,
            client: request.client.as_deref(),
            name: &request.method,
            server: Some(&request.server),
            outcome: outcome_of(&result),
            took: started.elapsed(),
        };
        let telemetry = &self.inner.telemetry;
        telemetry.forward_finished(&trace, &request.server, finished);
        result
    }
}

impl Inner {
    /// Returns the entry of a configured server that may be started.
    pub(crate) fn usable(&self, server: &ServerName) -> ToolResult<Arc<ServerEntry>> {
        let entry = self.configured(server)?;
        may_start(&entry.spec)?;
        Ok(entry)
    }

    async fn send_forward(
        self: &Arc<Self>,
        entry: &Arc<ServerEntry>,
        request: &ForwardRequest,
        pass: &OfferPass,
        trace: &TraceScope,
    ) -> ToolResult<CallOutcome> {
        let slot = self.slot_for_request(entry, &request.session)?;
        let longest = entry.spec.timeouts.call;
        let _place = slot.acquire_call_place(&request.session, longest).await?;
        let result = self
            .send_forward_once(&slot, entry, request, pass, trace)
            .await;
        match &result {
            Err(error)
                if error.reason == Reason::ServerExited
                    && REPEATABLE.contains(&request.method.as_str()) =>
            {
                self.send_forward_once(&slot, entry, request, pass, trace)
                    .await
            }
            _ => result,
        }
    }

    async fn send_forward_once(
        self: &Arc<Self>,
        slot: &Arc<ServerSlot>,
        entry: &Arc<ServerEntry>,
        request: &ForwardRequest,
        pass: &OfferPass,
        trace: &TraceScope,
    ) -> ToolResult<CallOutcome> {
        let hold = self.hold_for_call(slot, entry, trace).await?;
        self.check_offer(&entry.spec, &request.about, pass, trace)
            .await?;
        let (meta, caller) = (request.meta.clone(), request.caller.clone());
        let options = options(entry, meta, caller, request.input.clone());
        let forward = ForwardedRequest {
            method: &request.method,
            members: &request.members,
            // A completion names its subject in the members.
            name: (request.method != COMPLETE).then(|| request.about.key()),
        };
        let upstream = hold.upstream();
        let send = |options| upstream.request(forward, options);
        let result = self
            .send_checked(&entry.spec, &request.session, options, send)
            .await;
        self.record_result(slot, &hold, &result);
        result
    }
}
