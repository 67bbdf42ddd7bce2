//! HTTP responses for errors and empty results.

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use pegboard_model::Reason;
use serde_json::json;

use super::access::AccessError;
use super::request_check::require_bearer;
use crate::response::{self, rpc};

/// A response with a JSON body.
pub(super) fn json(status: StatusCode, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// A response without a body.
pub(super) fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// A JSON-RPC error for a message whose id is unknown.
pub(super) fn protocol_error(status: StatusCode, code: i64, why: &str) -> Response {
    let error = response::Response::error(None, status.as_u16(), &rpc(code, why));
    json(status, error.into_bytes())
}

/// An error response outside MCP, with the error code, message and remedy.
fn plain_error(status: StatusCode, reason: Reason, message: &str, remedy: &str) -> Response {
    let error = json!({
        "code": reason.code(),
        "message": message,
        "remedy": remedy,
        "retryable": reason.retryable(),
    });
    json(status, json!({ "error": error }).to_string())
}

/// The response to a request that fails the access check.
pub(super) fn access_denied(error: AccessError) -> Response {
    let (status, reason) = match error {
        AccessError::Host => (StatusCode::FORBIDDEN, Reason::HostRefused),
        AccessError::Origin => (StatusCode::FORBIDDEN, Reason::OriginRefused),
        AccessError::Token => (StatusCode::UNAUTHORIZED, Reason::TokenWrong),
        AccessError::Forged => (StatusCode::FORBIDDEN, Reason::RequestForged),
        AccessError::Login(page) => {
            let mut response = empty(StatusCode::SEE_OTHER);
            let page = HeaderValue::from_static(page);
            response.headers_mut().insert(LOCATION, page);
            return response;
        }
    };
    let mut response = plain_error(status, reason, reason.title(), reason.remedy());
    if error == AccessError::Token {
        require_bearer(response.headers_mut());
    }
    response
}

pub(super) async fn no_such_path() -> Response {
    let reason = Reason::PathUnknown;
    let status = StatusCode::NOT_FOUND;
    plain_error(status, reason, reason.title(), reason.remedy())
}
