//! Forwards requests of clients to the server, within their time limits.

use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};

use pegboard_jsonrpc::{RpcResponse, meta, quoted};
use pegboard_model::{Era, Reason, ToolResult};
use serde_json::value::RawValue;

use crate::contract::{CallOptions, CallOutcome, Caller, ForwardedRequest};
use crate::errors::RequestSubject;
use crate::outcome::outcome;
use crate::response_timer::{CallActivity, TimeLimit};
use crate::session::Session;
use crate::transport::{Body, CallOrigin, ResponseSize, RpcRequest, RpcTransport};

/// The methods to which a server may respond with `input_required`.
const TAKES_INPUT: &[&str] = &["tools/call", "prompts/get", "resources/read"];

/// A request of a client, independent of the transport.
#[derive(Clone, Copy)]
pub(crate) struct OutgoingRequest<'a> {
    method: &'a str,
    body: Body<'a>,
    name: Option<&'a str>,
    subject: RequestSubject<'a>,
}

impl<'a> OutgoingRequest<'a> {
    /// A call of a tool.
    pub(crate) fn call(tool: &'a str, arguments: &'a RawValue) -> Self {
        Self {
            method: "tools/call",
            body: Body::Call { tool, arguments },
            name: Some(tool),
            subject: RequestSubject::Call(tool),
        }
    }

    /// Any other request.
    pub(crate) fn other(forward: ForwardedRequest<'a>) -> Self {
        let method = forward.method;
        Self {
            method,
            body: Body::Members(forward.members),
            name: forward.name.filter(|_| TAKES_INPUT.contains(&method)),
            subject: RequestSubject::Method(method),
        }
    }
}

impl<W: RpcTransport> Session<W> {
    /// Forwards a request within its time limit.
    pub(crate) async fn forward(
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

    /// Sends a request, and again if the response shows that it did not run because the stored era is wrong.
    async fn forward_or_redetect(
        &self,
        request: OutgoingRequest<'_>,
        options: &CallOptions,
        activity: &Arc<CallActivity>,
    ) -> ToolResult<RpcResponse> {
        let caller = options.caller.as_ref();
        let origin = caller.map(|caller| CallOrigin { caller, activity });
        loop {
            if let Some(level) = options
                .meta
                .as_ref()
                .and_then(|meta| meta.get(meta::LOG_LEVEL))
            {
                Box::pin(self.set_level(level, options.caller.as_ref())).await;
            }
            if let Some(origin) = origin {
                Box::pin(self.transport.prepare(origin)).await;
            }
            let input = options.input.as_ref();
            let rpc_request = RpcRequest {
                dialect: self.dialect(),
                method: request.method,
                body: request.body,
                meta: options.meta.as_ref(),
                input: input.filter(|_| TAKES_INPUT.contains(&request.method)),
                name: request.name,
                headers: &options.headers,
                size: ResponseSize::Result,
                origin,
            };
            let response = self.transport.send(rpc_request).await;
            if !self.is_era_unproven()
                || !Box::pin(self.must_resend(request.subject, &response)).await
            {
                return response;
            }
        }
    }

    /// Draws conclusions from the first response in an unproven era. Returns whether the request must be sent again, in
    /// another era: only if the response proves that it did not run.
    async fn must_resend(
        &self,
        subject: RequestSubject<'_>,
        response: &ToolResult<RpcResponse>,
    ) -> bool {
        let (refused, was_not_run) = match response {
            Ok(RpcResponse::Error(error)) if (-32602..=-32600).contains(&error.code) => {
                (&self.setup.errors.rpc_failure(subject, error), true)
            }
            Err(error) => {
                let is_refusal = error.reason == Reason::HttpStatus && !error.retryable;
                (error, is_refusal)
            }
            Ok(_) => {
                self.proven.store(true, Ordering::Relaxed);
                return false;
            }
        };
        self.redetect_era(refused).await && was_not_run && self.handshake().era == Era::Legacy
    }

    /// Sends `logging/setLevel` to a legacy server unless the level is already set. It is the most verbose level of all
    /// sessions. A modern server reads the level from each request.
    async fn set_level(&self, level: &serde_json::Value, caller: Option<&Arc<dyn Caller>>) {
        let negotiated = self.negotiated();
        let Some(level) = level.as_str() else {
            return;
        };
        if negotiated.dialect.is_modern() || !negotiated.capabilities.logging {
            return;
        }
        let level = self.wanted_levels.set(caller, level);
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
