//! `pegboard dashboard`: requests a one-time login URL from the running Pegboard.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use http_body_util::{BodyExt, Empty, Limited};
use hyper::Request;
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use pegboard::dashboard::{find_running_instance, login_redirect};
use pegboard_gateway::http::admin_token;
use pegboard_model::{Reason, ToolError, ToolResult};
use serde::{Deserialize, Serialize};
use tokio::net::TcpStream;

use super::{CommandResult, Global, Output, builder, reading};
use crate::args::DashboardArgs;

/// The time allowed for the response of the running Pegboard.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);
/// The response is far smaller.
const MAX_RESPONSE_BYTES: usize = 16 * 1024;

#[derive(Deserialize, Serialize)]
struct Login {
    url: String,
    #[serde(rename = "expiresIn")]
    expires_in: u64,
}

pub(crate) fn run(args: &DashboardArgs, global: &Global, output: &Output) -> CommandResult {
    let configuration = builder(global).load()?;
    let state = configuration.state.path();
    reading(async {
        let response = tokio::time::timeout(RESPONSE_TIMEOUT, request_login(state)).await;
        let login = response.unwrap_or_else(|_| Err(not_reachable("it did not answer in time")))?;
        if output.json {
            output.document(&login)?;
        } else {
            output.line(&login.url)?;
            let minutes = login.expires_in / 60;
            output.note(&format!("The URL works once, within {minutes} minutes."));
        }
        if args.open {
            open(state, &login.url)?;
        }
        Ok(())
    })
}

/// Requests a one-time login from the running Pegboard.
async fn request_login(state: &Path) -> ToolResult<Login> {
    let address = connectable(find_running_instance(state)?);
    let token = admin_token(state)?;
    let lost = |error: &dyn std::error::Error| not_reachable(&error.to_string());
    let stream = TcpStream::connect(address).await.map_err(|e| lost(&e))?;
    let handshake_result = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = handshake_result.map_err(|e| lost(&e))?;
    let driving = tokio::spawn(connection);
    let request = Request::post("/api/v1/logins")
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
fn connectable(mut address: SocketAddr) -> SocketAddr {
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

/// Opens a file that redirects to the URL with the system's opener. The one-time code is not on the command line,
/// which other users of the machine can read, and no shell is involved.
fn open(state: &Path, url: &str) -> ToolResult<()> {
    let file = login_redirect::write(state, url).map_err(|error| {
        let message = format!("cannot write the file for the browser: {error}");
        ToolError::new(Reason::StoreIo, message)
            .with_remedy("Open the printed URL in your browser.")
    })?;
    let opener = match cfg!(target_os = "macos") {
        true => "open",
        false => "xdg-open",
    };
    #[allow(
        clippy::disallowed_methods,
        reason = "the system's opener is not a server and outlives this process"
    )]
    let started = std::process::Command::new(opener)
        .arg(file)
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn();
    started.map(drop).map_err(|error| {
        let message = format!("cannot start `{opener}`: {error}");
        ToolError::new(Reason::SpawnFailed, message)
            .with_remedy("Open the printed URL in your browser.")
    })
}
