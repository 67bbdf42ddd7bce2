//! Forwards requests of clients to the server, within their time limits.

use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};

use pegboard_jsonrpc::{RpcResponse, meta, quoted};
use pegboard_model::{Era, Reason, ToolResult};
use serde_json::value::RawValue;

use crate::contract::{CallOptions, CallOutcome, ForwardedRequest};
use crate::errors::RequestSubject;
use crate::outcome::outcome;
use crate::response_timer::{CallActivity, TimeLimit};
use crate::session::Session;
use crate::transport::{Body, CallOrigin, ResponseSize, RpcRequest, RpcTransport};

/// The methods to which a server may respond with `input_required`.
const TAKES_INPUT: &[&str] = &["tools/call", "prompts/get", "resources/read"];

/// A request of a client, independent of the transport.
#[derive(Clone, Copy)]
struct OutgoingRequest<'a> {
    method: &'a str,
    body: Body<'a>,
    name: Option<&'a str>,
    subject: RequestSubject<'a>,
}

impl<W: RpcTransport> Session<W> {
    /// Calls a tool within its time limit.
    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: &RawValue,
        options: CallOptions,
    ) -> ToolResult<CallOutcome> {
        let request = OutgoingRequest {
            method: "tools/call",
            body: Body::Call { tool, arguments },
            name: Some(tool),
            subject: RequestSubject::Call(tool),
        };
        self.forward(request, &options).await
    }

    /// Forwards any other request within its time limit.
    pub(crate) async fn request(
        &self,
        forward: ForwardedRequest<'_>,
        options: CallOptions,
    ) -> ToolResult<CallOutcome> {
        let method = forward.method;
        let request = OutgoingRequest {
            method,
            body: Body::Members(forward.members),
            name: forward.name.filter(|_| TAKES_INPUT.contains(&method)),
            subject: RequestSubject::Method(method),
        };
        self.forward(request, &options).await
    }

    async fn forward(
        &self,
        request: OutgoingRequest<'_>,
        options: &CallOptions,
    ) -> ToolResult<CallOutcome> {
        let errors = &self.setup.errors;
        let activity = Arc::new(CallActivity::new());
        let time_limit = TimeLimit {
            idle: options.timeout,
            max_duration: options.max_duration,
        };
        // Boxed once: the future is large, and every combinator around it would copy it.
        let sending = Box::pin(self.forward_or_redetect(request, options, &activity));
        let response = match time_limit.limit(&activity, sending).await {
            Ok(response) => response?,
            Err(limit) => {
                self.mark_era_unproven();
                return Err(errors.timeout(request.subject, limit));
            }
        };
        match response {
            RpcResponse::Result(result) => outcome(request.subject, result, errors),
            RpcResponse::TooDeep(_) => Err(errors.too_deep()),
            RpcResponse::Error(error) => Err(errors.rpc_failure(request.subject, &error)),
        }
    }

    async fn forward_or_redetect(
        &self,
        request: OutgoingRequest<'_>,
        options: &CallOptions,
        activity: &Arc<CallActivity>,
    ) -> ToolResult<RpcResponse> {
        let response = self.forward_once(request, options, activity).await;
        if !self.is_era_unproven() {
            return response;
        }
        // The call may be repeated only if the response proves that it did not run.
        let (refused, was_not_run) = match &response {
            Ok(RpcResponse::Error(error)) if (-32602..=-32600).contains(&error.code) => {
                (self.setup.errors.rpc_failure(request.subject, error), true)
            }
            Err(error) => {
                let is_refusal = error.reason == Reason::HttpStatus && !error.retryable;
                (error.clone(), is_refusal)
            }
            Ok(_) => {
                self.proven.store(true, Ordering::Relaxed);
                return response;
            }
        };
        let is_redetected = Box::pin(self.redetect_era(&refused)).await;
        if is_redetected && was_not_run && self.handshake().era == Era::Legacy {
            return self.forward_once(request, options, activity).await;
        }
        response
    }

    async fn forward_once(
        &self,
        request: OutgoingRequest<'_>,
        options: &CallOptions,
        activity: &Arc<CallActivity>,
    ) -> ToolResult<RpcResponse> {
        if let Some(level) = options
            .meta
            .as_ref()
            .and_then(|meta| meta.get(meta::LOG_LEVEL))
        {
            Box::pin(self.set_level(level)).await;
        }
        let origin = options
            .caller
            .as_ref()
            .map(|caller| CallOrigin { caller, activity });
        if let Some(origin) = origin {
            Box::pin(self.transport.prepare(origin)).await;
        }
        let rpc_request = RpcRequest {
            dialect: self.dialect(),
            method: request.method,
            body: request.body,
            meta: options.meta.as_ref(),
            input: options
                .input
                .as_ref()
                .filter(|_| TAKES_INPUT.contains(&request.method)),
            name: request.name,
            headers: &options.headers,
            size: ResponseSize::Result,
            origin,
        };
        self.transport.send(rpc_request).await
    }

    /// Sends `logging/setLevel` to a legacy server unless the level is already set. A modern server reads the level
    /// from each request.
    async fn set_level(&self, level: &serde_json::Value) {
        let negotiated = self.negotiated();
        let Some(level) = level.as_str() else {
            return;
        };
        if negotiated.dialect.is_modern() || !negotiated.capabilities.logging {
            return;
        }
        let wanted = (self.transport.generation(), level.to_owned());
        if self.last_level().as_ref() == Some(&wanted) {
            return;
        }
        let members = format!(r#""level":{}"#, quoted(level));
        let rpc_request = RpcRequest::own(&negotiated.dialect, "logging/setLevel", &members);
        // A server that refuses a level still runs the call, and would refuse it the next time as well.
        if self.transport.send(rpc_request).await.is_ok() {
            *self.last_level() = Some(wanted);
        }
    }

    fn last_level(&self) -> MutexGuard<'_, Option<(u64, String)>> {
        self.level.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
