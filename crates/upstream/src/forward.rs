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
        let passed = OutgoingRequest {
            method: "tools/call",
            body: Body::Call { tool, arguments },
            name: Some(tool),
            subject: RequestSubject::Call(tool),
        };
        self.forward(passed, &options).await
    }

    /// Forwards any other request within its time limit.
    pub(crate) async fn request(
        &self,
        forward: ForwardedRequest<'_>,
        options: CallOptions,
    ) -> ToolResult<CallOutcome> {
        let method = forward.method;
        let passed = OutgoingRequest {
            method,
            body: Body::Members(forward.members),
            name: forward.name.filter(|_| TAKES_INPUT.contains(&method)),
            subject: RequestSubject::Method(method),
        };
        self.forward(passed, &options).await
    }

    async fn forward(
        &self,
        passed: OutgoingRequest<'_>,
        options: &CallOptions,
    ) -> ToolResult<CallOutcome> {
        let errors = &self.setup.errors;
        let activity = Arc::new(CallActivity::new());
        let time_limit = TimeLimit {
            idle: options.timeout,
            max_duration: options.max_duration,
        };
        // Boxed once: the future is large, and every combinator around it would copy it.
        let asking = Box::pin(self.forward_or_redetect(passed, options, &activity));
        let answer = match time_limit.limit(&activity, asking).await {
            Ok(answer) => answer?,
            Err(limit) => {
                self.mark_era_unproven();
                return Err(errors.timeout(passed.subject, limit));
            }
        };
        match answer {
            RpcResponse::Result(result) => outcome(passed.subject, result, errors),
            RpcResponse::TooDeep(_) => Err(errors.too_deep()),
            RpcResponse::Error(error) => Err(errors.refused(passed.subject, &error)),
        }
    }

    async fn forward_or_redetect(
        &self,
        passed: OutgoingRequest<'_>,
        options: &CallOptions,
        activity: &Arc<CallActivity>,
    ) -> ToolResult<RpcResponse> {
        let answer = self.forward_once(passed, options, activity).await;
        if !self.is_era_unproven() {
            return answer;
        }
        // The call may be repeated only if the response proves that it did not run.
        let (refused, ran_nothing) = match &answer {
            Ok(RpcResponse::Error(error)) if (-32602..=-32600).contains(&error.code) => {
                (self.setup.errors.refused(passed.subject, error), true)
            }
            Err(error) => {
                let is_refusal = error.reason == Reason::HttpStatus && !error.retryable;
                (error.clone(), is_refusal)
            }
            Ok(_) => {
                self.proven.store(true, Ordering::Relaxed);
                return answer;
            }
        };
        let is_relearnt = Box::pin(self.redetect_era(&refused)).await;
        if is_relearnt && ran_nothing && self.handshake().era == Era::Legacy {
            return self.forward_once(passed, options, activity).await;
        }
        answer
    }

    async fn forward_once(
        &self,
        passed: OutgoingRequest<'_>,
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
        let ask = RpcRequest {
            dialect: self.dialect(),
            method: passed.method,
            body: passed.body,
            meta: options.meta.as_ref(),
            input: options
                .input
                .as_ref()
                .filter(|_| TAKES_INPUT.contains(&passed.method)),
            name: passed.name,
            headers: &options.headers,
            size: ResponseSize::Result,
            origin,
        };
        self.transport.ask(ask).await
    }

    /// Sends `logging/setLevel` to a legacy server unless the level is already set. A modern server reads the level
    /// from each request.
    async fn set_level(&self, level: &serde_json::Value) {
        let agreed = self.agreed();
        let Some(level) = level.as_str() else {
            return;
        };
        if agreed.dialect.is_modern() || !agreed.has.logging {
            return;
        }
        let wanted = (self.transport.generation(), level.to_owned());
        if self.last_level().as_ref() == Some(&wanted) {
            return;
        }
        let members = format!(r#""level":{}"#, quoted(level));
        let ask = RpcRequest::own(&agreed.dialect, "logging/setLevel", &members);
        // A server that refuses a level still runs the call, and would refuse it the next time as well.
        if self.transport.ask(ask).await.is_ok() {
            *self.last_level() = Some(wanted);
        }
    }

    fn last_level(&self) -> MutexGuard<'_, Option<(u64, String)>> {
        self.level.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
