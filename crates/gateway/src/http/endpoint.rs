//! The MCP endpoint, `/mcp` and `/mcp/{profile}`.

use axum::body::HttpBody;
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use bytes::Bytes;
use pegboard_jsonrpc::revision;
use serde_json::json;

use super::HttpState;
use super::parts_body::into_http;
use super::refusal::json as json_response;
use super::{body, headers, legacy, modern, session};
use crate::batch::is_batch;
use crate::message::Message;

/// Handles a request to the MCP endpoint: one message or batch of a client of either era, or the stream or end of a
/// session. Both variants are responses; `Err` allows `?`.
pub(super) async fn handle(
    state: &HttpState,
    head: &Parts,
    body: impl HttpBody<Data = Bytes> + Unpin,
) -> Result<Response, Response> {
    let (path, headers) = (head.uri.path(), &head.headers);
    match head.method {
        Method::POST => {}
        Method::GET => return session::open(state, path, headers),
        Method::DELETE => return session::end(state, path, headers),
        _ => return Err(session::only_post()),
    }
    let profile = profile(state, path)?;
    headers::check_content_type(headers)?;
    headers::check_accept(headers, true)?;
    let text = body::read(headers, body, &state.limits, &state.bodies).await?;
    let pending = if is_batch(&text) {
        legacy::handle_batch(state, profile, headers, text)?
    } else {
        let message = Message::parse(text).map_err(into_http)?;
        match is_modern(&message, headers::version(headers)) {
            true => modern::handle(state, profile, headers, message)?,
            false => legacy::handle(state, profile, headers, message).await?,
        }
    };
    Ok(pending.respond(&state.response_timer).await)
}

/// Whether the message or its headers have a stateless revision. For `initialize`, which modern revisions do not
/// have, only the message counts.
fn is_modern(message: &Message, version: Option<&str>) -> bool {
    message.protocol_version().is_some()
        || (version.is_some_and(revision::is_modern) && message.method() != "initialize")
}

/// The profile name in a path. Empty for `/mcp`.
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
        "remedy": "Use `/mcp`, or `/mcp/NAME` with one of `profiles`. Define profiles in the config file as `[profiles.NAME]`.",
    });
    json_response(StatusCode::NOT_FOUND, body.to_string())
}
