//! Handles requests of the stateless revisions. Each request is independent and ends with its connection. An
//! `Err` is a response that needs no further work.

use std::sync::Arc;

use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;

use super::HttpState;
use super::endpoint::no_such_profile;
use super::event_stream::EventStream;
use super::headers::check_matches_body;
use super::mirrored::check_arguments;
use super::parts_body::into_http;
use super::pending::PendingResponse;
use super::refusal::{empty, protocol_error};
use crate::message::{Message, MessageKind};
use crate::response::code;

pub(super) fn handle(
    state: &HttpState,
    profile: &str,
    headers: &HeaderMap,
    message: Message,
) -> Result<PendingResponse, Response> {
    match message.kind() {
        MessageKind::Request => {}
        // Closing the stream cancels a request here, so notifications are ignored.
        MessageKind::Notification => return Err(empty(StatusCode::ACCEPTED)),
        MessageKind::Response => {
            let why = "this revision has no responses from clients; retry the request with `inputResponses`";
            let status = StatusCode::BAD_REQUEST;
            return Err(protocol_error(status, code::INVALID_REQUEST, why));
        }
    }
    check_matches_body(headers, &message).map_err(into_http)?;
    check_arguments(&state.gateway, profile, headers, &message).map_err(into_http)?;
    let conversation = state.gateway.begin(profile);
    let conversation = conversation.ok_or_else(|| no_such_profile(state))?;
    let stream = Arc::new(EventStream::ephemeral(&state.limits));
    let response = conversation.handle(message, stream.clone());
    Ok(PendingResponse::new(response, stream, None))
}
