//! A listening test server, and valid requests for it.

use std::net::SocketAddr;

use pegboard_gateway::http::{Access, Site, serve};
use pegboard_gateway::{Gateway, GatewaySettings, Mode, Profile};
use pegboard_model::{Limits, Secret};
use pegboard_upstream::CallOptions;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::fake::{Server, hub};
use crate::raw_client::{HttpResponse, Request};

pub(crate) const TOKEN: &str = "the-token-of-this-test";
pub(crate) const VERSION: &str = "2026-07-28";

pub(crate) struct TestServer {
    pub(crate) address: SocketAddr,
    pub(crate) access: Access,
    pub(crate) gateway: Gateway,
    stop: Option<oneshot::Sender<()>>,
    serving: JoinHandle<()>,
}

impl TestServer {
    pub(crate) async fn of(servers: Vec<Server>) -> Self {
        Self::within(servers, Limits::default()).await
    }

    pub(crate) async fn within(servers: Vec<Server>, limits: Limits) -> Self {
        let (hub, _) = hub(servers).await;
        hub.ensure_known().await;
        let direct = Profile {
            mode: Mode::Direct,
            ..Profile::default()
        };
        let gateway = Gateway::new(
            hub,
            GatewaySettings {
                profiles: [("direct".to_owned(), direct)].into(),
                result_tokens: 25_000,
                key: [7; 32],
                version: "1.2.3".to_owned(),
                limits: limits.clone(),
            },
        );
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let access = Access::with_token(address, &Secret::new(TOKEN)).with_limits(limits.clone());
        let (stop, stopped) = oneshot::channel::<()>();
        let site = Site::new(gateway.clone(), access.clone());
        let serving = tokio::spawn(async move {
            serve(listener, site, stopped).await;
        });
        Self {
            address,
            access,
            gateway,
            stop: Some(stop),
            serving,
        }
    }

    /// A request that passes the access check.
    pub(crate) fn request(&self, method: &str, path: &str) -> Request {
        Request::new(method, path)
            .header("Host", &self.address.to_string())
            .header("Authorization", &format!("Bearer {TOKEN}"))
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Request {
        self.request("POST", path)
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream")
            .body(body.to_string())
    }

    /// A modern request with its required headers.
    pub(crate) fn modern(&self, path: &str, method: &str, params: Value) -> Request {
        let mut params = params;
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = VERSION.into();
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
        let name = params["name"].as_str().or(params["uri"].as_str());
        let name = name.unwrap_or_default().to_owned();
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        self.post(path, &body)
            .header("MCP-Protocol-Version", VERSION)
            .header("Mcp-Method", method)
            .header("Mcp-Name", &name)
    }

    /// Sends the handshake and returns the session id.
    pub(crate) async fn initialize(&self, revision: &str) -> String {
        let params = json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let response = self.send(self.post("/mcp", &body)).await;
        assert_eq!(response.status, 200, "{response:?}");
        assert_eq!(response.json()["result"]["protocolVersion"], revision);
        response.header("mcp-session-id").unwrap().to_owned()
    }

    /// A request of a session.
    pub(crate) fn of_session(
        &self,
        session: &str,
        revision: &str,
        method: &str,
        params: Value,
    ) -> Request {
        let body = json!({"jsonrpc": "2.0", "id": 9, "method": method, "params": params});
        self.post("/mcp", &body)
            .header("Mcp-Session-Id", session)
            .header("MCP-Protocol-Version", revision)
    }

    pub(crate) async fn send(&self, request: Request) -> HttpResponse {
        request.send(self.address).await
    }

    /// Shuts the server down and waits for it.
    pub(crate) async fn end(mut self) {
        drop(self.stop.take());
        self.serving.await.unwrap();
    }
}

/// Sends a progress notification from a server.
pub(crate) fn send_progress(options: &CallOptions, step: u32) {
    let params = json!({"progressToken": 1, "progress": step});
    let params = RawValue::from_string(params.to_string()).unwrap();
    options.caller.as_ref().unwrap().progress(&params);
}
