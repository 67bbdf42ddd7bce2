//! Requests to the Pegboard that runs with the same state directory.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use pegboard_model::{Reason, Secret, ToolError, ToolResult};
use serde::de::DeserializeOwned;
use tokio::net::TcpStream;

/// The largest response; lists of a thousand sessions or servers are smaller.
const MAX_RESPONSE_BYTES: usize = 4 * 1024 * 1024;

/// Sends a request to the API of a running Pegboard and waits for the response for at most `timeout`.
pub(super) async fn request<T: DeserializeOwned>(
    address: SocketAddr,
    method: Method,
    path: &str,
    token: &Secret,
    timeout: Duration,
) -> ToolResult<T> {
    let response = exchange(connectable(address), method, path, token);
    let response = tokio::time::timeout(timeout, response).await;
    response.unwrap_or_else(|_| Err(not_reachable("it did not answer in time")))
}

async fn exchange<T: DeserializeOwned>(
    address: SocketAddr,
    method: Method,
    path: &str,
    token: &Secret,
) -> ToolResult<T> {
    let lost = |error: &dyn std::error::Error| not_reachable(&error.to_string());
    let stream = TcpStream::connect(address).await.map_err(|e| lost(&e))?;
    let handshake_result = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = handshake_result.map_err(|e| lost(&e))?;
    let driving = tokio::spawn(connection);
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", address.to_string())
        .header("authorization", format!("Bearer {}", token.reveal()))
        .body(Empty::<Bytes>::new())
        .map_err(|e| lost(&e))?;
    let response = sender.send_request(request).await.map_err(|e| lost(&e))?;
    let status = response.status();
    let body = Limited::new(response.into_body(), MAX_RESPONSE_BYTES)
        .collect()
        .await;
    driving.abort();
    let body = body.map_err(|error| not_reachable(&error.to_string()))?;
    if !status.is_success() {
        return Err(not_reachable(&format!("it answered with status {status}")));
    }
    serde_json::from_slice(&body.to_bytes()).map_err(|e| lost(&e))
}

/// Replaces an unspecified address such as `0.0.0.0`, which cannot be connected to, by the loopback address.
pub(super) fn connectable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        match address {
            SocketAddr::V4(_) => address.set_ip(Ipv4Addr::LOCALHOST.into()),
            SocketAddr::V6(_) => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        }
    }
    address
}

fn not_reachable(why: &str) -> ToolError {
    let message = format!("cannot reach the running Pegboard: {why}");
    ToolError::new(Reason::NotRunning, message)
        .with_remedy("Check that it is still running, or start one with `pegboard up`.")
}
