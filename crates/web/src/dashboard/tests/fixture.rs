//! A dashboard without files, processes or a browser.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt;
use pegboard_background::ProcessStatus;
use pegboard_gateway::http::{Login, Principal, Role};
use pegboard_gateway::{Gateway, GatewaySettings};
use pegboard_hub::{Hub, HubParts, HubSettings, NoApprover};
use pegboard_model::{
    Clock, DiscoveryStatus, Limits, Policy, Reason, Secret, ServerName, ServerRecord, ServerSpec,
    Timestamp, ToolError, ToolResult,
};
use pegboard_store::{Ledger, MemoryLedger, MemoryStore};
use pegboard_testkit::{FakeClock, stdio_spec};
use pegboard_upstream::{Connect, ConnectHint, Upstream};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tower_service::Service;

use crate::client_admin::{
    ClientInfo, ConnectionChange, ConnectionPreview, ImportOutcome, ImportPreview, SecretHandling,
};
use crate::config_admin::{ConfigAdmin, NewServer, Project, ProjectView, TrustReview};
use crate::logins::Logins;
use crate::process_admin::ProcessAdmin;
use crate::state::{WebParts, WebState};

/// A dashboard over servers in memory.
pub(super) struct DashboardFixture {
    pub(super) hub: Hub,
    pub(super) ledger: Arc<MemoryLedger>,
    pub(super) now: Timestamp,
    router: Router,
}

/// The response of a page.
pub(super) struct PageResponse {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) text: String,
}

/// A discovered server with these tool definitions.
pub(super) fn known(name: &str, tools: &[Value]) -> (ServerSpec, ServerRecord) {
    let spec = stdio_spec(name, "pegboard-test-server", [name, "--verbose"]);
    let raw: Vec<Box<RawValue>> = tools
        .iter()
        .map(|tool| RawValue::from_string(tool.to_string()).unwrap())
        .collect();
    let admitted = pegboard_guard::admit(&spec.name, false, &raw, &Limits::default());
    let mut record = ServerRecord::undiscovered(spec.name.clone(), spec.hash);
    record.status = DiscoveryStatus::Success;
    record.discovered_at = Some(Timestamp(1_000));
    record.attempted_at = record.discovered_at;
    record.tools = admitted.tools.into();
    record.rejections = admitted.rejections.into();
    (spec, record)
}

impl DashboardFixture {
    /// A dashboard with these servers.
    pub(super) fn with(servers: Vec<(ServerSpec, ServerRecord)>) -> Self {
        Self::reviewing(servers, None)
    }

    /// A dashboard with these servers and a trust review.
    pub(super) fn reviewing(
        servers: Vec<(ServerSpec, ServerRecord)>,
        review: Option<TrustReview>,
    ) -> Self {
        Self::build(servers, review, None)
    }

    /// A dashboard of a process with these clients and instances.
    pub(super) fn of_process(status: ProcessStatus) -> Self {
        Self::build(Vec::new(), None, Some(Arc::new(FakeProcess(status))))
    }

    fn build(
        servers: Vec<(ServerSpec, ServerRecord)>,
        review: Option<TrustReview>,
        process: Option<Arc<dyn ProcessAdmin>>,
    ) -> Self {
        let clock = FakeClock::at(1_700_000_000_000);
        let now = clock.now();
        let (specs, records): (Vec<_>, Vec<_>) = servers.into_iter().unzip();
        let ledger = Arc::new(MemoryLedger::new());
        let parts = HubParts {
            store: Arc::new(MemoryStore::new()),
            ledger: ledger.clone() as Arc<dyn Ledger>,
            connector: Arc::new(NoConnector),
            clock: Arc::new(FakeClock::at(now.0)),
            recorder: Arc::new(pegboard_model::NoopRecorder),
            approver: Arc::new(NoApprover),
            encoder: None,
            settings: HubSettings::default(),
            limits: Limits::default(),
        };
        let hub = Hub::with_records(parts, records, specs);
        let gateway = Gateway::new(
            hub.clone(),
            GatewaySettings {
                profiles: Default::default(),
                result_tokens: 10_000,
                key: [7; 32],
                version: "0.0.0".to_owned(),
                limits: Limits::default(),
            },
        );
        let state = WebState::new(WebParts {
            gateway,
            config_admin: Arc::new(FakeConfigAdmin(review)),
            process,
            logins: Arc::new(Logins::new(0)),
            clock: Arc::new(clock),
            limits: Limits::default(),
            url: "http://127.0.0.1:7340".to_owned(),
            command: "pegboard".to_owned(),
            variables: Default::default(),
            version: "0.0.0".to_owned(),
        });
        let router = super::super::routes(state).merge(super::super::assets());
        Self {
            hub,
            ledger,
            now,
            router,
        }
    }

    /// Opens a page as an administrator.
    pub(super) async fn open(&self, path: &str) -> PageResponse {
        self.open_as(path, Some(Role::Admin), &[]).await
    }

    pub(super) async fn open_as(
        &self,
        path: &str,
        role: Option<Role>,
        headers: &[(&str, &str)],
    ) -> PageResponse {
        let mut request = Request::get(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut request = request.body(Body::empty()).unwrap();
        if let Some(role) = role {
            let login = Login::new("browser", blake3::hash(b"key"));
            request.extensions_mut().insert(Principal {
                role,
                login: Some(login),
            });
        }
        let response = self.router.clone().call(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        PageResponse {
            status: parts.status,
            headers: parts.headers,
            text: String::from_utf8_lossy(&bytes).into_owned(),
        }
    }
}

/// Fails the test if a page starts a server.
struct NoConnector;

#[async_trait]
impl Connect for NoConnector {
    async fn connect(
        &self,
        spec: &ServerSpec,
        _: &ConnectHint,
        _: Duration,
    ) -> ToolResult<Arc<dyn Upstream>> {
        panic!("server `{}` was started by a page", spec.name)
    }
}

struct FakeProcess(ProcessStatus);

#[async_trait]
impl ProcessAdmin for FakeProcess {
    fn status(&self) -> ProcessStatus {
        self.0.clone()
    }

    async fn stop_instance(&self, _: u64) -> Option<String> {
        None
    }
}

struct FakeConfigAdmin(Option<TrustReview>);

fn unsupported<T>() -> ToolResult<T> {
    Err(ToolError::new(Reason::Internal, "pages change nothing"))
}

#[async_trait]
impl ConfigAdmin for FakeConfigAdmin {
    fn projects(&self) -> Vec<Project> {
        Vec::new()
    }

    fn project(&self, _: &str) -> Option<ProjectView> {
        None
    }

    fn essential(&self) -> Vec<String> {
        Vec::new()
    }

    fn config_values(&self, _: &ServerName) -> Vec<(String, String)> {
        vec![("env.TOKEN".to_owned(), "***".to_owned())]
    }

    fn review(&self, _: &ServerName) -> Option<TrustReview> {
        self.0.clone()
    }

    async fn logs(&self, _: &ServerName) -> ToolResult<String> {
        Ok("first\n<script>alert(1)</script> \u{1b}[31mred\n".to_owned())
    }

    async fn add_server(&self, _: NewServer) -> ToolResult<()> {
        unsupported()
    }

    async fn change_server(&self, _: &ServerName, _: Map<String, Value>) -> ToolResult<()> {
        unsupported()
    }

    async fn remove_server(&self, _: &ServerName) -> ToolResult<()> {
        unsupported()
    }

    async fn enable_server(&self, _: &ServerName, _: bool) -> ToolResult<()> {
        unsupported()
    }

    async fn trust_server(&self, _: &ServerName, _: &str) -> ToolResult<()> {
        unsupported()
    }

    async fn set_rule(
        &self,
        _: Option<&ServerName>,
        _: &str,
        _: Option<Policy>,
    ) -> ToolResult<bool> {
        unsupported()
    }

    async fn clients(&self) -> ToolResult<Vec<ClientInfo>> {
        Ok(vec![ClientInfo {
            client: "cursor".to_owned(),
            name: "Cursor".to_owned(),
            state: "direct".to_owned(),
            direct: vec!["<b>bold</b>".to_owned()],
            can_connect: true,
            ..ClientInfo::default()
        }])
    }

    async fn import_plan(&self) -> ToolResult<ImportPreview> {
        Ok(ImportPreview::default())
    }

    async fn import(
        &self,
        _: &str,
        _: Vec<String>,
        _: SecretHandling,
    ) -> ToolResult<ImportOutcome> {
        unsupported()
    }

    async fn connection_plan(&self, _: &str, _: ConnectionChange) -> ToolResult<ConnectionPreview> {
        unsupported()
    }

    async fn change_connection(
        &self,
        _: &str,
        _: ConnectionChange,
        _: &str,
    ) -> ToolResult<ConnectionPreview> {
        unsupported()
    }

    fn call_token(&self) -> ToolResult<Option<Secret>> {
        Ok(Some(Secret::new("canary-token")))
    }
}
