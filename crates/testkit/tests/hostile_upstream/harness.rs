//! Runs a hostile server through `pegboard-upstream` and checks what is left.

#![allow(dead_code, reason = "each test file uses its part")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use pegboard_model::{Limits, NoSecrets, Reason, ServerSpec, ToolError, ToolResult};
use pegboard_testkit::{Script, processes_with_marker, wait_until, with_env};
use pegboard_upstream::{
    CallOptions, CallOutcome, ClientInfo, Connect, ConnectHint, Connector, ConnectorConfig, NoLogs,
    ToolListing, Upstream,
};
use serde_json::Value;
use serde_json::value::RawValue;

/// Timeout for the handshake and for the list in these tests.
pub(crate) const BUDGET: Duration = Duration::from_secs(3);
/// Tolerance for slow test machines.
pub(crate) const SLACK: Duration = Duration::from_secs(8);

pub(crate) fn connector() -> Connector {
    connector_with(Limits::default())
}

pub(crate) fn connector_with(limits: Limits) -> Connector {
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

/// A server with a unique text in its environment, which identifies all its processes.
pub(crate) struct MarkedServer {
    pub(crate) spec: ServerSpec,
    marker: String,
}

impl MarkedServer {
    pub(crate) fn new(script: &Script) -> Self {
        Self::of(script.stdio_spec("bad"))
    }

    pub(crate) fn of(mut spec: ServerSpec) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::SeqCst);
        let marker = format!("pegboard-hostile-test-{}-{number}-end", std::process::id());
        spec.timeouts.discovery = BUDGET;
        spec.timeouts.connect = BUDGET;
        Self {
            spec: with_env(spec, "PEGBOARD_TEST_MARKER", &marker),
            marker,
        }
    }

    pub(crate) async fn connect(&self) -> ToolResult<Arc<dyn Upstream>> {
        self.connect_with(&connector(), &ConnectHint::default())
            .await
    }

    pub(crate) async fn connect_with(
        &self,
        connector: &Connector,
        hint: &ConnectHint,
    ) -> ToolResult<Arc<dyn Upstream>> {
        connector.connect(&self.spec, hint, BUDGET).await
    }

    /// The current processes of this server.
    pub(crate) fn processes(&self) -> Vec<u32> {
        processes_with_marker(&self.marker)
    }

    pub(crate) async fn leaves_nothing(&self) {
        wait_until(
            "no process of the server is left",
            Duration::from_secs(5),
            || self.processes().is_empty(),
        )
        .await;
    }
}

/// Connects, lists and closes.
pub(crate) async fn list_with(connector: &Connector, spec: &ServerSpec) -> ToolResult<ToolListing> {
    let upstream = connector
        .connect(spec, &ConnectHint::default(), BUDGET)
        .await?;
    let listed = upstream.list_tools().await;
    upstream.close().await;
    listed
}

/// Lists a hostile server together with a good one: the good one responds, nothing is left, and time is bounded.
pub(crate) async fn list(script: &Script) -> ToolResult<ToolListing> {
    list_limited(script, Limits::default()).await
}

pub(crate) async fn list_limited(script: &Script, limits: Limits) -> ToolResult<ToolListing> {
    let bad = MarkedServer::new(script);
    let good = MarkedServer::new(&Script::new().tools(["fine"]));
    let (connector, started) = (connector_with(limits), Instant::now());
    let good_listing = async {
        let listed = list_with(&connector, &good.spec).await;
        (listed, started.elapsed())
    };
    let (listed, (fine, took)) = tokio::join!(list_with(&connector, &bad.spec), good_listing);
    // The handshake and the list each have a limit, and a process that ignores signals has its grace period.
    assert!(
        started.elapsed() < 2 * BUDGET + SLACK,
        "took {:?}",
        started.elapsed()
    );
    assert_eq!(
        names(&fine.expect("the other server is unaffected")),
        ["fine"]
    );
    assert!(took < SLACK, "the other server took {took:?}");
    bad.leaves_nothing().await;
    good.leaves_nothing().await;
    listed
}

pub(crate) fn names(listing: &ToolListing) -> Vec<String> {
    let name = |tool: &RawValue| -> String {
        let tool: Value = serde_json::from_str(tool.get()).expect("a definition is JSON");
        tool["name"].as_str().unwrap_or("?").to_owned()
    };
    listing.tools.iter().map(|tool| name(tool)).collect()
}

/// Checks that a list fails for one of these reasons, with a complete error.
#[track_caller]
pub(crate) fn refused<T: std::fmt::Debug>(outcome: ToolResult<T>, reasons: &[Reason]) -> ToolError {
    match outcome {
        Ok(value) => panic!("expected {reasons:?}, got {value:?}"),
        Err(error) => {
            assert!(
                reasons.contains(&error.reason),
                "expected {reasons:?}, got {error:?}"
            );
            assert!(
                error.server.is_some(),
                "the error names its server: {error:?}"
            );
            assert!(
                !error.remedy.is_empty(),
                "the error contains a next step: {error:?}"
            );
            assert!(
                !error.message.contains(['\u{1b}', '\u{0}']),
                "raw control characters: {error:?}"
            );
            error
        }
    }
}

pub(crate) async fn call(
    upstream: &dyn Upstream,
    tool: &str,
    arguments: Value,
) -> ToolResult<CallOutcome> {
    call_within(upstream, tool, arguments, Duration::from_secs(10)).await
}

pub(crate) async fn call_within(
    upstream: &dyn Upstream,
    tool: &str,
    arguments: Value,
    limit: Duration,
) -> ToolResult<CallOutcome> {
    let arguments = RawValue::from_string(arguments.to_string()).expect("arguments are JSON");
    upstream
        .call(tool, &arguments, CallOptions::with_timeout(limit))
        .await
}

/// The result of a call as a value.
pub(crate) fn value(outcome: &CallOutcome) -> Value {
    serde_json::from_str(outcome.result.get()).expect("a result is JSON")
}

/// Runs the cases of a table concurrently, because most of them wait for a timeout.
pub(crate) async fn concurrently<F>(cases: impl IntoIterator<Item = F>)
where
    F: Future<Output = ()> + Send + 'static,
{
    let mut running: tokio::task::JoinSet<()> = cases.into_iter().collect();
    while let Some(ended) = running.join_next().await {
        ended.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
    }
}

/// The first text of a result.
pub(crate) fn text(outcome: &CallOutcome) -> String {
    value(outcome)["content"][0]["text"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}
