//! The span of a client's request: a child of the client's own span, and the parent of everything done for the request.

use bytes::Bytes;
use pegboard_hub::new_trace;
use pegboard_model::{
    Outcome, Reason, Recorder, RequestFacts, SpanContext, ToolError, TransportKind,
};
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::calling::error_result;
use crate::dispatch::{HandlerResult, RequestContext, RequestError};
use crate::message::Message;
use crate::response::code;

/// Requests that are never traced: clients send them all the time.
const UNTRACED_METHOD: &str = "ping";

/// A span that is recorded when the request completes.
pub(crate) struct RequestSpan {
    pub(crate) context: SpanContext,
    started: Instant,
}

/// Starts the span of a request. Returns `None` if tracing is off.
pub(crate) fn start(
    recorder: &dyn Recorder,
    message: &Message,
    session: &str,
) -> Option<RequestSpan> {
    if !recorder.is_tracing() || message.method() == UNTRACED_METHOD {
        return None;
    }
    let parent = SpanContext::from_meta(&message.meta().forwarded);
    let trace = match &parent {
        Some(parent) => parent.trace_id(),
        None => new_trace(),
    };
    let context = recorder.begin(parent.as_ref(), &trace)?;
    let name = match subject(message) {
        Some(subject) => format!("{} {subject}", message.method()),
        None => message.method().to_owned(),
    };
    Some(RequestSpan {
        context: context.with_labels(&name, session),
        started: Instant::now(),
    })
}

/// The tool or prompt name of a request. Other subjects may reveal content.
fn subject(message: &Message) -> Option<&str> {
    let is_named = matches!(message.method(), "tools/call" | "prompts/get");
    message.subject().filter(|_| is_named)
}

impl RequestContext<'_> {
    /// The span of this request.
    pub(crate) fn span(&self) -> Option<&SpanContext> {
        self.request_span.as_ref().map(|span| &span.context)
    }

    /// The parent of a request forwarded with this `_meta`. Without a span of our own, the client's trace id is still used
    /// in our records.
    pub(crate) fn parent_span(&self, meta: Option<&Map<String, Value>>) -> Option<SpanContext> {
        let own = self.span().cloned();
        own.or_else(|| SpanContext::from_meta(meta?))
    }

    /// Records the outcome of the request.
    pub(crate) fn record(&self, result: &HandlerResult) {
        let Some(span) = &self.request_span else {
            return;
        };
        let revision = match self.is_modern {
            true => self.message.protocol_version(),
            false => self.conversation.revision(),
        };
        let error = result.as_ref().err().map(to_tool_error);
        let error = error.as_ref().or_else(|| self.failure.get());
        let facts = RequestFacts {
            method: self.message.method(),
            name: subject(self.message),
            transport: match self.conversation.is_stdio() {
                true => TransportKind::Stdio,
                false => TransportKind::Http,
            },
            protocol: revision,
            outcome: match (error, result) {
                (Some(error), _) => Outcome::Failed(error),
                (None, Ok(result)) if self.is_failed(result) => Outcome::ToolFailed,
                (None, _) => Outcome::Ok,
            },
            took: span.started.elapsed(),
        };
        let recorder = self.conversation.shared.hub.recorder();
        recorder.request(Some(&span.context), &facts);
    }

    /// Converts an error to a result that the model can read. The request's span records the error, because the tool did
    /// not run.
    pub(crate) fn refused(&self, error: &ToolError) -> Bytes {
        // The first error is the cause.
        let _ = self.failure.set(error.clone());
        error_result(error)
    }

    /// Whether the result of a tool call has `isError`.
    fn is_failed(&self, result: &[u8]) -> bool {
        #[derive(Deserialize)]
        struct Flag {
            #[serde(default, rename = "isError")]
            is_error: bool,
        }
        self.message.method() == "tools/call"
            && serde_json::from_slice::<Flag>(result).is_ok_and(|flag| flag.is_error)
    }
}

fn to_tool_error(error: &RequestError) -> ToolError {
    let reason = match error.error.code {
        code::INVALID_PARAMS => Reason::ArgsInvalid,
        code::INTERNAL_ERROR => Reason::Internal,
        _ => Reason::ServerError,
    };
    ToolError::new(reason, error.error.message.clone()).with_rpc(error.error.clone())
}
