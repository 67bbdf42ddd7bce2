//! Handles requests of the revisions with sessions. An `Err` is a response that needs no further work.

use std::sync::Arc;

use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use bytes::Bytes;

use super::HttpState;
use super::abandoned::{DetachedContext, RequestIds};
use super::endpoint::no_such_profile;
use super::event_stream::EventStream;
use super::headers::{self, SESSION, check_legacy_version};
use super::parts_body::into_http;
use super::pending::PendingResponse;
use super::refusal::{empty, protocol_error};
use crate::batch::{self, BATCH_REVISION};
use crate::conversation::Conversation;
use crate::message::{Message, MessageKind};
use crate::response::code;

/// The session of a request.
pub(super) struct SessionRef {
    pub(super) id: Arc<str>,
    pub(super) conversation: Arc<Conversation>,
}

pub(super) async fn handle(
    state: &HttpState,
    profile: &str,
    headers: &HeaderMap,
    message: Message,
) -> Result<PendingResponse, Response> {
    if message.kind() == MessageKind::Request && message.method() == "initialize" {
        // Boxed, so that the future of every other message stays small.
        return Err(Box::pin(start(state, profile, message)).await);
    }
    check_legacy_version(headers)?;
    let refuse = |status: StatusCode, code, why: &str| match message.kind() {
        MessageKind::Request => into_http(message.refuse(status.as_u16(), code, why)),
        MessageKind::Notification | MessageKind::Response => protocol_error(status, code, why),
    };
    let session = find(state, profile, headers, refuse)?;
    if message.kind() != MessageKind::Request {
        session.conversation.receive(message);
        return Err(empty(StatusCode::ACCEPTED));
    }
    let conversation = session.conversation.clone();
    let ids = RequestIds::One(message.id().map(ToOwned::to_owned));
    let stream = Arc::new(EventStream::resumable(&state.limits));
    let response = conversation.handle(message, stream.clone());
    let detached = DetachedContext::new(state, session, ids);
    Ok(PendingResponse::new(response, stream, Some(detached)))
}

/// Handles a batch, which only one revision has.
pub(super) fn handle_batch(
    state: &HttpState,
    profile: &str,
    headers: &HeaderMap,
    text: Bytes,
) -> Result<PendingResponse, Response> {
    let no_batches = || {
        let why = "only revision 2025-03-26 has batches; send one message per request";
        let status = StatusCode::BAD_REQUEST;
        Err(protocol_error(status, code::INVALID_REQUEST, why))
    };
    if headers::value(headers, SESSION).is_none() {
        return no_batches();
    }
    check_legacy_version(headers)?;
    let session = find(state, profile, headers, protocol_error)?;
    if session.conversation.revision() != Some(BATCH_REVISION) {
        return no_batches();
    }
    let batch = batch::read_batch(&text, state.limits.batch_messages).map_err(into_http)?;
    let conversation = session.conversation.clone();
    if !batch::needs_response(&batch) {
        for message in batch.into_iter().flatten() {
            conversation.receive(message);
        }
        return Err(empty(StatusCode::ACCEPTED));
    }
    let ids = batch.iter().flatten().filter_map(Message::id);
    let ids = RequestIds::Batch(ids.map(ToOwned::to_owned).collect());
    let stream = Arc::new(EventStream::resumable(&state.limits));
    let response = batch::handle_batch(conversation, batch, stream.clone());
    let detached = DetachedContext::new(state, session, ids);
    Ok(PendingResponse::new(response, stream, Some(detached)))
}

/// Handles the handshake and returns the session id in a header.
async fn start(state: &HttpState, profile: &str, message: Message) -> Response {
    let Some(conversation) = state.gateway.begin(profile) else {
        return no_such_profile(state);
    };
    let sink = Arc::new(EventStream::ephemeral(&state.limits));
    let response = conversation.clone().handle(message, sink).await;
    let mut response = match response {
        Some(response) => into_http(response),
        None => empty(StatusCode::ACCEPTED),
    };
    let id = conversation.session_id();
    if let Some(id) = id.and_then(|id| HeaderValue::from_str(&id).ok()) {
        let headers = response.headers_mut();
        headers.insert(SESSION, id);
    }
    response
}

/// Finds the session in the headers, or returns an error response.
pub(super) fn find(
    state: &HttpState,
    profile: &str,
    headers: &HeaderMap,
    refuse: impl Fn(StatusCode, i64, &str) -> Response,
) -> Result<SessionRef, Response> {
    let Some(id) = headers::value(headers, SESSION) else {
        let why = "header `Mcp-Session-Id` is missing; send `initialize` first";
        return Err(refuse(StatusCode::BAD_REQUEST, code::INVALID_REQUEST, why));
    };
    match state.gateway.session(profile, id) {
        Some(conversation) => Ok(SessionRef {
            id: id.into(),
            conversation,
        }),
        None => {
            let why = "the session has ended; start a new one with `initialize`";
            Err(refuse(StatusCode::NOT_FOUND, code::SESSION_NOT_FOUND, why))
        }
    }
}
