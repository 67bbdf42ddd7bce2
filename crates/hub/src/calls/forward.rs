//! Passing other requests on to the one server they are about: prompts, resources, completion.

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

/// The only request that is about a template.
pub(crate) const COMPLETE: &str = "completion/complete";

/// Requests that change nothing, so that they may be sent again to a server that died over them.
const REPEATABLE: &[&str] = &[COMPLETE, "prompts/get", "resources/read"];

/// A prompt or a resource of a server, by the server's own name for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OfferRef {
    /// A prompt's name.
    Prompt(String),
    /// A resource's uri.
    Resource(String),
    /// A resource template, as the server wrote it: something to complete, never something to read.
    Template(String),
}

impl OfferRef {
    /// The server's own name for it.
    pub fn key(&self) -> &str {
        match self {
            Self::Prompt(key) | Self::Resource(key) | Self::Template(key) => key,
        }
    }
}

/// A wish to pass a request on.
#[derive(Clone)]
pub struct ForwardRequest {
    /// Who asks.
    pub session: SessionId,
    /// The server it is for.
    pub server: ServerName,
    /// The protocol's method.
    pub method: String,
    /// The members of its `params`, without braces and without `_meta`.
    pub members: String,
    /// The prompt or resource that it is about, by the server's own name for it.
    pub about: OfferRef,
    /// The client behind the request, as far as the server may reach it.
    pub caller: Option<Arc<dyn Caller>>,
    /// Members for the request's `_meta`, for example `traceparent`.
    pub meta: Option<Map<String, Value>>,
    /// The span that the request is a part of: ours, or the one that a client named.
    pub span: Option<SpanContext>,
    /// Answers to what the server asked for in an earlier round.
    pub input: Option<InputResponses>,
}

impl ForwardRequest {
    /// A plain request.
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
        }
    }
}

impl Hub {
    /// Passes a request on to its server, which is started when it must be, under the same rules as a call.
    /// The result is the server's, untouched.
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
    /// The entry of a server that may be started.
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
        let slot = self.slots.get_or_create(&entry.spec.name);
        let _place = slot.acquire_call_permit(entry.spec.timeouts.call).await?;
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
            // What is completed is in the members alone.
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
