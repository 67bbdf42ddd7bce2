//! HTTP answers.

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;
use serde_json::Value;

/// A body of this type.
pub(super) fn text(status: u16, kind: &str, body: String) -> Response {
    Response::builder()
        .status(status)
        .header(CONTENT_TYPE, kind)
        .header("cache-control", "no-store")
        .body(Body::from(body))
        .expect("a status and headers of the script")
}

/// A JSON document.
pub(super) fn json(status: u16, body: &Value) -> Response {
    text(status, "application/json", body.to_string())
}

/// A page.
pub(super) fn html(status: u16, body: &str) -> Response {
    let page = format!("<!doctype html><title>Test server</title><p>{body}</p>");
    text(status, "text/html; charset=utf-8", page)
}

/// A body of unknown length.
pub(super) fn streamed(kind: &str, body: Body) -> Response {
    Response::builder()
        .header(CONTENT_TYPE, kind)
        .body(body)
        .expect("headers of the script")
}

/// A redirect.
pub(super) fn redirect(status: u16, to: &str) -> Response {
    with_header(
        text(status, "text/plain", String::new()),
        LOCATION.as_str(),
        to,
    )
}

/// The answer with one header more; another of the same name stays.
pub(super) fn with_header(mut response: Response, name: &str, value: &str) -> Response {
    let name: HeaderName = name.parse().expect("a header name of the script");
    let value = HeaderValue::from_str(value).expect("a header value of the script");
    response.headers_mut().append(name, value);
    response
}

/// An OAuth error.
pub(super) fn oauth_error(status: u16, error: &str, description: &str) -> Response {
    json(
        status,
        &serde_json::json!({"error": error, "error_description": description}),
    )
}
