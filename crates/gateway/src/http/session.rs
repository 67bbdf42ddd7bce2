//! `GET` and `DELETE` of legacy sessions: what belongs to no request, what was missed, and the end.

use std::sync::{Arc, Weak};

use axum::http::header::ALLOW;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;

use super::HttpState;
use super::event_stream::EventStream;
use super::headers::{self, LAST_EVENT, SESSION, check_accept, check_legacy_version};
use super::legacy::{SESSION_NOT_FOUND, find};
use super::pending::{EventBody, event_stream};
use super::post::profile;
use super::refusal::{empty, protocol_error};
use super::replay::LastEvent;
use crate::conversation::{Conversation, MessageSink};
use crate::response::code;

/// Opens the stream of a session, or goes on with one that broke off.
pub(super) fn open(
    state: &HttpState,
    path: &str,
    headers: &HeaderMap,
) -> Result<Response, Response> {
    let profile = profile(state, path)?;
    check_session_use(headers)?;
    check_accept(headers, false)?;
    let session = find(state, profile, headers, protocol_error)?;
    let streams = state.replay.of(&session.id, &session.conversation);
    let last = headers::value(headers, LAST_EVENT).map(|id| LastEvent::parse(id).ok_or(()));
    let found = match last {
        Some(Err(())) => None,
        Some(Ok(last)) => streams.find(Some(last)),
        None => streams.find(None),
    };
    let found = found.ok_or_else(|| {
        let why = "the stream of `Last-Event-ID` is no longer kept; send the request again";
        protocol_error(StatusCode::BAD_REQUEST, code::INVALID_REQUEST, why)
    })?;
    let reader = found.stream.reader(found.last);
    let mut place = None;
    if found.is_general {
        if found.last.is_none() && headers::supports_priming(session.conversation.revision()) {
            found.stream.prime();
        }
        let sink: Arc<dyn MessageSink> = Arc::new(SessionSink {
            stream: found.stream,
            reader: reader.number(),
        });
        session.conversation.attach(sink.clone());
        place = Some(AttachGuard {
            conversation: Arc::downgrade(&session.conversation),
            sink,
        });
    }
    Ok(event_stream(EventBody::of(reader, place)))
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
        let why = "this session is over already";
        let status = StatusCode::NOT_FOUND;
        return Err(protocol_error(status, SESSION_NOT_FOUND, why));
    }
    state.replay.forget(id);
    Ok(empty(StatusCode::NO_CONTENT))
}

/// Without a session, and in revisions that have none, there is only POST.
fn check_session_use(headers: &HeaderMap) -> Result<(), Response> {
    let modern = headers::version(headers).is_some_and(headers::is_modern);
    if modern || !headers.contains_key(SESSION) {
        return Err(only_post());
    }
    check_legacy_version(headers)
}

/// Anything else than POST, and GET and DELETE with a session.
pub(super) fn only_post() -> Response {
    let why = "send messages by POST; GET and DELETE are for sessions of older revisions";
    let status = StatusCode::METHOD_NOT_ALLOWED;
    let mut response = protocol_error(status, code::INVALID_REQUEST, why);
    let headers = response.headers_mut();
    headers.insert(ALLOW, HeaderValue::from_static("POST"));
    response
}

/// A client that is listening for what belongs to no request.
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

/// The place for what belongs to no request. Its end is the end of the stream, because then the session
/// is over.
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
        self.stream.dismiss(self.reader);
    }
}
