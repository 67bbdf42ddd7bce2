//! Answers to what is no use of the protocol.

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use pegboard_model::Reason;
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

/// An error outside the protocol: its code, what is wrong, and the next step.
pub fn plain_error(status: StatusCode, reason: Reason, message: &str, remedy: &str) -> Response {
    let error = json!({
        "code": reason.code(),
        "message": message,
        "remedy": remedy,
        "retryable": reason.retryable(),
    });
    json(status, json!({ "error": error }).to_string())
}

/// The answer to what the guard does not let through.
pub(super) fn turned_away(refused: Refused) -> Response {
    let (status, reason) = match refused {
        Refused::Host => (StatusCode::FORBIDDEN, Reason::HostRefused),
        Refused::Origin => (StatusCode::FORBIDDEN, Reason::OriginRefused),
        Refused::Token => (StatusCode::UNAUTHORIZED, Reason::TokenWrong),
        Refused::Forged => (StatusCode::FORBIDDEN, Reason::RequestForged),
        Refused::Login(page) => {
            let mut response = empty(StatusCode::SEE_OTHER);
            let page = HeaderValue::from_static(page);
            response.headers_mut().insert(LOCATION, page);
            return response;
        }
    };
    let mut response = plain_error(status, reason, reason.title(), reason.remedy());
    if refused == Refused::Token {
        bearer_wanted(response.headers_mut());
    }
    response
}

pub(super) async fn no_such_path() -> Response {
    let reason = Reason::PathUnknown;
    let status = StatusCode::NOT_FOUND;
    plain_error(status, reason, reason.title(), reason.remedy())
}
