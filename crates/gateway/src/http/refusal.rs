//! Answers to what is no use of the protocol.

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use serde_json::json;

use super::access::Refused;
use super::guarded::bearer_wanted;
use crate::response::{self, rpc};

/// An answer with a JSON body.
pub(super) fn json(status: StatusCode, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// An answer without a body.
pub(super) fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// A JSON-RPC error about a message whose id is not known.
pub(super) fn protocol_error(status: StatusCode, code: i64, why: &str) -> Response {
    let error = response::Response::error(None, status.as_u16(), &rpc(code, why));
    json(status, error.into_bytes())
}

/// An error outside the protocol: what is wrong, and the next step.
pub(super) fn plain_error(status: StatusCode, error: &str, remedy: &str) -> Response {
    let body = json!({ "error": error, "remedy": remedy });
    json(status, body.to_string())
}

/// The answer to what the guard does not let through.
pub(super) fn turned_away(refused: Refused) -> Response {
    let (status, error, remedy) = match refused {
        Refused::Host => (
            StatusCode::FORBIDDEN,
            "the `Host` of this request is not a name of this Pegboard",
            "Use the address that `pegboard up` printed, or allow the name with `--allow-host` or `allow_hosts`.",
        ),
        Refused::Origin => (
            StatusCode::FORBIDDEN,
            "pages of this `Origin` may not speak to this Pegboard",
            "Allow the origin with `allow_origins` in the settings, if you trust it.",
        ),
        Refused::Token => (
            StatusCode::UNAUTHORIZED,
            "the token is missing or wrong",
            "Send `Authorization: Bearer TOKEN`; `pegboard token` prints the token.",
        ),
    };
    let mut response = plain_error(status, error, remedy);
    if refused == Refused::Token {
        bearer_wanted(response.headers_mut());
    }
    response
}

pub(super) async fn no_such_path() -> Response {
    let error = "nothing is here";
    plain_error(
        StatusCode::NOT_FOUND,
        error,
        "MCP clients connect to `/mcp` or `/mcp/PROFILE`.",
    )
}
