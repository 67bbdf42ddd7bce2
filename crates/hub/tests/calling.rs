//! Routing of calls, and what refuses them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test fails by panicking"
)]

mod fake;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use fake::{Behaviour, HubFixture, spec, wait_for};
use pegboard_catalog::StaticTool;
use pegboard_hub::{ApprovalSettings, CallRequest, HubSettings, RunState, SessionId, ToolHandler};
use pegboard_model::{
    ErrorClass, EventKind, Policy, Reason, ServerName, ToolError, ToolResult, TrustState,
};
use pegboard_testkit::wait_until;
use serde_json::value::RawValue;
use serde_json::{Value, json};

const LONG: Duration = Duration::from_secs(20);

async fn call(fixture: &HubFixture, tool: &str, arguments: &str) -> Result<Value, ToolError> {
    let arguments = RawValue::from_string(arguments.to_owned()).unwrap();
    let session = SessionId("test".into());
    let outcome = fixture
        .hub
        .call(&CallRequest::new(session, tool.to_owned(), arguments))
        .await?;
    Ok(serde_json::from_str(outcome.result.get()).unwrap())
}

async fn text(fixture: &HubFixture, tool: &str, arguments: &str) -> String {
    let result = call(fixture, tool, arguments).await.unwrap();
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn r_reg_06_a_call_reaches_its_server_under_the_original_name() {
    let fixture = HubFixture::new(&["a", "b"]).await;
    fixture.servers.tools("a", &["dotted.name", "same"]);
    fixture.servers.tools("b", &["same", "only"]);
    fixture.hub.ensure_known().await;
    assert_eq!(text(&fixture, "b__same", "{}").await, "b:same:{}");
    assert_eq!(text(&fixture, "a/same", "{}").await, "a:same:{}");
    assert_eq!(text(&fixture, "only", "{}").await, "b:only:{}");
    let alias = fixture
        .tools()
        .into_iter()
        .find(|name| name.contains("dotted"))
        .unwrap();
    assert_ne!(alias, "a__dotted.name");
    assert_eq!(text(&fixture, &alias, "{}").await, "a:dotted.name:{}");
    assert_eq!(
        text(&fixture, "a/dotted.name", "{}").await,
        "a:dotted.name:{}"
    );
    let error = call(&fixture, "same", "{}").await.unwrap_err();
    assert_eq!(error.reason, Reason::ToolAmbiguous);
}

#[tokio::test]
async fn r_sec_12_g15_a_result_that_does_not_match_its_schema_is_flagged_and_delivered() {
    let output =
        json!({"type": "object", "required": ["sum"], "properties": {"sum": {"type": "number"}}});
    let tool = |schema: &Value| json!({"name": "add", "inputSchema": {"type": "object"}, "outputSchema": schema});
    let large = json!({"sum": "x".repeat(1024 * 1024 + 1)});
    for (schema, structured, expected) in [
        (&output, Some(json!({"sum": 3})), None),
        (
            &output,
            Some(json!({"sum": "three"})),
            Some("`/sum` must be"),
        ),
        (&output, Some(json!({})), Some("`/sum` is missing")),
        (&output, Some(json!([3])), Some("it must be")),
        (&output, None, Some("`structuredContent` is missing")),
        (&output, Some(large), None),
    ] {
        let fixture = HubFixture::new(&["a"]).await;
        let behaviour = Behaviour {
            tools: vec![tool(schema)],
            structured: structured.clone(),
            ..Behaviour::default()
        };
        fixture.servers.set("a", behaviour);
        fixture.hub.ensure_known().await;
        let mut events = fixture.hub.subscribe();
        let result = call(&fixture, "a__add", "{}").await.unwrap();
        assert_eq!(result.get("structuredContent"), structured.as_ref());
        let mut flagged = None;
        while let Ok(event) = events.try_recv() {
            if let EventKind::OutputMismatch {
                tool,
                reason,
                error,
                ..
            } = event.kind
            {
                assert_eq!(
                    (tool.as_str(), reason.as_str()),
                    ("a__add", "SCHEMA_OUTPUT_MISMATCH")
                );
                flagged = Some(error);
            }
        }
        match (expected, flagged) {
            (None, None) => {}
            (Some(part), Some(error)) => assert!(error.contains(part), "{error}"),
            (expected, flagged) => panic!("{expected:?}, {flagged:?}"),
        }
    }
}

#[tokio::test]
async fn a_call_starts_exactly_its_server_and_keeps_it() {
    let fixture = HubFixture::new(&["a", "b"]).await;
    fixture.servers.tools("a", &["one"]);
    fixture.servers.tools("b", &["two"]);
    fixture.hub.ensure_known().await;
    fixture.servers.starts.lock().unwrap().clear();
    for _ in 0..10 {
        text(&fixture, "a__one", "{}").await;
    }
    assert_eq!(*fixture.servers.starts.lock().unwrap(), ["a"]);
}

#[tokio::test]
async fn r_reg_05_failures_are_values_with_their_class() {
    let fixture = HubFixture::new(&["a", "broken"]).await;
    fixture.servers.tools("a", &["one"]);
    fixture.servers.tools("broken", &["two"]);
    fixture.hub.ensure_known().await;
    let fail_connect = Some(Reason::SpawnNotFound);
    fixture.servers.set(
        "broken",
        Behaviour {
            fail_connect,
            ..Behaviour::default()
        },
    );
    for (tool, arguments, class, reason) in [
        (
            "a__nope",
            "{}",
            ErrorClass::InvalidInput,
            Reason::ToolUnknown,
        ),
        (
            "__tool",
            "{}",
            ErrorClass::InvalidInput,
            Reason::ToolNameInvalid,
        ),
        (
            "a__one",
            "[1]",
            ErrorClass::InvalidInput,
            Reason::ArgsInvalid,
        ),
        (
            "a__one",
            r#"{"text": 5}"#,
            ErrorClass::InvalidInput,
            Reason::ArgsInvalid,
        ),
        (
            "broken__two",
            "{}",
            ErrorClass::Unavailable,
            Reason::SpawnNotFound,
        ),
    ] {
        let error = call(&fixture, tool, arguments).await.unwrap_err();
        assert_eq!(
            (error.code, error.reason),
            (class, reason),
            "{tool} {arguments}"
        );
        assert!(!error.remedy.is_empty());
    }
    assert!(
        fixture.servers.calls.lock().unwrap().is_empty(),
        "no server saw a bad call"
    );
}

#[tokio::test]
async fn a_call_of_an_undiscovered_server_discovers_it_first() {
    let fixture = HubFixture::new(&["a"]).await;
    fixture.servers.tools("a", &["one"]);
    assert_eq!(text(&fixture, "a__one", "{}").await, "a:one:{}");
}

#[tokio::test]
async fn a_dead_server_is_started_again_by_the_next_call() {
    let fixture = HubFixture::new(&["a"]).await;
    fixture.servers.tools("a", &["one"]);
    fixture.hub.ensure_known().await;
    text(&fixture, "a__one", "{}").await;
    let starts = fixture.servers.started("a");
    fixture.servers.crash("a");
    assert_eq!(text(&fixture, "a__one", "{}").await, "a:one:{}");
    assert_eq!(fixture.servers.started("a"), starts + 1);
}

#[tokio::test]
async fn r_ui_02_a_server_that_ended_by_itself_says_so_until_it_is_started_again() {
    let fixture = HubFixture::new(&["a"]).await;
    fixture.servers.tools("a", &["one"]);
    fixture.hub.ensure_known().await;
    text(&fixture, "a__one", "{}").await;
    let crashed = || fixture.hub.health()[0].crashed_at.is_some();
    assert!(!crashed());
    fixture.servers.crash("a");
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while !crashed() {
        assert!(std::time::Instant::now() < deadline, "it is noticed");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    text(&fixture, "a__one", "{}").await;
    assert!(!crashed(), "it runs again");
}

#[tokio::test]
async fn a_server_that_keeps_failing_is_left_alone() {
    let fixture = HubFixture::new(&["a"]).await;
    fixture.servers.tools("a", &["one"]);
    fixture.hub.ensure_known().await;
    let fail_connect = Some(Reason::ServerExited);
    fixture.servers.set(
        "a",
        Behaviour {
            fail_connect,
            ..Behaviour::default()
        },
    );
    let mut reasons = Vec::new();
    for _ in 0..10 {
        reasons.push(call(&fixture, "a__one", "{}").await.unwrap_err().reason);
    }
    assert_eq!(reasons.last(), Some(&Reason::ServerBackoff), "{reasons:?}");
    assert!(
        fixture.servers.started("a") <= 4,
        "{} starts",
        fixture.servers.started("a")
    );
}

#[tokio::test]
async fn an_idle_server_stops_and_the_next_call_starts_it_again() {
    let mut brief = spec("a");
    brief.timeouts.idle = Duration::from_millis(50);
    let fixture = HubFixture::with(vec![brief], HubSettings::default()).await;
    fixture.servers.tools("a", &["one"]);
    let mut events = fixture.hub.subscribe();
    text(&fixture, "a__one", "{}").await;
    let is_idle =
        |kind: &EventKind| matches!(kind, EventKind::ServerStopped { why, .. } if why == "idle");
    wait_for(&mut events, is_idle).await;
    assert!(!fixture.servers.is_running("a"));
    text(&fixture, "a__one", "{}").await;
}

#[tokio::test]
async fn a_call_renews_a_stale_list_while_its_server_runs() {
    let fixture = HubFixture::new(&["a"]).await;
    fixture.servers.tools("a", &["one"]);
    fixture.hub.ensure_known().await;
    fixture.clock.advance(Duration::from_secs(3600));
    fixture.servers.tools("a", &["one", "two"]);
    text(&fixture, "a__one", "{}").await;
    wait_until("the list is renewed", LONG, || fixture.tools().len() == 2).await;
}

#[tokio::test]
async fn pending_disabled_and_denied_are_refused_before_anything_starts() {
    let mut pending = spec("pending");
    pending.trust_state = TrustState::Pending;
    let mut disabled = spec("disabled");
    disabled.enabled = false;
    let mut guarded = spec("guarded");
    guarded.policies.insert("no_*".into(), Policy::Deny);
    guarded.policies.insert("hidden".into(), Policy::Disable);
    guarded.policies.insert("asks".into(), Policy::Ask);
    let settings = HubSettings {
        asking: ApprovalSettings {
            timeout: Duration::ZERO,
            ..ApprovalSettings::default()
        },
        ..HubSettings::default()
    };
    let fixture = HubFixture::with(vec![pending, disabled, guarded], settings).await;
    fixture
        .servers
        .tools("guarded", &["no_way", "hidden", "asks", "yes"]);
    fixture.hub.ensure_known().await;
    assert_eq!(*fixture.servers.starts.lock().unwrap(), ["guarded"]);
    for (tool, reason) in [
        ("pending__x", Reason::ServerPending),
        ("disabled__x", Reason::ServerDisabled),
        ("guarded__no_way", Reason::PolicyDenied),
        ("guarded__hidden", Reason::ToolDisabled),
        ("guarded__asks", Reason::PolicyDenied),
    ] {
        let error = call(&fixture, tool, "{}").await.unwrap_err();
        assert_eq!(
            (error.reason, error.code),
            (reason, ErrorClass::Denied),
            "{tool}"
        );
    }
    assert!(!fixture.tools().contains(&"guarded__hidden".to_owned()));
    assert_eq!(text(&fixture, "guarded__yes", "{}").await, "guarded:yes:{}");
}

struct Greeter;

#[async_trait]
impl ToolHandler for Greeter {
    async fn call(&self, arguments: Value) -> ToolResult<Value> {
        Ok(json!({ "hello": arguments["name"] }))
    }
}

#[tokio::test]
async fn r_reg_01_r_reg_03_a_static_tool_is_registered_called_and_wins() {
    let fixture = HubFixture::new(&["a"]).await;
    fixture.servers.tools("a", &["greet", "other"]);
    fixture.hub.ensure_known().await;
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    let tool = StaticTool::new("a__greet", "Greets a person.", schema).unwrap();
    fixture.hub.register(tool, Arc::new(Greeter)).unwrap();
    assert_eq!(fixture.tools(), ["a__greet", "a__other"]);
    let result = call(&fixture, "a__greet", r#"{"name": "Ada"}"#)
        .await
        .unwrap();
    assert_eq!(result["structuredContent"], json!({"hello": "Ada"}));
    let error = call(&fixture, "a__greet", r#"{"name": 5}"#)
        .await
        .unwrap_err();
    assert_eq!(
        error.reason,
        Reason::ArgsInvalid,
        "its handler may rely on it"
    );
    assert!(fixture.servers.calls.lock().unwrap().is_empty());
    assert_eq!(
        fixture.hub.catalog().conflicts().len(),
        1,
        "the catalog says what was left out"
    );
}

#[tokio::test]
async fn r_obs_04_health_reports_each_servers_state() {
    let fixture = HubFixture::new(&["a", "b", "c"]).await;
    fixture.servers.tools("a", &["one"]);
    let fail_connect = Some(Reason::SpawnDenied);
    fixture.servers.set(
        "b",
        Behaviour {
            fail_connect,
            ..Behaviour::default()
        },
    );
    fixture.hub.ensure_known().await;
    text(&fixture, "a__one", "{}").await;
    let health = fixture.hub.health();
    let states: Vec<_> = health
        .iter()
        .map(|h| (h.server.as_str(), h.state))
        .collect();
    assert_eq!(
        states,
        [
            ("a", RunState::Running),
            ("b", RunState::Configured),
            ("c", RunState::Known)
        ]
    );
    assert_eq!(health[0].connection.as_ref().unwrap().pid, Some(7));
    assert_eq!(health[1].failures, 1);
    assert_eq!(
        health[1].last_error.as_ref().unwrap().reason,
        Reason::SpawnDenied
    );
}

#[tokio::test]
async fn r_sec_04_shutdown_stops_everything() {
    let fixture = HubFixture::new(&["a", "b"]).await;
    fixture.servers.tools("a", &["one"]);
    fixture.servers.set(
        "b",
        Behaviour {
            hang: true,
            ..Behaviour::default()
        },
    );
    text(&fixture, "a__one", "{}").await;
    fixture.hub.session_started();
    fixture.hub.shutdown().await;
    assert!(!fixture.servers.is_running("a") && !fixture.servers.is_running("b"));
}

#[tokio::test]
async fn r_sec_04_a_server_that_is_released_has_ended_when_a_shutdown_has() {
    let fixture = HubFixture::new(&["a", "b"]).await;
    fixture.servers.tools("a", &["one"]);
    fixture.servers.tools("b", &["two"]);
    text(&fixture, "a__one", "{}").await;
    text(&fixture, "b__two", "{}").await;
    fixture.hub.release(&ServerName::parse("a").unwrap());
    fixture.hub.release(&ServerName::parse("missing").unwrap());
    wait_until("`a` has ended", LONG, || !fixture.servers.is_running("a")).await;
    assert!(fixture.servers.is_running("b"));
    fixture.hub.release(&ServerName::parse("b").unwrap());
    fixture.hub.shutdown().await;
    assert!(!fixture.servers.is_running("b"));
}

#[tokio::test]
async fn r_ui_02_a_call_whose_server_died_reports_that_its_effect_is_unknown() {
    let fixture = HubFixture::new(&["a"]).await;
    let tool = |name: &str, hints: Value| {
        let schema = json!({"type": "object"});
        json!({"name": name, "inputSchema": schema, "annotations": hints})
    };
    let crashing = Behaviour {
        tools: vec![
            tool("delete", json!({"destructiveHint": true})),
            tool("read", json!({"readOnlyHint": true})),
        ],
        crash_on_call: true,
        ..Behaviour::default()
    };
    fixture.servers.set("a", crashing);
    fixture.hub.ensure_known().await;
    let read = call(&fixture, "a__read", "{}").await.unwrap_err();
    assert!(!read.message.contains("effect"), "{read}");
    fixture
        .hub
        .refresh(pegboard_hub::RefreshScope::All, true)
        .await
        .unwrap();
    let error = call(&fixture, "a__delete", "{}").await.unwrap_err();
    assert_eq!(error.reason, Reason::ServerExited);
    let unknown = "it is unknown whether this call had an effect: ";
    assert!(error.message.starts_with(unknown), "{error}");
}
