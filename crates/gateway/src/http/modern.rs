//! Requests of the revisions without sessions: each stands by itself and ends with its connection.

use std::sync::Arc;

use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;

use super::Face;
use super::call::Call;
use super::headers::check_mirrored;
use super::mirrored::check_arguments;
use super::pieces::answered;
use super::post::no_such_profile;
use super::refusal::{empty, protocol_error};
use super::stream::Stream;
use crate::message::{Kind, Message};
use crate::response::code;

pub(super) async fn answer(
    face: &Face,
    profile: &str,
    headers: &HeaderMap,
    message: Message,
) -> Result<Response, Response> {
    match message.kind() {
        Kind::Request => {}
        // Closing the stream cancels here, so a notification has nothing to say.
        Kind::Notification => return Ok(empty(StatusCode::ACCEPTED)),
        Kind::Reply => {
            let why =
                "this revision has no answers of clients; retry the request with `inputResponses`";
            let status = StatusCode::BAD_REQUEST;
            return Err(protocol_error(status, code::INVALID_REQUEST, why));
        }
    }
    check_mirrored(headers, &message).map_err(answered)?;
    check_arguments(&face.gateway, profile, headers, &message).map_err(answered)?;
    let conversation = face.gateway.begin(profile);
    let conversation = conversation.ok_or_else(|| no_such_profile(face))?;
    let stream = Arc::new(Stream::fleeting(&face.limits));
    let answer = Box::pin(conversation.answer(message, stream.clone()));
    let call = Call::fleeting(answer, stream);
    Ok(call.respond(&face.patience, |_| ()).await)
}
