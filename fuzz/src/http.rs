//! HTTP requests of clients: headers, session ids, cursors and bodies.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request};
use pegboard_gateway::http::{Access, Site};
use pegboard_gateway::{Gateway, GatewaySettings};
use pegboard_hub::{Hub, HubParts, HubSettings, NoApprover, SystemClock};
use pegboard_model::{Limits, NoopRecorder, Reason, Secret, ServerSpec, ToolError, ToolResult};
use pegboard_store::{MemoryLedger, MemoryStore};
use pegboard_upstream::{Connect, ConnectHint, Upstream};
use serde_json::{Value, json};

use crate::block_on;

const HOST: &str = "127.0.0.1:7332";
const TOKEN: &str = "token-of-the-fuzz-target";

/// A placeholder for the id of a session that the target opened.
const SESSION: &str = "{session}";

/// There are no servers.
struct NoServers;

#[async_trait]
impl Connect for NoServers {
    async fn connect(
        &self,
        _: &ServerSpec,
        _: &ConnectHint,
        _: Duration,
    ) -> ToolResult<Arc<dyn Upstream>> {
        Err(ToolError::new(
            Reason::ServerUnknown,
            "there are no servers",
        ))
    }
}

async fn site() -> Site {
    let parts = HubParts {
        ledger: Arc::new(MemoryLedger::new()),
        encoder: None,
        recorder: Arc::new(NoopRecorder),
        store: Arc::new(MemoryStore::new()),
        connector: Arc::new(NoServers),
        clock: Arc::new(SystemClock),
        approver: Arc::new(NoApprover),
        settings: HubSettings::default(),
        limits: Limits::default(),
    };
    let hub = Hub::open(parts, Vec::new()).await.unwrap().0;
    let settings = GatewaySettings {
        profiles: Default::default(),
        result_tokens: 25_000,
        key: [7; 32],
        version: "1.2.3".to_owned(),
        limits: Limits::default(),
    };
    let access = Access::with_token(HOST.parse().unwrap(), &Secret::new(TOKEN));
    Site::new(Gateway::new(hub, settings), access)
}

/// Opens a session and returns its id.
async fn open_session(site: &Site) -> String {
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    let request = Request::post("/mcp")
        .header("host", HOST)
        .header("authorization", format!("Bearer {TOKEN}"))
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    let response = site.handle(request.body(Body::from(body.to_string())).unwrap());
    let response = response.await;
    let id = response.headers().get("mcp-session-id").unwrap();
    id.to_str().unwrap().to_owned()
}

/// Parses `METHOD PATH`, header lines, an empty line and a body.
fn parse(text: &str) -> Option<(Method, &str, HeaderMap, &str)> {
    let (head, body) = text.split_once("\n\n").unwrap_or((text, ""));
    let mut lines = head.lines();
    let (method, path) = lines.next()?.split_once(' ')?;
    let mut headers = HeaderMap::new();
    for line in lines {
        let (name, value) = line.split_once(':')?;
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        headers.append(name, HeaderValue::from_str(value.trim()).ok()?);
    }
    Some((
        Method::from_bytes(method.as_bytes()).ok()?,
        path,
        headers,
        body,
    ))
}

/// A request without the token is refused, no request causes a server error, a session id that was not issued opens
/// no stream, and `tools/list` rejects every cursor. Passes if the request gets past the access check.
pub(crate) fn request(input: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(input) else {
        return false;
    };
    thread_local! {
        static SITE: Site = block_on(site());
    }
    let site = SITE.with(Site::clone);
    block_on(check(&site, text))
}

async fn check(site: &Site, text: &str) -> bool {
    let issued = match text.contains(SESSION) {
        true => open_session(site).await,
        false => String::new(),
    };
    let text = text.replace(SESSION, &issued);
    let Some((method, path, headers, body)) = parse(&text) else {
        return false;
    };
    let request = Request::builder().method(method.clone()).uri(path);
    let Ok(mut request) = request.body(Body::from(body.to_owned())) else {
        return false;
    };
    let path = request.uri().path().to_owned();
    *request.headers_mut() = headers.clone();
    // A request may wait for something that never happens; that is not what is tested here.
    let response = tokio::time::timeout(Duration::from_secs(5), site.handle(request)).await;
    let Ok(response) = response else { return true };
    let status = response.status().as_u16();
    assert!(status < 500, "{status}: {text}");

    let tokens: Vec<_> = headers.get_all("authorization").iter().collect();
    let has_token = tokens.iter().any(|value| {
        let value = value.to_str().unwrap_or_default();
        value.contains(TOKEN)
    });
    let is_preflight = method == Method::OPTIONS;
    if !has_token && path != "/healthz" && !is_preflight {
        assert!(matches!(status, 400 | 401 | 403 | 421), "{status}: {text}");
    }
    if matches!(status, 401 | 403 | 421) {
        return false;
    }
    let session = headers
        .get("mcp-session-id")
        .and_then(|id| id.to_str().ok());
    let is_issued = session.is_some_and(|id| !issued.is_empty() && id.trim() == issued);
    if matches!(method, Method::GET | Method::DELETE) && path.starts_with("/mcp") && !is_issued {
        assert!(status >= 400, "{status}: {text}");
    }
    let message = serde_json::from_str::<Value>(body).unwrap_or_default();
    if method == Method::POST && path == "/mcp" && !message["params"]["cursor"].is_null() {
        let kind = response.headers().get("content-type");
        let is_json = kind.is_some_and(|kind| kind == "application/json");
        if message["method"] == "tools/list" && is_json {
            let bytes = axum::body::to_bytes(response.into_body(), 1 << 20).await;
            let answer: Value = serde_json::from_slice(&bytes.unwrap()).unwrap();
            assert!(answer.get("result").is_none(), "{answer}: {text}");
        }
    }
    true
}
