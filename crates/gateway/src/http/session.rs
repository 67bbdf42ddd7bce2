//! `GET` and `DELETE` of legacy sessions: opens or resumes a stream, and ends the session.

use std::sync::{Arc, Weak};

use axum::http::header::ALLOW;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use pegboard_jsonrpc::revision;

use super::HttpState;
use super::endpoint::profile;
use super::event_stream::EventStream;
use super::headers::{self, LAST_EVENT, SESSION, check_accept, check_legacy_version};
use super::legacy::find;
use super::pending::{EventBody, event_stream};
use super::refusal::{empty, protocol_error};
use super::replay::LastEvent;
use crate::conversation::{Conversation, MessageSink};
use crate::response::code;

/// Opens the general stream of a session, or resumes an interrupted one.
pub(super) fn open(
    state: &HttpState,
    path: &str,
    headers: &HeaderMap,
) -> Result<Response, Response> {
    let profile = profile(state, path)?;
    check_session_use(headers)?;
    check_accept(headers, false)?;
    let session = find(state, profile, headers, protocol_error)?;
    let streams = state.replay.get(&session.id, &session.conversation);
    let last = headers::value(headers, LAST_EVENT).map(|id| LastEvent::parse(id).ok_or(()));
    let found = match last {
        Some(Err(())) => None,
        Some(Ok(last)) => streams.find(Some(last)),
        None => streams.find(None),
    };
    let found = found.ok_or_else(|| {
        let why = "the stream of `Last-Event-ID` is no longer available; send the request again";
        protocol_error(StatusCode::BAD_REQUEST, code::INVALID_REQUEST, why)
    })?;
    let reader = found.stream.reader(found.last);
    let mut attached = None;
    if found.is_general {
        if found.last.is_none() && headers::supports_priming(session.conversation.revision()) {
            found.stream.prime();
        }
        let sink: Arc<dyn MessageSink> = Arc::new(SessionSink {
            stream: found.stream,
            reader: reader.number(),
        });
        session.conversation.attach(sink.clone());
        attached = Some(AttachGuard {
            conversation: Arc::downgrade(&session.conversation),
            sink,
        });
    }
    Ok(event_stream(EventBody::of(reader, attached)))
}

/// Ends a session.
pub(super) fn end(
    state: &HttpState,
    path: &str,
    headers: &HeaderMap,
) -> Result<Response, Response> {
    let profile = profile(state, path)?;
    check_session_use(headers)?;
    let id = headers::value(headers, SESSION).unwrap_or_default();
    if !state.gateway.end_session(profile, id) {
        let why = "the session has already ended";
        let status = StatusCode::NOT_FOUND;
        return Err(protocol_error(status, code::SESSION_NOT_FOUND, why));
    }
    state.replay.forget(id);
    Ok(empty(StatusCode::NO_CONTENT))
}

/// Rejects requests without a session, or of a stateless revision.
fn check_session_use(headers: &HeaderMap) -> Result<(), Response> {
    let modern = headers::version(headers).is_some_and(revision::is_modern);
    if modern || !headers.contains_key(SESSION) {
        return Err(only_post());
    }
    check_legacy_version(headers)
}

/// The error for other methods than POST without a session.
pub(super) fn only_post() -> Response {
    let why = "send messages with POST; GET and DELETE are for sessions of older revisions";
    let status = StatusCode::METHOD_NOT_ALLOWED;
    let mut response = protocol_error(status, code::INVALID_REQUEST, why);
    let headers = response.headers_mut();
    headers.insert(ALLOW, HeaderValue::from_static("POST"));
    response
}

/// Detaches the sink when the client stops reading.
pub(super) struct AttachGuard {
    conversation: Weak<Conversation>,
    sink: Arc<dyn MessageSink>,
}

impl Drop for AttachGuard {
    fn drop(&mut self) {
        if let Some(conversation) = self.conversation.upgrade() {
            conversation.detach(&self.sink);
        }
    }
}

/// The sink for messages that belong to no request. Dropping it ends the stream, because the session has ended.
struct SessionSink {
    stream: Arc<EventStream>,
    reader: u64,
}

impl MessageSink for SessionSink {
    fn send(&self, message: String) -> bool {
        self.stream.send(message)
    }
}

impl Drop for SessionSink {
    fn drop(&mut self) {
        self.stream.disconnect(self.reader);
    }
}
