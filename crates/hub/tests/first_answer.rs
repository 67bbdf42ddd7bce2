//! What a first discovery waits for, and what of its result is stored.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod fake;

use std::time::Duration;

use fake::{Behaviour, HubFixture, spec};
use pegboard_hub::{HubSettings, RefreshScope};
use pegboard_model::{Limits, Reason, ServerSpec};
use pegboard_testkit::{server, stdio_spec, tool_json};
use serde_json::{Value, json};
use tokio::time::Instant;

/// A server that a package runner starts, and that hangs.
async fn hanging_runner(runner: &str, change: impl FnOnce(&mut ServerSpec)) -> HubFixture {
    let mut spec = stdio_spec("a", runner, ["-y", "package@1.0.0"]);
    change(&mut spec);
    let fixture = HubFixture::with(vec![spec], HubSettings::default()).await;
    fixture.servers.set("a", Behaviour::hanging());
    fixture
}

/// How long a forced refresh takes until it fails with a timeout.
async fn waited(fixture: &HubFixture) -> Duration {
    let started = Instant::now();
    let outcomes = fixture
        .hub
        .refresh(RefreshScope::One(server("a")), true)
        .await;
    let error = outcomes.unwrap().remove(0).result.unwrap_err();
    assert_eq!(error.reason, Reason::DiscoveryTimeout);
    started.elapsed()
}

#[tokio::test(start_paused = true)]
async fn r_disc_13_a_package_runner_may_download_before_its_first_list_and_not_later() {
    const MINUTE: Duration = Duration::from_secs(60);
    for runner in ["npx", "uvx", "/usr/local/bin/npx"] {
        let fixture = hanging_runner(runner, |_| {}).await;
        let wait = waited(&fixture).await;
        assert!(
            wait >= 2 * MINUTE && wait < 3 * MINUTE,
            "{runner}: {wait:?}"
        );
        // A download that takes longer than the usual timeout succeeds.
        let refresh = fixture.hub.refresh(RefreshScope::One(server("a")), true);
        let download = async {
            tokio::time::sleep(MINUTE).await;
            fixture.servers.tools("a", &["one"]);
        };
        let (outcomes, ()) = tokio::join!(refresh, download);
        let refreshed = outcomes.unwrap().remove(0).result.unwrap();
        assert_eq!(refreshed.tools, 1, "{runner}");
        // It is installed now, so the usual timeout applies.
        fixture.servers.set("a", Behaviour::hanging());
        assert!(waited(&fixture).await < MINUTE, "{runner}");
        assert_eq!(fixture.tools(), ["a__one"], "what was known stays");
    }
    let configured = |spec: &mut ServerSpec| spec.timeouts.discovery = Duration::from_secs(7);
    let fixture = hanging_runner("npx", configured).await;
    let wait = waited(&fixture).await;
    assert!(wait < Duration::from_secs(8), "a configured timeout counts");
}

fn with_schema(name: &str, schema: Value) -> Value {
    json!({"name": name, "inputSchema": schema})
}

/// A schema with this many levels.
fn nested(levels: usize) -> Value {
    (1..levels).fold(
        json!({"type": "object"}),
        |inner, _| json!({"type": "object", "properties": {"x": inner}}),
    )
}

#[tokio::test]
async fn r_store_03_only_sound_schemas_of_limited_size_are_stored() {
    let limits = Limits::default();
    let rejected = [
        (with_schema("array", json!([])), Reason::SchemaInvalid),
        (
            with_schema("text", json!({"type": "string"})),
            Reason::SchemaInvalid,
        ),
        (
            with_schema("remote", json!({"$ref": "https://example.com/schema.json"})),
            Reason::SchemaExternalRef,
        ),
        (
            with_schema(
                "file",
                json!({"properties": {"x": {"$ref": "file:///etc/passwd"}}}),
            ),
            Reason::SchemaExternalRef,
        ),
        (
            with_schema("dangling", json!({"$ref": "#/$defs/none"})),
            Reason::SchemaInvalid,
        ),
        (with_schema("deep", nested(40)), Reason::SchemaTooDeep),
        (
            with_schema("wide", json!({"enum": vec![1; limits.schema_nodes + 1]})),
            Reason::SchemaTooLarge,
        ),
        (
            with_schema(
                "long",
                json!({"description": "x".repeat(limits.schema_bytes + 1)}),
            ),
            Reason::SchemaTooLarge,
        ),
        (
            json!({"name": "huge", "description": "x".repeat(limits.tool_bytes + 1)}),
            Reason::ToolTooLarge,
        ),
    ];
    let tools = rejected.iter().map(|(tool, _)| tool.clone());
    let tools = tools.chain([
        tool_json("good"),
        with_schema("recursive", json!({"properties": {"x": {"$ref": "#"}}})),
    ]);
    let fixture = HubFixture::new(&["a"]).await;
    let behaviour = Behaviour {
        tools: tools.collect(),
        ..Behaviour::default()
    };
    fixture.servers.set("a", behaviour);
    fixture.hub.ensure_known().await;
    fixture.hub.shutdown().await;

    let spec = spec("a");
    let record = fixture.store.load_server(&spec.name, &spec.hash).await;
    let record = record.unwrap().expect("the discovery was stored");
    let kept: Vec<&str> = record.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(kept, ["good", "recursive"]);
    let reasons: Vec<_> = record
        .rejections
        .iter()
        .map(|rejection| (rejection.tool.as_str(), rejection.reason))
        .collect();
    let expected: Vec<_> = rejected
        .iter()
        .map(|(tool, reason)| (tool["name"].as_str().unwrap(), *reason))
        .collect();
    assert_eq!(reasons, expected);
    // Of a rejected definition only the name is stored.
    let details: usize = record.rejections.iter().map(|one| one.detail.len()).sum();
    assert!(details < 10_000, "{details}");
    for tool in &*record.tools {
        assert!(tool.definition.len() <= limits.tool_bytes);
    }
    // A restart gives the same without contacting the server.
    let again = fixture.reopened(vec![spec]).await;
    assert_eq!(again.tools(), ["a__good", "a__recursive"]);
    assert_eq!(again.entry("a").record.rejections, record.rejections);
    assert_eq!(again.servers.started("a"), 0);
}
