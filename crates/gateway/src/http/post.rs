//! `POST /mcp`: one message of a client, of either era.

use axum::body::HttpBody;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;
use bytes::Bytes;
use serde_json::json;

use super::HttpState;
use super::parts_body::into_http;
use super::refusal::json as json_answer;
use super::{body, headers, legacy, modern};
use crate::batch::is_batch;
use crate::message::Message;

/// The answer, or what is wrong with the request.
pub(super) async fn take(
    state: &HttpState,
    head: &Parts,
    body: impl HttpBody<Data = Bytes> + Unpin,
) -> Result<Response, Response> {
    let profile = profile(state, head.uri.path())?;
    headers::check_content_type(&head.headers)?;
    headers::check_accept(&head.headers, true)?;
    let text = body::read(&head.headers, body, &state.limits, &state.bodies).await?;
    if is_batch(&text) {
        return legacy::answer_batch(state, profile, &head.headers, text).await;
    }
    let message = Message::parse(text).map_err(into_http)?;
    if is_modern(&message, headers::version(&head.headers)) {
        modern::answer(state, profile, &head.headers, message).await
    } else {
        legacy::answer(state, profile, &head.headers, message).await
    }
}

/// A message is modern when it says so itself, or when its headers do; the handshake of the older
/// revisions never is unless it says so itself.
fn is_modern(message: &Message, version: Option<&str>) -> bool {
    message.protocol_version().is_some()
        || (version.is_some_and(headers::is_modern) && message.method() != "initialize")
}

/// The profile that a path names; empty for `/mcp`.
pub(super) fn profile<'p>(state: &HttpState, path: &'p str) -> Result<&'p str, Response> {
    let name = path.strip_prefix("/mcp").unwrap_or_default();
    let name = name.strip_prefix('/').unwrap_or(name);
    match state.gateway.has_profile(name) {
        true => Ok(name),
        false => Err(no_such_profile(state)),
    }
}

pub(super) fn no_such_profile(state: &HttpState) -> Response {
    let names = state.gateway.profile_names();
    let body = json!({
        "error": "no such profile",
        "profiles": names,
        "remedy": "Use `/mcp` or `/mcp/NAME` with one of `profiles`; they stand under `[profiles.NAME]` in the config file.",
    });
    json_answer(StatusCode::NOT_FOUND, body.to_string())
}
