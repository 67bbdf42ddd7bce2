//! RefreshScope events discoveries and configuration changes emit, with which fields and which trace ids.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod fake;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use fake::{Behaviour, HubFixture, spec, wait_for};
use pegboard_catalog::StaticTool;
use pegboard_hub::{CallRequest, HubSettings, RefreshScope, SessionId, ToolHandler};
use pegboard_model::{
    Event, EventKind, Reason, ServerSpec, ToolOverride, ToolResult, TraceId, TrustState,
};
use pegboard_testkit::{server, wait_until};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::broadcast::Receiver;

const LONG: Duration = Duration::from_secs(20);

/// Everything that was emitted so far, as JSON without time and trace, and the trace ids.
fn drain(events: &mut Receiver<Event>) -> (Vec<Value>, Vec<TraceId>) {
    let mut all = (Vec::new(), Vec::new());
    while let Ok(event) = events.try_recv() {
        let mut json = serde_json::to_value(&event).unwrap();
        let fields = json.as_object_mut().unwrap();
        fields.remove("at");
        fields.remove("trace");
        if let Some(duration) = fields.remove("duration_ms") {
            assert!(duration.is_u64(), "{event:?}");
        }
        all.0.push(json);
        all.1.push(event.trace);
    }
    all
}

/// Checks the events of a discovery of the server `a`, which must have one trace id.
#[track_caller]
fn check_discovery(events: &mut Receiver<Event>, what: &str) {
    let (emitted, traces) = drain(events);
    let expected = [
        json!({"event": "tools.discovery.started", "servers": 1}),
        json!({"event": "server.started", "server": "a"}),
        json!({"event": "tools.registry.updated", "static_tools": 0, "mcp_tools": 1}),
        json!({"event": "tools.discovery.server.success", "server": "a", "tools": 1}),
    ];
    let relevant = |(at, event): (usize, &Value)| expected.contains(event).then_some(at);
    let found: Vec<usize> = emitted.iter().enumerate().filter_map(relevant).collect();
    let in_order: Vec<_> = found.iter().map(|at| emitted[*at].clone()).collect();
    assert_eq!(in_order, expected, "{what}: {emitted:?}");
    let traces: Vec<_> = found.iter().map(|at| traces[*at].to_string()).collect();
    assert!(
        traces.iter().all(|trace| *trace == traces[0]),
        "{what}: {traces:?}"
    );
}

fn is_success(kind: &EventKind) -> bool {
    matches!(kind, EventKind::ServerDiscovered { .. })
}

#[tokio::test]
async fn r_obs_01_every_way_to_discover_emits_start_and_end_with_one_trace_id() {
    for way in ["refresh", "first need", "session", "call", "configuration"] {
        let servers: &[&str] = if way == "configuration" { &[] } else { &["a"] };
        let fixture = HubFixture::new(servers).await;
        fixture.servers.tools("a", &["one"]);
        let (mut events, mut waiting) = (fixture.hub.subscribe(), fixture.hub.subscribe());
        match way {
            "refresh" => drop(fixture.hub.refresh(RefreshScope::All, false).await.unwrap()),
            "first need" => drop(fixture.hub.ensure_known().await),
            "session" => fixture.hub.session_started(),
            "call" => {
                let arguments = RawValue::from_string("{}".into()).unwrap();
                let request = CallRequest::new(SessionId("s".into()), "a/one", arguments);
                drop(fixture.hub.call(&request).await.unwrap());
            }
            _ => drop(fixture.hub.apply([spec("a")]).await),
        }
        wait_for(&mut waiting, is_success).await;
        check_discovery(&mut events, way);
        fixture.hub.shutdown().await;
    }
}

#[tokio::test]
async fn r_obs_01_a_list_that_changed_is_a_discovery_of_its_own() {
    let fixture = HubFixture::new(&["a"]).await;
    fixture.servers.tools("a", &["one"]);
    let arguments = RawValue::from_string("{}".into()).unwrap();
    let request = CallRequest::new(SessionId("s".into()), "a/one", arguments);
    fixture.hub.call(&request).await.unwrap();
    fixture.servers.tools("a", &["one", "two"]);
    let mut events = fixture.hub.subscribe();
    fixture.servers.announce_change("a");
    let is_started = |kind: &EventKind| *kind == EventKind::DiscoveryStarted { servers: 1 };
    let started = wait_for(&mut events, is_started).await;
    let success = wait_for(&mut events, is_success).await;
    assert_eq!(started.trace, success.trace);
    fixture.hub.shutdown().await;
}

#[tokio::test]
async fn r_obs_01_one_event_starts_a_batch_and_failures_carry_its_trace_id() {
    let fixture = HubFixture::new(&["bad", "good"]).await;
    fixture.servers.tools("good", &["one", "two"]);
    let failing = Behaviour::failing(Reason::SpawnDenied);
    fixture.servers.set("bad", failing);
    let mut events = fixture.hub.subscribe();
    fixture.hub.refresh(RefreshScope::All, true).await.unwrap();
    fixture.hub.shutdown().await;
    let (emitted, traces) = drain(&mut events);
    assert_eq!(
        emitted[0],
        json!({"event": "tools.discovery.started", "servers": 2})
    );
    let failed = json!({"event": "tools.discovery.server.failed", "server": "bad",
        "reason": "SPAWN_DENIED", "error": "it does not start"});
    let success = json!({"event": "tools.discovery.server.success", "server": "good", "tools": 2});
    for expected in [&failed, &success] {
        assert!(emitted.contains(expected), "{expected} in {emitted:?}");
    }
    let is_started = |event: &&Value| event["event"] == "tools.discovery.started";
    assert_eq!(emitted.iter().filter(is_started).count(), 1, "{emitted:?}");
    let stopped = emitted.iter().position(|event| event["why"] == "shutdown");
    let discovery = &traces[..stopped.unwrap_or(traces.len())];
    assert!(
        discovery.iter().all(|trace| *trace == traces[0]),
        "{emitted:?} {traces:?}"
    );
}

#[tokio::test]
async fn r_obs_01_a_discovery_that_is_joined_is_reported_once() {
    let fixture = HubFixture::new(&["a"]).await;
    fixture.servers.set("a", Behaviour::hanging());
    let (mut events, mut waiting) = (fixture.hub.subscribe(), fixture.hub.subscribe());
    fixture.hub.session_started();
    wait_until("the server is being started", LONG, || {
        fixture.servers.started("a") == 1
    })
    .await;
    let joining = fixture.hub.refresh(RefreshScope::All, false);
    fixture.servers.tools("a", &["one"]);
    joining.await.unwrap();
    wait_for(&mut waiting, is_success).await;
    check_discovery(&mut events, "joined");
    fixture.hub.shutdown().await;
}

/// A server whose tool `off` is disabled.
fn with_disabled_tool(name: &str) -> ServerSpec {
    let mut spec = spec(name);
    let disabled = ToolOverride {
        enabled: Some(false),
        ..ToolOverride::default()
    };
    spec.tools.insert("off".to_owned(), disabled);
    spec
}

#[tokio::test]
async fn r_obs_01_a_removed_server_is_reported_once_with_its_offered_tools() {
    let fixture = HubFixture::with(
        vec![with_disabled_tool("a"), spec("b")],
        HubSettings::default(),
    )
    .await;
    fixture.servers.tools("a", &["off", "one", "two"]);
    fixture.servers.tools("b", &["three"]);
    let mut events = fixture.hub.subscribe();
    fixture.hub.ensure_known().await;
    let updated = |mcp_tools: usize| json!({"event": "tools.registry.updated", "static_tools": 0, "mcp_tools": mcp_tools});
    let (emitted, _) = drain(&mut events);
    assert!(emitted.contains(&updated(3)), "{emitted:?}");
    let removals = |emitted: &[Value]| -> Vec<Value> {
        let is_removal = |event: &&Value| event["event"] == "tools.registry.server.removed";
        emitted.iter().filter(is_removal).cloned().collect()
    };
    let removed = |name: &str, tools: usize| json!({"event": "tools.registry.server.removed", "server": name, "removed": tools});

    let mut disabled = with_disabled_tool("a");
    disabled.enabled = false;
    fixture.hub.apply([disabled, spec("b")]).await;
    let (emitted, traces) = drain(&mut events);
    assert_eq!(removals(&emitted), [removed("a", 2)]);
    assert_eq!(emitted.last(), Some(&updated(1)), "{emitted:?}");
    assert!(
        traces.iter().all(|trace| *trace == traces[0]),
        "{emitted:?}"
    );

    fixture.hub.apply([spec("b")]).await;
    let (emitted, _) = drain(&mut events);
    assert_eq!(removals(&emitted), Vec::<Value>::new(), "it left before");

    fixture.hub.apply([]).await;
    let (emitted, _) = drain(&mut events);
    assert_eq!(removals(&emitted), [removed("b", 1)]);
    assert_eq!(emitted.last(), Some(&updated(0)), "{emitted:?}");
}

struct Echo;

#[async_trait]
impl ToolHandler for Echo {
    async fn call(&self, arguments: Value) -> ToolResult<Value> {
        Ok(arguments)
    }
}

#[tokio::test]
async fn r_obs_01_the_registry_counts_what_is_offered() {
    let fixture = HubFixture::new(&["a"]).await;
    fixture.servers.tools("a", &["one", "two"]);
    fixture.hub.ensure_known().await;
    let mut events = fixture.hub.subscribe();
    // It hides the server's tool of the same exposed name.
    let tool = StaticTool::new("a__one", "One.", json!({"type": "object"})).unwrap();
    fixture.hub.register(tool, Arc::new(Echo)).unwrap();
    let (emitted, _) = drain(&mut events);
    let updated = json!({"event": "tools.registry.updated", "static_tools": 1, "mcp_tools": 1});
    assert_eq!(emitted, [updated]);
}

#[tokio::test]
async fn r_store_01_hits_and_misses_are_counted_for_usable_servers_alone() {
    let (mut disabled, mut untrusted) = (spec("disabled"), spec("untrusted"));
    disabled.enabled = false;
    untrusted.trust_state = TrustState::Pending;
    let specs = vec![spec("good"), spec("failing"), disabled, untrusted];
    let fixture = HubFixture::with(specs, HubSettings::default()).await;
    fixture.servers.tools("good", &["one"]);
    let failing = Behaviour::failing(Reason::SpawnDenied);
    fixture.servers.set("failing", failing);
    let counted = || {
        let stats = fixture.hub.stats();
        (stats.hits, stats.misses)
    };
    fixture.hub.ensure_known().await;
    assert_eq!(counted(), (0, 2), "both are unknown");
    fixture.hub.ensure_known().await;
    assert_eq!(counted(), (1, 3), "the failed one has no tools to give");
    // A failure keeps the known tools.
    fixture.servers.tools("failing", &["two"]);
    let which = || RefreshScope::One(server("failing"));
    fixture.hub.refresh(which(), true).await.unwrap();
    let failing = Behaviour::failing(Reason::SpawnDenied);
    fixture.servers.set("failing", failing);
    fixture.hub.refresh(which(), true).await.unwrap();
    fixture.hub.ensure_known().await;
    assert_eq!(counted(), (3, 3));
}

#[tokio::test]
async fn r_store_01_a_list_that_must_be_renewed_first_is_a_miss() {
    let fixture = HubFixture::strict("a").await;
    fixture.servers.tools("a", &["one"]);
    fixture.hub.ensure_known().await;
    fixture.hub.ensure_known().await;
    fixture.clock.advance(spec("a").ttl);
    fixture.hub.ensure_known().await;
    let stats = fixture.hub.stats();
    assert_eq!((stats.hits, stats.misses), (1, 2));
}
