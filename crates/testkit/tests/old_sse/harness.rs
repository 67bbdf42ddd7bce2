//! Connects to a scripted server.

use std::sync::Arc;
use std::time::Duration;

use pegboard_model::{HttpWire, Limits, NoSecrets, ServerSpec, ToolError, ToolResult, Transport};
use pegboard_testkit::{SseFault, SseScript, SseServer};
use pegboard_upstream::{
    CallOptions, CallOutcome, ClientInfo, Connect as _, ConnectHint, Connector, ConnectorConfig,
    NoLogs, Upstream,
};
use serde_json::value::RawValue;

/// More than any limit inside of the transport.
const BUDGET: Duration = Duration::from_secs(30);

pub(crate) fn faulty(fault: SseFault) -> SseServer {
    SseServer::start(SseScript {
        fault,
        ..SseScript::default()
    })
}

pub(crate) fn connector(limits: Limits) -> Connector {
    Connector::new(ConnectorConfig {
        limits,
        secrets: Arc::new(NoSecrets),
        environment: std::env::vars().collect(),
        env_allow: Vec::new(),
        work_dirs: None,
        protected: Vec::new(),
        trial: None,
        logs: Arc::new(NoLogs),
        client: ClientInfo {
            name: "pegboard-test".to_owned(),
            version: "1".to_owned(),
        },
    })
}

pub(crate) fn with_type_sse(mut spec: ServerSpec) -> ServerSpec {
    if let Transport::Http { wire, .. } = &mut spec.transport {
        *wire = HttpWire::Sse;
    }
    spec
}

pub(crate) async fn connect(spec: &ServerSpec) -> ToolResult<Arc<dyn Upstream>> {
    connect_with(spec, Limits::default()).await
}

pub(crate) async fn connect_with(
    spec: &ServerSpec,
    limits: Limits,
) -> ToolResult<Arc<dyn Upstream>> {
    connector(limits)
        .connect(spec, &ConnectHint::default(), BUDGET)
        .await
}

pub(crate) async fn remembered(spec: &ServerSpec) -> ToolResult<Arc<dyn Upstream>> {
    let hint = ConnectHint {
        old_sse: true,
        ..ConnectHint::default()
    };
    connector(Limits::default())
        .connect(spec, &hint, BUDGET)
        .await
}

/// The error of a connection that must fail. It never shows the session.
pub(crate) async fn refused(server: &SseServer, spec: &ServerSpec) -> ToolError {
    let error = connect(spec).await.map(|_| ()).unwrap_err();
    assert_no_session(server, &error);
    error
}

pub(crate) fn assert_no_session(server: &SseServer, error: &ToolError) {
    let shown = format!("{error} {error:?}");
    for id in server.session_ids() {
        assert!(!shown.contains(&id), "{shown}");
    }
}

pub(crate) async fn call(upstream: &dyn Upstream, tool: &str) -> ToolResult<CallOutcome> {
    let arguments = RawValue::from_string("{}".to_owned()).unwrap();
    let options = CallOptions::with_timeout(Duration::from_secs(10));
    upstream.call(tool, &arguments, options).await
}
