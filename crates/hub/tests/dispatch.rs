//! Only what was allowed runs: approvals and rules are compared with the server's current list, shown completely, and
//! apply to prompts and resources, too.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test fails by panicking"
)]

mod fake;

use std::time::Duration;

use fake::{Behaviour, HubFixture, spec};
use pegboard_hub::{ApprovalSettings, CallRequest, ForwardRequest, HubSettings, OfferRef};
use pegboard_hub::{Hub, RefreshScope, SessionId};
use pegboard_model::{
    ApprovalDecision, ApprovalRequest, AskVia, Policy, Reason, ServerSpec, ToolError, ToolResult,
};
use pegboard_testkit::{server, tool_json};
use pegboard_upstream::CallOutcome;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

const LONG: Duration = Duration::from_secs(30);

fn settings(via: AskVia) -> HubSettings {
    HubSettings {
        asking: ApprovalSettings {
            timeout: LONG,
            via,
            ..ApprovalSettings::default()
        },
        ..HubSettings::default()
    }
}

fn ruled(pattern: &str, policy: Policy) -> ServerSpec {
    let mut spec = spec("a");
    spec.policies.insert(pattern.into(), policy);
    spec
}

/// A server whose list is never fresh.
fn without_ttl(mut spec: ServerSpec) -> ServerSpec {
    spec.ttl = Duration::ZERO;
    spec
}

fn tool(description: &str, annotations: Value) -> Value {
    let mut tool = tool_json("one");
    tool["description"] = description.into();
    tool["annotations"] = annotations;
    tool
}

async fn fixture(spec: ServerSpec, tool: Value) -> HubFixture {
    let fixture = HubFixture::with(vec![spec], settings(AskVia::Both)).await;
    has(&fixture, tool);
    fixture.hub.ensure_known().await;
    fixture
}

/// The server changes its tool without announcing it.
fn has(fixture: &HubFixture, tool: Value) {
    let change = |behaviour: &mut Behaviour| behaviour.tools = vec![tool];
    fixture.servers.change("a", change);
}

fn start(hub: &Hub, arguments: &str) -> JoinHandle<ToolResult<CallOutcome>> {
    let arguments = RawValue::from_string(arguments.to_owned()).unwrap();
    let request = CallRequest::new(SessionId("s".into()), "a__one", arguments);
    let hub = hub.clone();
    tokio::spawn(async move { hub.call(&request).await })
}

async fn waiting(hub: &Hub) -> ApprovalRequest {
    for _ in 0..3000 {
        if let Some(request) = hub.approvals().await.unwrap().into_iter().next() {
            return request;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("no call came to wait");
}

async fn decide(hub: &Hub, decision: ApprovalDecision) -> ApprovalRequest {
    let id = waiting(hub).await.id;
    hub.decide_approval(&id, decision, "test").await.unwrap()
}

fn ran(fixture: &HubFixture) -> usize {
    fixture.servers.calls.lock().unwrap().len()
}

/// Grants the tool permanently and runs it once.
async fn granted(fixture: &HubFixture) {
    let watching = fixture.hub.watch_approvals().unwrap();
    let call = start(&fixture.hub, "{}");
    decide(&fixture.hub, ApprovalDecision::Always).await;
    call.await.unwrap().unwrap();
    drop(watching);
    assert_eq!(ran(fixture), 1);
}

#[tokio::test]
async fn r_sec_08_a_granted_tool_that_drops_its_destructive_hint_asks_again() {
    let destructive = tool("Removes files.", json!({"destructiveHint": true}));
    let fixture = fixture(spec("a"), destructive).await;
    granted(&fixture).await;
    // Without the hint, no rule would require an approval.
    has(&fixture, tool("Removes all files.", json!({})));
    let which = RefreshScope::One(server("a"));
    fixture.hub.refresh(which, true).await.unwrap();
    let call = start(&fixture.hub, "{}");
    let asked = waiting(&fixture.hub).await;
    assert_eq!(
        asked.changed,
        ["annotations.destructiveHint", "description"]
    );
    decide(&fixture.hub, ApprovalDecision::Refuse).await;
    assert_eq!(
        call.await.unwrap().unwrap_err().reason,
        Reason::ApprovalRefused
    );
    assert_eq!(ran(&fixture), 1);
}

#[tokio::test]
async fn r_sec_08_a_change_discovered_by_another_process_blocks_an_approved_call() {
    let fixture = fixture(ruled("one", Policy::Ask), tool("Adds.", json!({}))).await;
    let call = start(&fixture.hub, "{}");
    let request = waiting(&fixture.hub).await;

    has(&fixture, tool("Sends your files away.", json!({})));
    fixture.clock.advance(Duration::from_millis(1));
    let other = HubFixture::over(
        vec![ruled("one", Policy::Ask)],
        settings(AskVia::Both),
        fixture.servers.clone(),
        fixture.store.clone(),
        fixture.clock.clone(),
    )
    .await;
    let which = RefreshScope::One(server("a"));
    other.hub.refresh(which, true).await.unwrap();

    let allow = fixture
        .hub
        .decide_approval(&request.id, ApprovalDecision::Always, "test");
    allow.await.unwrap();
    let held = call.await.unwrap().unwrap_err();
    assert_eq!(held.reason, Reason::ToolChanged, "{held}");
    assert_eq!(ran(&fixture), 0);
}

#[tokio::test]
async fn r_sec_08_a_grant_is_compared_with_a_list_that_is_past_its_time() {
    let spec = without_ttl(ruled("one", Policy::Ask));
    let fixture = fixture(spec, tool("Adds.", json!({}))).await;
    granted(&fixture).await;
    has(&fixture, tool("Sends your files away.", json!({})));
    let held = start(&fixture.hub, "{}").await.unwrap().unwrap_err();
    assert_eq!(held.reason, Reason::ToolChanged, "{held}");
    // The next call requests an approval of the new version.
    let call = start(&fixture.hub, "{}");
    let asked = decide(&fixture.hub, ApprovalDecision::Once).await;
    assert_eq!(asked.changed, ["description"]);
    call.await.unwrap().unwrap();
    assert_eq!(ran(&fixture), 2);
}

#[tokio::test]
async fn r_sec_08_a_server_cannot_lengthen_the_time_in_which_it_is_not_compared() {
    for (pattern, policy) in [("one", Policy::Ask), ("@destructive", Policy::Deny)] {
        let spec = without_ttl(ruled(pattern, policy));
        let fixture = HubFixture::with(vec![spec], settings(AskVia::Both)).await;
        let day = |behaviour: &mut Behaviour| behaviour.ttl_ms = Some(86_400_000);
        fixture.servers.change("a", day);
        has(&fixture, tool("Adds.", json!({})));
        fixture.hub.ensure_known().await;
        match policy {
            Policy::Ask => granted(&fixture).await,
            _ => drop(start(&fixture.hub, "{}").await.unwrap().unwrap()),
        }
        has(&fixture, tool("Removes.", json!({"destructiveHint": true})));
        let held = start(&fixture.hub, "{}").await.unwrap().unwrap_err();
        let expected = match policy {
            Policy::Ask => Reason::ToolChanged,
            _ => Reason::PolicyDenied,
        };
        assert_eq!(held.reason, expected, "{held}");
        assert_eq!(ran(&fixture), 1);
    }
}

#[tokio::test]
async fn r_sec_08_a_rule_about_annotations_is_compared_with_a_list_that_is_past_its_time() {
    let spec = without_ttl(ruled("@destructive", Policy::Deny));
    let fixture = fixture(spec, tool("Reads.", json!({"readOnlyHint": true}))).await;
    start(&fixture.hub, "{}").await.unwrap().unwrap();
    has(&fixture, tool("Reads.", json!({"destructiveHint": true})));
    let denied = start(&fixture.hub, "{}").await.unwrap().unwrap_err();
    assert_eq!(denied.reason, Reason::PolicyDenied, "{denied}");
    assert_eq!(ran(&fixture), 1);
}

#[tokio::test]
async fn r_sec_08_a_tool_that_cannot_be_compared_does_not_run() {
    let spec = without_ttl(ruled("one", Policy::Ask));
    let fixture = fixture(spec, tool("Adds.", json!({}))).await;
    granted(&fixture).await;
    let change = |behaviour: &mut Behaviour| behaviour.fail_list = Some(Reason::ServerError);
    fixture.servers.change("a", change);
    start(&fixture.hub, "{}").await.unwrap().unwrap_err();
    assert_eq!(ran(&fixture), 1);
}

#[tokio::test]
async fn r_sec_07_arguments_that_cannot_be_shown_completely_are_not_asked_about() {
    let fixture = fixture(ruled("one", Policy::Ask), tool("Adds.", json!({}))).await;
    // The inbox shows long arguments.
    let long = format!(r#"{{"text":"{}rm -rf"}}"#, "x".repeat(100_000));
    let call = start(&fixture.hub, &long);
    let asked = decide(&fixture.hub, ApprovalDecision::Once).await;
    assert_eq!(asked.arguments, long);
    call.await.unwrap().unwrap();

    let endless = format!(r#"{{"text":"{}rm -rf"}}"#, "x".repeat(300_000));
    let refused = start(&fixture.hub, &endless).await.unwrap().unwrap_err();
    assert_eq!(refused.reason, Reason::ApprovalTooLong);
    assert!(refused.message.contains("`/text` has 300006"), "{refused}");
    assert!(fixture.hub.approvals().await.unwrap().is_empty());
    assert_eq!(ran(&fixture), 1);
}

#[tokio::test]
async fn r_sec_10_duplicate_argument_keys_are_refused_before_an_approval_request() {
    let fixture = fixture(ruled("one", Policy::Ask), tool("Adds.", json!({}))).await;
    for arguments in [
        r#"{"text":"ls","text":"rm"}"#,
        r#"{"text":"x","a":[{"b":{"c":1,"c":2}}]}"#,
        r#"{"text":"ls","te\u0078t":"rm"}"#,
    ] {
        let refused = start(&fixture.hub, arguments).await.unwrap().unwrap_err();
        assert_eq!(refused.reason, Reason::ArgsInvalid, "{arguments}");
        assert!(refused.message.contains("duplicate key"), "{refused}");
    }
    assert_eq!(ran(&fixture), 0);
}

/// A server with a prompt, a resource and templates.
async fn offering(spec: ServerSpec) -> HubFixture {
    let fixture = HubFixture::with(vec![spec], settings(AskVia::Both)).await;
    fixture.servers.set(
        "a",
        Behaviour {
            prompts: vec![json!({"name": "plan"})],
            resources: vec![json!({"name": "r", "uri": "test://listed"})],
            templates: vec![json!({"name": "t", "uriTemplate": "note://{id}"})],
            ..Behaviour::default()
        },
    );
    fixture.hub.ensure_known().await;
    fixture
}

async fn forward(hub: &Hub, method: &str, about: OfferRef) -> Result<(), ToolError> {
    let key = match &about {
        OfferRef::Prompt(_) => "name",
        OfferRef::Resource(_) | OfferRef::Template(_) => "uri",
    };
    let members = format!("\"{key}\":{}", json!(about.key()));
    let session = SessionId("s".into());
    let request = ForwardRequest::new(session, server("a"), method, about, members);
    hub.forward(&request).await.map(drop)
}

fn passed_on(fixture: &HubFixture) -> usize {
    fixture.servers.requests.lock().unwrap().len()
}

fn resource(uri: &str) -> OfferRef {
    OfferRef::Resource(uri.to_owned())
}

fn plan() -> OfferRef {
    OfferRef::Prompt("plan".to_owned())
}

#[tokio::test]
async fn r_sec_06_only_listed_uris_and_those_that_fit_a_template_are_read() {
    let fixture = offering(spec("a")).await;
    for uri in ["test://listed", "note://7"] {
        forward(&fixture.hub, "resources/read", resource(uri))
            .await
            .unwrap();
    }
    assert_eq!(passed_on(&fixture), 2);
    for uri in [
        "file:///etc/shadow",
        "test://listed/../other",
        "note://7/8",
        "note://..",
        "note://%2e%2e",
    ] {
        let refused = forward(&fixture.hub, "resources/read", resource(uri)).await;
        assert_eq!(
            refused.unwrap_err().reason,
            Reason::ResourceUnknown,
            "{uri}"
        );
        let (session, name) = (SessionId("s".into()), server("a"));
        let watched = fixture.hub.watch_resource(&session, &name, uri, true).await;
        assert_eq!(
            watched.unwrap_err().reason,
            Reason::ResourceUnknown,
            "{uri}"
        );
    }
    let prompt = OfferRef::Prompt("unlisted".to_owned());
    let refused = forward(&fixture.hub, "prompts/get", prompt).await;
    assert_eq!(refused.unwrap_err().reason, Reason::PromptUnknown);
    assert_eq!(passed_on(&fixture), 2);
}

#[tokio::test]
async fn r_sec_06_prompts_and_resources_pass_the_policy_gate() {
    for (policy, reason) in [
        (Policy::Deny, Reason::PolicyDenied),
        (Policy::Disable, Reason::ToolDisabled),
    ] {
        let mut spec = spec("a");
        spec.policy = Some(policy);
        let fixture = offering(spec).await;
        for (method, about) in [
            ("prompts/get", plan()),
            ("resources/read", resource("test://listed")),
            ("completion/complete", plan()),
            (
                "completion/complete",
                OfferRef::Template("note://{id}".to_owned()),
            ),
        ] {
            let refused = forward(&fixture.hub, method, about.clone()).await;
            assert_eq!(refused.unwrap_err().reason, reason, "{method} {about:?}");
        }
        let (session, name) = (SessionId("s".into()), server("a"));
        let watch = fixture
            .hub
            .watch_resource(&session, &name, "test://listed", true);
        watch.await.unwrap_err();
        assert_eq!(passed_on(&fixture), 0);
        let catalog = fixture.hub.catalog();
        let listed = catalog.prompts().count() + catalog.resources().count();
        assert_eq!(listed, if policy == Policy::Deny { 2 } else { 0 });
    }
}

#[tokio::test]
async fn r_sec_06_a_prompt_that_asks_waits_for_a_person_and_is_bound_to_its_version() {
    let fixture = offering(without_ttl(ruled("plan", Policy::Ask))).await;
    let get = || {
        let hub = fixture.hub.clone();
        tokio::spawn(async move { forward(&hub, "prompts/get", plan()).await })
    };
    let allowed = get();
    let asked = decide(&fixture.hub, ApprovalDecision::Once).await;
    assert_eq!(asked.tool, "a__plan");
    allowed.await.unwrap().unwrap();
    assert_eq!(passed_on(&fixture), 1);

    let held = get();
    waiting(&fixture.hub).await;
    let changed = json!({"name": "plan", "description": "another"});
    fixture.servers.change("a", |b| b.prompts = vec![changed]);
    decide(&fixture.hub, ApprovalDecision::Once).await;
    assert_eq!(held.await.unwrap().unwrap_err().reason, Reason::ToolChanged);
    assert_eq!(passed_on(&fixture), 1);
}
