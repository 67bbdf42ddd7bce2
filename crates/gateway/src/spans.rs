//! The span of a client's request: below whatever the client says it is a part of, above all that we do for it.

use std::borrow::Cow;

use bytes::Bytes;
use pegboard_hub::new_trace;
use pegboard_model::{
    Outcome, Reason, Recorder, RequestFacts, SpanContext, ToolError, TransportKind,
};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::calling::error_result;
use crate::dispatch::{HandlerResult, RequestContext, RequestError};
use crate::message::Message;
use crate::response::code;

/// Requests of which nobody wants to hear: clients send them all the time.
const UNTRACED_METHOD: &str = "ping";

/// What a client may say about its own trace.
#[derive(Deserialize)]
struct TraceContext<'a> {
    #[serde(borrow)]
    traceparent: Cow<'a, str>,
    #[serde(borrow, default)]
    tracestate: Option<Cow<'a, str>>,
}

/// A span that is to be told when the request is answered.
pub(crate) struct RequestSpan {
    pub(crate) context: SpanContext,
    started: Instant,
}

/// Opens the span of a request, where spans are made.
pub(crate) fn start(
    recorder: &dyn Recorder,
    message: &Message,
    meta: Option<&RawValue>,
    session: &str,
) -> Option<RequestSpan> {
    if !recorder.is_tracing() || message.method() == UNTRACED_METHOD {
        return None;
    }
    let parent = meta.and_then(parent);
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

/// The span that a client's `_meta` names; anything but a sound one counts as none.
fn parent(meta: &RawValue) -> Option<SpanContext> {
    let context: TraceContext<'_> = serde_json::from_str(meta.get()).ok()?;
    SpanContext::parse(&context.traceparent, context.tracestate.as_deref())
}

/// What a request is about, where that is a name and no content.
fn subject(message: &Message) -> Option<&str> {
    let is_named = matches!(message.method(), "tools/call" | "prompts/get");
    message.subject().filter(|_| is_named)
}

impl RequestContext<'_> {
    /// The span that everything done for this request lies below.
    pub(crate) fn span(&self) -> Option<&SpanContext> {
        self.open.as_ref().map(|open| &open.context)
    }

    /// The span above what is passed on with this `_meta`. A trace that only the client keeps still gives its id
    /// to what we note.
    pub(crate) fn parent_span(&self, meta: Option<&Map<String, Value>>) -> Option<SpanContext> {
        let own = self.span().cloned();
        own.or_else(|| SpanContext::from_meta(meta?))
    }

    /// Tells how the request was answered.
    pub(crate) fn record(&self, answered: &HandlerResult) {
        let Some(open) = &self.open else { return };
        let revision = match self.is_modern {
            true => self.message.protocol_version(),
            false => self.conversation.revision(),
        };
        let error = answered.as_ref().err().map(as_error);
        let error = error.as_ref().or_else(|| self.failure.get());
        let facts = RequestFacts {
            method: self.message.method(),
            name: subject(self.message),
            transport: match self.conversation.is_over_pipe() {
                true => TransportKind::Stdio,
                false => TransportKind::Http,
            },
            protocol: revision,
            outcome: match (error, answered) {
                (Some(error), _) => Outcome::Failed(error),
                (None, Ok(result)) if self.is_failed(result) => Outcome::ToolFailed,
                (None, _) => Outcome::Ok,
            },
            took: open.started.elapsed(),
        };
        let recorder = self.conversation.shared.hub.recorder();
        recorder.request(Some(&open.context), &facts);
    }

    /// An error as a result for the model. The span of the request gets the error itself, because the tool did
    /// not run.
    pub(crate) fn refused(&self, error: &ToolError) -> Bytes {
        // The first one is what went wrong.
        let _ = self.failure.set(error.clone());
        error_result(error)
    }

    /// Whether the tool itself says that it failed.
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

fn as_error(fault: &RequestError) -> ToolError {
    let reason = match fault.error.code {
        code::INVALID_PARAMS => Reason::ArgsInvalid,
        code::INTERNAL => Reason::Internal,
        _ => Reason::ServerError,
    };
    ToolError::new(reason, fault.error.message.clone()).with_rpc(fault.error.clone())
}
