//! JSON responses, and lists with an `ETag`.

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// Serialises a value as the response body.
pub(crate) fn json(status: StatusCode, body: &impl Serialize) -> Response {
    match serde_json::to_vec(body) {
        Ok(bytes) => json_bytes(status, bytes),
        // Only values that JSON cannot represent fail, and no response type contains one.
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// A response whose body is already serialised.
pub(crate) fn json_bytes(status: StatusCode, bytes: impl Into<Body>) -> Response {
    let mut response = Response::new(bytes.into());
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// A JSON response that must not be cached.
pub(crate) struct NoStore<T>(pub(crate) T);

impl<T: Serialize> IntoResponse for NoStore<T> {
    fn into_response(self) -> Response {
        let mut response = json(StatusCode::OK, &self.0);
        let never = HeaderValue::from_static("no-store");
        response.headers_mut().insert(CACHE_CONTROL, never);
        response
    }
}

/// The response `201 Created`, not cached.
pub(crate) struct Created<T>(pub(crate) T);

impl<T: Serialize> IntoResponse for Created<T> {
    fn into_response(self) -> Response {
        let mut response = NoStore(self.0).into_response();
        *response.status_mut() = StatusCode::CREATED;
        response
    }
}

/// A list with an `ETag`; returns 304 without a body if the client sent the same tag.
pub(crate) fn with_etag(request: &HeaderMap, body: &impl Serialize) -> Response {
    let Ok(bytes) = serde_json::to_vec(body) else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let hash = blake3::hash(&bytes).to_hex();
    let tag = format!("\"{}\"", hash.get(..32).unwrap_or(&hash));
    let known = request.get_all(IF_NONE_MATCH).iter();
    let mut known = known.filter_map(|value| value.to_str().ok());
    let is_known = known.any(|value| {
        let mut tags = value
            .split(',')
            .map(|tag| tag.trim().trim_start_matches("W/"));
        tags.any(|known| known == tag || known == "*")
    });
    let mut response = match is_known {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => json_bytes(StatusCode::OK, bytes),
    };
    let headers = response.headers_mut();
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(ETAG, tag);
    }
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    response
}
