//! Requests of the revisions with sessions.

use std::sync::Arc;

use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use bytes::Bytes;

use super::Face;
use super::abandoned::{Ids, Lasting};
use super::call::{Answer, Call};
use super::headers::{self, SESSION, check_legacy_version};
use super::pieces::answered;
use super::post::no_such_profile;
use super::refusal::{empty, protocol_error};
use super::stream::Stream;
use crate::batch::{self, BATCH_REVISION};
use crate::conversation::Conversation;
use crate::message::{Kind, Message};
use crate::response::code;

/// What clients know as "this session is over, begin a new one".
pub(super) const SESSION_NOT_FOUND: i64 = -32001;

/// A session that a request belongs to.
pub(super) struct Found {
    pub(super) id: Arc<str>,
    pub(super) conversation: Arc<Conversation>,
}

pub(super) async fn answer(
    face: &Face,
    profile: &str,
    headers: &HeaderMap,
    message: Message,
) -> Result<Response, Response> {
    if message.kind() == Kind::Request && message.method() == "initialize" {
        // Apart, so that the future of every other message stays small.
        return Box::pin(begin(face, profile, message)).await;
    }
    check_legacy_version(headers)?;
    let refuse = |status: StatusCode, code, why: &str| match message.kind() {
        Kind::Request => answered(message.refuse(status.as_u16(), code, why)),
        Kind::Notification | Kind::Reply => protocol_error(status, code, why),
    };
    let session = find(face, profile, headers, refuse)?;
    if message.kind() != Kind::Request {
        session.conversation.take(message);
        return Ok(empty(StatusCode::ACCEPTED));
    }
    let conversation = session.conversation.clone();
    let ids = Ids::One(message.id().map(ToOwned::to_owned));
    let answer = |stream: Arc<Stream>| -> Answer { Box::pin(conversation.answer(message, stream)) };
    Ok(respond(face, &session, ids, answer).await)
}

/// Answers several messages at once, for the one revision that has this.
pub(super) async fn answer_batch(
    face: &Face,
    profile: &str,
    headers: &HeaderMap,
    text: Bytes,
) -> Result<Response, Response> {
    let none = || {
        let why = "one message per request: only revision 2025-03-26 has batches";
        let status = StatusCode::BAD_REQUEST;
        Err(protocol_error(status, code::INVALID_REQUEST, why))
    };
    if headers::value(headers, SESSION).is_none() {
        return none();
    }
    check_legacy_version(headers)?;
    let session = find(face, profile, headers, protocol_error)?;
    if session.conversation.revision() != Some(BATCH_REVISION) {
        return none();
    }
    let batch = batch::read_batch(&text, face.limits.batch_messages).map_err(answered)?;
    let conversation = session.conversation.clone();
    if !batch::wants_answer(&batch) {
        for message in batch.into_iter().flatten() {
            conversation.take(message);
        }
        return Ok(empty(StatusCode::ACCEPTED));
    }
    let ids = batch.iter().flatten().filter_map(Message::id);
    let ids = Ids::Batch(ids.map(ToOwned::to_owned).collect());
    let answer = |stream: Arc<Stream>| -> Answer {
        Box::pin(batch::answer_batch(conversation, batch, stream))
    };
    Ok(respond(face, &session, ids, answer).await)
}

/// Answers the handshake. The client learns its session by a header.
async fn begin(face: &Face, profile: &str, message: Message) -> Result<Response, Response> {
    let conversation = face.gateway.begin(profile);
    let conversation = conversation.ok_or_else(|| no_such_profile(face))?;
    let outlet = Arc::new(Stream::fleeting(&face.limits));
    let answer = conversation.clone().answer(message, outlet).await;
    let mut response = match answer {
        Some(answer) => answered(answer),
        None => empty(StatusCode::ACCEPTED),
    };
    let id = conversation.session_id();
    if let Some(id) = id.and_then(|id| HeaderValue::from_str(&id).ok()) {
        let headers = response.headers_mut();
        headers.insert(SESSION, id);
    }
    Ok(response)
}

/// The session that the headers name, or the answer that tells what is wrong.
pub(super) fn find(
    face: &Face,
    profile: &str,
    headers: &HeaderMap,
    refuse: impl Fn(StatusCode, i64, &str) -> Response,
) -> Result<Found, Response> {
    let Some(id) = headers::value(headers, SESSION) else {
        let why = "header `Mcp-Session-Id` is missing; begin with `initialize`";
        return Err(refuse(StatusCode::BAD_REQUEST, code::INVALID_REQUEST, why));
    };
    match face.gateway.session(profile, id) {
        Some(conversation) => Ok(Found {
            id: id.into(),
            conversation,
        }),
        None => {
            let why = "this session is over; begin a new one with `initialize`";
            Err(refuse(StatusCode::NOT_FOUND, SESSION_NOT_FOUND, why))
        }
    }
}

/// The client's going away is no cancel: the request goes on for a while and its answer is kept.
async fn respond(
    face: &Face,
    session: &Found,
    ids: Ids,
    answer: impl FnOnce(Arc<Stream>) -> Answer,
) -> Response {
    let stream = Arc::new(Stream::lasting(&face.limits));
    let lasting = Lasting {
        abandoned: face.abandoned.clone(),
        session: session.id.clone(),
        ids,
    };
    let call = Call::lasting(answer(stream.clone()), stream, lasting);
    call.respond(&face.patience, |stream| {
        if headers::is_primed(session.conversation.revision()) {
            stream.prime();
        }
        let streams = face.replay.of(&session.id, &session.conversation);
        streams.keep(stream.clone());
    })
    .await
}
