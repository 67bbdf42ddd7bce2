//! The site with its access checks, and requests to it.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderMap, Request};
use http_body_util::BodyExt;
use pegboard_gateway::http::{Access, Site};
use pegboard_gateway::{Gateway, GatewaySettings, Mode, Profile};
use pegboard_hub::{Hub, SystemClock};
use pegboard_model::{Limits, Secret};
use pegboard_web::{Logins, ProcessAdmin, WebParts, WebState};
use serde_json::Value;

use crate::config_admin::FakeConfigAdmin;
use crate::fake_servers::{Servers, hub, tool};

pub(crate) const CALL: &str = "the-token-that-calls";
pub(crate) const ADMIN: &str = "the-token-that-administers";
pub(crate) const HOST: &str = "127.0.0.1:7340";

pub(crate) struct TestSite {
    pub(crate) hub: Hub,
    pub(crate) servers: Arc<Servers>,
    pub(crate) config_admin: Arc<FakeConfigAdmin>,
    pub(crate) logins: Arc<Logins>,
    site: Site,
}

/// A response.
#[derive(Debug)]
pub(crate) struct TestResponse {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl TestResponse {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    #[track_caller]
    pub(crate) fn code(&self) -> String {
        let error = self.json()["error"].clone();
        for member in ["code", "message", "remedy"] {
            assert!(error[member].is_string(), "{member} of {error}");
        }
        error["code"].as_str().unwrap().to_owned()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value.map_or("", |value| value.to_str().unwrap())
    }
}

impl TestSite {
    /// A site with two discovered servers.
    pub(crate) async fn new() -> Self {
        Self::with(Access::with_token(address(), &Secret::new(CALL))).await
    }

    /// The same with other access rules.
    pub(crate) async fn with(access: Access) -> Self {
        Self::build(access, None).await
    }

    /// A site of a process with clients of several projects.
    pub(crate) async fn of_process(process: Arc<dyn ProcessAdmin>) -> Self {
        let access = Access::with_token(address(), &Secret::new(CALL));
        Self::build(access, Some(process)).await
    }

    async fn build(access: Access, process: Option<Arc<dyn ProcessAdmin>>) -> Self {
        let servers = Arc::new(Servers::default());
        servers.set("one", vec![tool("read"), tool("write")]);
        servers.set("two", vec![tool("erase")]);
        let names = ["one", "two"];
        let hub = hub(&servers, &names).await;
        hub.ensure_known().await;
        let narrow = Profile {
            servers: vec!["two".to_owned()],
            mode: Mode::Direct,
            ..Profile::default()
        };
        let gateway = Gateway::new(
            hub.clone(),
            GatewaySettings {
                profiles: [("narrow".to_owned(), narrow)].into(),
                result_tokens: 25_000,
                key: [7; 32],
                version: "1.2.3".to_owned(),
                limits: Limits::default(),
            },
        );
        let config_admin = Arc::new(FakeConfigAdmin::new(hub.clone(), &names));
        let logins = Arc::new(Logins::new(7340));
        let state = WebState::new(WebParts {
            gateway: gateway.clone(),
            config_admin: config_admin.clone(),
            process,
            logins: logins.clone(),
            clock: Arc::new(SystemClock),
            limits: Limits::default(),
            url: format!("http://{HOST}"),
            command: "pegboard".to_owned(),
            variables: Default::default(),
            version: "1.2.3".to_owned(),
        });
        let access = access
            .with_admin_token(&Secret::new(ADMIN))
            .with_logins(logins.clone());
        Self {
            hub,
            servers,
            config_admin,
            logins,
            site: Site::new(gateway, access).with(pegboard_web::routes(state)),
        }
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> TestResponse {
        let response = self.site.handle(request).await;
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        TestResponse {
            status: parts.status.as_u16(),
            headers: parts.headers,
            body: String::from_utf8(bytes.to_vec()).unwrap(),
        }
    }

    /// Sends a request without waiting for the end of the body.
    pub(crate) async fn open(&self, request: Request<Body>) -> axum::response::Response {
        self.site.handle(request).await
    }

    /// Sends a request with a token.
    pub(crate) async fn request(
        &self,
        token: &str,
        method: &str,
        path: &str,
        body: Value,
    ) -> TestResponse {
        self.send(request(token, method, path, body)).await
    }

    /// Reads with the call token.
    pub(crate) async fn get(&self, path: &str) -> TestResponse {
        self.request(CALL, "GET", path, Value::Null).await
    }

    /// Reads until a condition holds.
    pub(crate) async fn eventually(&self, path: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let deadline = tokio::time::Instant::now() + std::time::Duration::from_secs(30);
        loop {
            let answer = self.request(ADMIN, "GET", path, Value::Null).await;
            let seen = answer.json();
            if holds(&seen) {
                return seen;
            }
            assert!(tokio::time::Instant::now() < deadline, "{path}: {seen}");
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }

    /// Sends a request with the admin token.
    pub(crate) async fn admin(&self, method: &str, path: &str, body: Value) -> TestResponse {
        self.request(ADMIN, method, path, body).await
    }
}

pub(crate) fn address() -> SocketAddr {
    HOST.parse().unwrap()
}

/// A request below `/api/v1`, with a JSON body unless it is null.
pub(crate) fn request(token: &str, method: &str, path: &str, body: Value) -> Request<Body> {
    let mut request = plain(method, &format!("/api/v1{path}"));
    let bearer = format!("Bearer {token}").parse().unwrap();
    request.headers_mut().insert("authorization", bearer);
    if !body.is_null() {
        let kind = "application/json".parse().unwrap();
        request.headers_mut().insert("content-type", kind);
        *request.body_mut() = Body::from(body.to_string());
    }
    request
}

/// A request without a token.
pub(crate) fn plain(method: &str, path: &str) -> Request<Body> {
    let request = Request::builder().method(method).uri(path);
    request.header("host", HOST).body(Body::empty()).unwrap()
}

/// Adds a header.
pub(crate) fn with(mut request: Request<Body>, name: &'static str, value: &str) -> Request<Body> {
    request.headers_mut().insert(name, value.parse().unwrap());
    request
}
