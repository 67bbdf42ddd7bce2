//! A panic, or a system that cannot start another process, fails only the request it happens in.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod fake;

use std::sync::Arc;

use async_trait::async_trait;
use fake::{Behaviour, HubFixture};
use pegboard_catalog::StaticTool;
use pegboard_hub::{CallRequest, RefreshScope, SessionId, ToolHandler};
use pegboard_model::{DiscoveryStatus, Reason, ToolResult};
use pegboard_testkit::server;
use serde_json::value::RawValue;
use serde_json::{Value, json};

fn call(tool: &str) -> CallRequest {
    let arguments = RawValue::from_string("{}".into()).unwrap();
    CallRequest::new(SessionId("test".into()), tool, arguments)
}

fn panicking(place: &'static str) -> Behaviour {
    Behaviour {
        panics_in: place,
        ..Behaviour::with_tools(&["one"])
    }
}

#[tokio::test]
async fn r_sec_01_k11_a_panic_in_a_discovery_fails_that_discovery_alone() {
    for place in ["connect", "list"] {
        let fixture = HubFixture::new(&["a", "b"]).await;
        fixture.servers.set("a", panicking(place));
        fixture.servers.tools("b", &["two"]);
        fixture.hub.ensure_known().await;
        assert_eq!(fixture.tools(), ["b__two"], "{place}");
        let entry = fixture.entry("a");
        assert_eq!(entry.status(), DiscoveryStatus::Failed);
        assert!(!entry.discovering);
        let error = entry.record.last_error.as_ref().unwrap();
        assert_eq!(error.reason, Reason::Internal);
        assert!(error.message.contains("`a`"), "{}", error.message);
        assert!(!error.message.contains("assert"), "{}", error.message);

        fixture.servers.tools("a", &["one"]);
        let outcome = fixture
            .hub
            .refresh(RefreshScope::One(server("a")), true)
            .await;
        outcome.unwrap().remove(0).result.unwrap();
        assert_eq!(fixture.tools(), ["a__one", "b__two"], "{place}");
    }
}

#[tokio::test]
async fn r_sec_01_k11_a_panic_in_a_call_fails_that_call_alone() {
    let fixture = HubFixture::new(&["a"]).await;
    fixture.servers.set("a", panicking("call"));
    fixture.hub.ensure_known().await;
    let error = fixture.hub.call(&call("a__one")).await.unwrap_err();
    assert_eq!(error.reason, Reason::Internal);
    assert!(error.message.contains("a__one"), "{}", error.message);
    fixture.servers.tools("a", &["one"]);
    fixture.hub.call(&call("a__one")).await.unwrap();
}

struct Panics;

#[async_trait]
impl ToolHandler for Panics {
    async fn call(&self, _arguments: Value) -> ToolResult<Value> {
        panic!("with a secret in its text");
    }
}

#[tokio::test]
async fn r_sec_01_k11_a_handler_of_the_host_program_that_panics_is_a_failed_call() {
    let fixture = HubFixture::new(&[]).await;
    let tool = StaticTool::new("own", "Panics.", json!({"type": "object"})).unwrap();
    fixture.hub.register(tool, Arc::new(Panics)).unwrap();
    let error = fixture.hub.call(&call("own")).await.unwrap_err();
    assert_eq!(error.reason, Reason::Internal);
    assert!(!error.message.contains("secret"), "{}", error.message);
}

#[tokio::test]
async fn r_sec_01_b15_a_server_that_the_system_cannot_start_leaves_others_alone() {
    let fixture = HubFixture::new(&["a", "b"]).await;
    fixture
        .servers
        .set("a", Behaviour::failing(Reason::SpawnResource));
    fixture.servers.tools("b", &["two"]);
    let outcomes = fixture.hub.refresh(RefreshScope::All, true).await.unwrap();
    let failed = outcomes[0].result.as_ref().unwrap_err();
    assert_eq!(
        (failed.reason, failed.retryable),
        (Reason::SpawnResource, true)
    );
    assert_eq!(outcomes[1].result.as_ref().unwrap().tools, 1);
    assert_eq!(fixture.tools(), ["b__two"]);
}
