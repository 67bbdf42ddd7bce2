//! The server on Streamable HTTP: one endpoint, both eras.

mod event_log;
mod headers;
mod legacy_http;
mod modern_http;
mod reply;

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::post;
use serde_json::Value;

use crate::http::legacy_http::Sessions;
use crate::legacy::is_legacy_version;
use crate::message::{INVALID_PARAMS, RpcError};
use crate::modern;
use crate::shared::SharedState;

/// Serves until the process is killed.
pub(crate) async fn serve(shared: Arc<SharedState>, port: u16) {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port))
        .await
        .expect("the port is free");
    let address = listener.local_addr().expect("a listener has an address");
    println!("listening on http://{address}/mcp");
    let server = Arc::new(Server {
        sessions: Sessions::default(),
        shared,
    });
    let router = Router::new()
        .route("/mcp", post(on_post).get(on_get).delete(on_delete))
        .with_state(server);
    axum::serve(listener, router)
        .await
        .expect("the listener keeps running");
}

struct Server {
    shared: Arc<SharedState>,
    sessions: Sessions,
}

async fn on_post(State(server): State<Arc<Server>>, headers: HeaderMap, body: Bytes) -> Response {
    if let Err(refused) = headers::check_origin(&headers) {
        return refused;
    }
    let Ok(message) = serde_json::from_slice::<Value>(&body) else {
        let rpc_error = RpcError::new(-32700, "the body is not JSON");
        return reply::refused(StatusCode::BAD_REQUEST, &Value::Null, rpc_error);
    };
    if !message.is_object() {
        let rpc_error = RpcError::new(-32600, "one message per request");
        return reply::refused(StatusCode::BAD_REQUEST, &Value::Null, rpc_error);
    }
    if is_for_modern(&headers, &message) {
        if server.shared.eras.modern() {
            return modern_http::take(server.shared.clone(), &headers, message).await;
        }
        let rpc_error = RpcError::new(INVALID_PARAMS, "unsupported revision");
        return reply::refused(StatusCode::BAD_REQUEST, &message["id"], rpc_error);
    }
    if server.shared.eras.legacy() {
        server.sessions.take(&server.shared, &headers, message)
    } else {
        let wanted = message["params"]["protocolVersion"].as_str();
        let rpc_error = modern::unsupported(wanted.unwrap_or_default());
        reply::refused(StatusCode::BAD_REQUEST, &message["id"], rpc_error)
    }
}

async fn on_get(State(server): State<Arc<Server>>, headers: HeaderMap) -> Response {
    match headers::check_origin(&headers) {
        Ok(()) => server.sessions.stream(&headers),
        Err(refused) => refused,
    }
}

async fn on_delete(State(server): State<Arc<Server>>, headers: HeaderMap) -> Response {
    match headers::check_origin(&headers) {
        Ok(()) => server.sessions.end(&headers),
        Err(refused) => refused,
    }
}

/// A session id means legacy. Otherwise the header decides, and without one the body.
fn is_for_modern(headers: &HeaderMap, message: &Value) -> bool {
    if headers::session(headers).is_some() {
        return false;
    }
    match headers::text(headers, headers::VERSION) {
        Some(version) => !is_legacy_version(version),
        None => modern::is_modern(message),
    }
}

/// A response without a body.
fn empty_response(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}
