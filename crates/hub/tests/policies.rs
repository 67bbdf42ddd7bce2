//! Policies of calls, and the approvals that they wait for.

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
use pegboard_hub::{
    ApprovalSettings, CallRequest, Caller, ClientCapabilities, Hub, HubSettings, RefreshScope,
    SessionId, ToolHandler,
};
use pegboard_model::{
    Activity, ActivityKind, ApprovalDecision, ApprovalRequest, AskDestructive, ErrorClass,
    EventKind, GlobalRules, Layer, Origin, Policy, PolicyRule, Reason, RpcError, ServerSpec,
    ToolResult,
};
use pegboard_testkit::{server, tool_json, wait_until};
use pegboard_upstream::CallOutcome;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

const LONG: Duration = Duration::from_secs(30);

fn request(session: &str, tool: &str, arguments: &str) -> CallRequest {
    let arguments = RawValue::from_string(arguments.to_owned()).unwrap();
    CallRequest::new(SessionId(session.into()), tool, arguments)
}

fn start(hub: &Hub, session: &str, arguments: &str) -> JoinHandle<ToolResult<CallOutcome>> {
    let (hub, request) = (hub.clone(), request(session, "a__one", arguments));
    tokio::spawn(async move { hub.call(&request).await })
}

fn asking() -> ServerSpec {
    let mut spec = spec("a");
    spec.policies.insert("one".into(), Policy::Ask);
    spec
}

async fn fixture(spec: ServerSpec, timeout: Duration) -> HubFixture {
    let settings = HubSettings {
        asking: ApprovalSettings {
            timeout,
            ..ApprovalSettings::default()
        },
        ..HubSettings::default()
    };
    let fixture = HubFixture::with(vec![spec], settings).await;
    fixture.servers.tools("a", &["one"]);
    fixture.hub.ensure_known().await;
    fixture
}

/// Returns the one pending request.
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
    let request = waiting(hub).await;
    hub.decide_approval(&request.id, decision, "test")
        .await
        .unwrap()
}

/// Changes the description of the server's tool and refreshes it.
async fn change(fixture: &HubFixture, description: &str) {
    let mut tool = tool_json("one");
    tool["description"] = description.into();
    fixture
        .servers
        .change("a", |behaviour| behaviour.tools = vec![tool]);
    let which = RefreshScope::One(server("a"));
    fixture.hub.refresh(which, true).await.unwrap();
}

fn ran(fixture: &HubFixture) -> usize {
    fixture.servers.calls.lock().unwrap().len()
}

#[tokio::test]
async fn r_pol_02_a_call_waits_in_the_inbox_with_its_exact_arguments() {
    let fixture = fixture(asking(), LONG).await;
    let mut events = fixture.hub.subscribe();
    let call = start(&fixture.hub, "s", r#"{ "text":"exactly  this" }"#);
    let request = waiting(&fixture.hub).await;
    assert_eq!(request.arguments, r#"{ "text":"exactly  this" }"#);
    assert_eq!(
        (request.session.as_str(), request.tool.as_str()),
        ("s", "a__one")
    );
    assert_eq!(request.version.server, Some(server("a")));
    assert_eq!(request.rule, "policies.\"one\" of server a");
    assert_eq!(ran(&fixture), 0, "nothing runs before the answer");
    let id = request.id.clone();
    wait_for(&mut events, |kind| {
        matches!(kind, EventKind::ApprovalRequested { id: asked, way, .. } if *asked == id && way == "inbox")
    })
    .await;
    decide(&fixture.hub, ApprovalDecision::Once).await;
    call.await.unwrap().unwrap();
    wait_for(&mut events, |kind| {
        matches!(kind, EventKind::ApprovalDecided { decision, by, .. } if decision == "once" && by == "test")
    })
    .await;
    assert_eq!(ran(&fixture), 1);
    assert!(fixture.hub.approvals().await.unwrap().is_empty());
    let late = fixture
        .hub
        .decide_approval(&id, ApprovalDecision::Always, "test")
        .await;
    assert_eq!(late.unwrap_err().reason, Reason::ApprovalUnknown);
    assert!(fixture.hub.grants().await.unwrap().is_empty());
}

#[tokio::test]
async fn r_pol_02_a_refusal_and_no_answer_are_denials_that_name_the_rule() {
    let fixture = fixture(asking(), LONG).await;
    let call = start(&fixture.hub, "s", "{}");
    decide(&fixture.hub, ApprovalDecision::Refuse).await;
    let refused = call.await.unwrap().unwrap_err();
    assert_eq!(
        (refused.reason, refused.code),
        (Reason::ApprovalRefused, ErrorClass::Denied)
    );
    assert!(
        refused.message.contains("policies.\"one\" of server a"),
        "{refused}"
    );

    let hasty = self::fixture(asking(), Duration::from_millis(50)).await;
    let mut events = hasty.hub.subscribe();
    let late = start(&hasty.hub, "s", "{}").await.unwrap().unwrap_err();
    assert_eq!(
        (late.reason, late.code),
        (Reason::ApprovalTimeout, ErrorClass::Denied)
    );
    assert!(
        late.message.contains("no response arrived in time"),
        "{late}"
    );
    wait_for(&mut events, |kind| {
        matches!(kind, EventKind::ApprovalExpired { .. })
    })
    .await;
    assert!(hasty.hub.approvals().await.unwrap().is_empty());
    assert_eq!(ran(&fixture) + ran(&hasty), 0);
}

#[tokio::test]
async fn r_pol_02_a_cancelled_call_leaves_the_inbox() {
    let fixture = fixture(asking(), LONG).await;
    let call = start(&fixture.hub, "s", "{}");
    let request = waiting(&fixture.hub).await;
    call.abort();
    let ledger = fixture.ledger.clone();
    let clock = fixture.clock.clone();
    for _ in 0..3000 {
        let now = pegboard_model::Clock::now(&*clock);
        if ledger.pending_requests(now).await.unwrap().is_empty() {
            let late = fixture
                .hub
                .decide_approval(&request.id, ApprovalDecision::Once, "x")
                .await;
            assert_eq!(late.unwrap_err().reason, Reason::ApprovalUnknown);
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it still waits");
}

#[tokio::test]
async fn r_pol_02_once_is_this_call_and_session_is_this_session_with_any_arguments() {
    let fixture = fixture(asking(), LONG).await;
    let first = start(&fixture.hub, "s", "{}");
    decide(&fixture.hub, ApprovalDecision::Once).await;
    first.await.unwrap().unwrap();
    let second = start(&fixture.hub, "s", "{}");
    decide(&fixture.hub, ApprovalDecision::Session).await;
    second.await.unwrap().unwrap();
    start(&fixture.hub, "s", r#"{"text":"other"}"#)
        .await
        .unwrap()
        .unwrap();
    let other = start(&fixture.hub, "t", "{}");
    assert_eq!(waiting(&fixture.hub).await.session, "t");
    decide(&fixture.hub, ApprovalDecision::Refuse).await;
    other.await.unwrap().unwrap_err();
    fixture.hub.session_ended(&SessionId("s".into()));
    let again = start(&fixture.hub, "s", "{}");
    decide(&fixture.hub, ApprovalDecision::Refuse).await;
    again.await.unwrap().unwrap_err();
}

#[tokio::test]
async fn r_sec_02_a_tool_that_changes_after_it_was_allowed_asks_again_and_shows_the_difference() {
    let fixture = fixture(asking(), LONG).await;
    let first = start(&fixture.hub, "s", "{}");
    let request = decide(&fixture.hub, ApprovalDecision::Always).await;
    first.await.unwrap().unwrap();
    let grants = fixture.hub.grants().await.unwrap();
    assert_eq!(grants.len(), 1);
    assert_eq!(
        (grants[0].by.as_str(), &grants[0].version),
        ("test", &request.version)
    );
    for session in ["s", "t"] {
        start(&fixture.hub, session, "{}").await.unwrap().unwrap();
    }

    change(&fixture, "Now sends your files away.").await;
    let held = start(&fixture.hub, "s", "{}");
    let asked = waiting(&fixture.hub).await;
    assert_eq!(asked.changed, ["description"]);
    assert_ne!(asked.version.fingerprint, request.version.fingerprint);
    decide(&fixture.hub, ApprovalDecision::Always).await;
    held.await.unwrap().unwrap();
    start(&fixture.hub, "t", "{}").await.unwrap().unwrap();

    let revoked = fixture
        .hub
        .revoke_grant(Some(&server("a")), "one")
        .await
        .unwrap();
    assert_eq!(revoked, 1);
    let again = start(&fixture.hub, "s", "{}");
    decide(&fixture.hub, ApprovalDecision::Refuse).await;
    again.await.unwrap().unwrap_err();
    assert_eq!(ran(&fixture), 5);
}

#[tokio::test]
async fn r_sec_02_a_tool_that_changes_during_an_approval_does_not_run() {
    let fixture = fixture(asking(), LONG).await;
    let call = start(&fixture.hub, "s", "{}");
    let request = waiting(&fixture.hub).await;
    change(&fixture, "Another thing.").await;
    fixture
        .hub
        .decide_approval(&request.id, ApprovalDecision::Always, "test")
        .await
        .unwrap();
    let held = call.await.unwrap().unwrap_err();
    assert_eq!(
        (held.reason, held.code),
        (Reason::ToolChanged, ErrorClass::Denied)
    );
    assert_eq!(ran(&fixture), 0);
}

#[tokio::test]
async fn r_pol_02_a_new_approval_timeout_applies_to_the_next_call() {
    let fixture = fixture(asking(), LONG).await;
    fixture
        .hub
        .set_approval_settings(ApprovalSettings::default());
    let call = start(&fixture.hub, "s", "{}");
    let refused = tokio::time::timeout(LONG / 2, call).await;
    let refused = refused.expect("it does not wait").unwrap().unwrap_err();
    assert_eq!(refused.code, ErrorClass::Denied);
    assert_eq!(ran(&fixture), 0);
}

/// A version is checked again if its server had to be started first.
#[tokio::test]
async fn r_sec_02_a_tool_that_changes_while_its_server_starts_does_not_run() {
    let fixture = fixture(asking(), LONG).await;
    fixture.hub.shutdown().await;
    let store = fixture.store.clone();
    let settings = HubSettings {
        asking: ApprovalSettings {
            timeout: LONG,
            ..ApprovalSettings::default()
        },
        ..HubSettings::default()
    };
    let parts = (store, fixture.clock.clone());
    let next = HubFixture::asking(
        vec![asking()],
        settings,
        fake::Servers::new(),
        parts,
        pegboard_hub::NoApprover,
    )
    .await;
    let mut other = tool_json("one");
    other["description"] = "Another thing.".into();
    let hanging = Behaviour {
        hang: true,
        tools: vec![other],
        ..Behaviour::default()
    };
    next.servers.set("a", hanging);
    let agreed_to = fixture.entry("a").record.tools[0].fingerprint;
    let hub = next.hub.clone();
    *next.servers.on_call.lock().unwrap() = Some(Box::new(move |_, _| {
        let catalog = hub.catalog();
        let known = &catalog.server(&server("a")).unwrap().record.tools[0];
        assert_eq!(known.fingerprint, agreed_to, "it ran as another version");
    }));
    let call = start(&next.hub, "s", "{}");
    decide(&next.hub, ApprovalDecision::Once).await;
    let servers = next.servers.clone();
    wait_until("the server starts", LONG, || servers.started("a") == 1).await;
    let hub = next.hub.clone();
    let refresh =
        tokio::spawn(async move { hub.refresh(RefreshScope::One(server("a")), true).await });
    next.servers.change("a", |behaviour| behaviour.hang = false);
    refresh.await.unwrap().unwrap();
    // Either it was sent before the new version was known, or not at all.
    if let Err(error) = call.await.unwrap() {
        assert_eq!(error.reason, Reason::ToolChanged);
        assert_eq!(ran(&next), 0);
    }
    assert_ne!(next.entry("a").record.tools[0].fingerprint, agreed_to);
}

struct Echo;

#[async_trait]
impl ToolHandler for Echo {
    async fn call(&self, arguments: Value) -> ToolResult<Value> {
        Ok(arguments)
    }
}

fn global(rules: &[(&str, Policy)]) -> Arc<GlobalRules> {
    let rule = |(pattern, policy): &(&str, Policy)| PolicyRule {
        pattern: (*pattern).to_owned(),
        policy: *policy,
        origin: Origin {
            layer: Layer::User,
            file: Some("config.toml".into()),
            line: Some(7),
        },
    };
    Arc::new(GlobalRules {
        rules: rules.iter().map(rule).collect(),
        ..GlobalRules::default()
    })
}

#[tokio::test]
async fn r_pol_01_static_tools_pass_the_same_gate_by_name() {
    let settings = HubSettings {
        asking: ApprovalSettings {
            timeout: LONG,
            ..ApprovalSettings::default()
        },
        rules: global(&[("host_deny", Policy::Deny), ("host_a*", Policy::Ask)]),
        ..HubSettings::default()
    };
    let fixture = HubFixture::with(Vec::new(), settings).await;
    for name in ["host_deny", "host_ask", "host_free", "host_off"] {
        let tool = StaticTool::new(name, "A tool.", json!({"type": "object"})).unwrap();
        fixture.hub.register(tool, Arc::new(Echo)).unwrap();
    }
    let call = async |tool: &str| fixture.hub.call(&request("s", tool, "{}")).await;
    call("host_free").await.unwrap();
    let denied = call("host_deny").await.unwrap_err();
    assert_eq!(denied.reason, Reason::PolicyDenied);
    assert!(denied.remedy.contains("config.toml:7"), "{}", denied.remedy);
    let hub = fixture.hub.clone();
    let asked = tokio::spawn(async move { hub.call(&request("s", "host_ask", "{}")).await });
    assert_eq!(waiting(&fixture.hub).await.version.server, None);
    decide(&fixture.hub, ApprovalDecision::Always).await;
    asked.await.unwrap().unwrap();
    call("host_ask").await.unwrap();

    fixture.hub.set_rules(global(&[
        ("host_off", Policy::Disable),
        ("host_free", Policy::Deny),
    ]));
    assert!(!fixture.tools().contains(&"host_off".to_owned()));
    assert_eq!(
        call("host_off").await.unwrap_err().reason,
        Reason::ToolDisabled
    );
    assert_eq!(
        call("host_free").await.unwrap_err().reason,
        Reason::PolicyDenied
    );
    call("host_deny").await.unwrap();
}

#[tokio::test]
async fn r_pol_01_changed_policies_count_at_once() {
    let fixture = fixture(spec("a"), Duration::ZERO).await;
    start(&fixture.hub, "s", "{}").await.unwrap().unwrap();
    for (policy, reason) in [
        (Policy::Deny, Reason::PolicyDenied),
        (Policy::Disable, Reason::ToolDisabled),
        (Policy::Ask, Reason::PolicyDenied),
    ] {
        let mut ruled = spec("a");
        ruled.rules.global = global(&[("a/one", policy)]);
        fixture.hub.apply([ruled]).await;
        let error = start(&fixture.hub, "s", "{}").await.unwrap().unwrap_err();
        assert_eq!(error.reason, reason, "{policy:?}");
        assert_eq!(fixture.tools().is_empty(), policy == Policy::Disable);
    }
    fixture.hub.apply([spec("a")]).await;
    start(&fixture.hub, "s", "{}").await.unwrap().unwrap();
}

/// A client whose user always gives the same response.
struct Client {
    capabilities: ClientCapabilities,
    says: Option<&'static str>,
}

#[async_trait]
impl Caller for Client {
    fn session(&self) -> &str {
        "s"
    }
    fn capabilities(&self) -> &ClientCapabilities {
        &self.capabilities
    }
    fn wants_progress(&self) -> bool {
        false
    }
    fn progress(&self, _: &RawValue) {}
    fn message(&self, _: &RawValue) {}
    async fn send_request(
        &self,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<Box<RawValue>, RpcError> {
        assert_eq!(method, "elicitation/create");
        let params: Value = serde_json::from_str(params.unwrap().get()).unwrap();
        let message = params["message"].as_str().unwrap();
        for part in ["a__one", "server `a`", r#"{"text":"x"}"#] {
            assert!(message.contains(part), "{part}: {message}");
        }
        let Some(says) = self.says else {
            return std::future::pending().await;
        };
        let answer = json!({"action": "accept", "content": {"decision": says}});
        Ok(RawValue::from_string(answer.to_string()).unwrap())
    }
}

async fn through(fixture: &HubFixture, client: Client) -> ToolResult<CallOutcome> {
    let mut request = request("s", "a__one", r#"{"text":"x"}"#);
    request.caller = Some(Arc::new(client));
    fixture.hub.call(&request).await
}

const CAN_ASK: &str = r#"{"elicitation":{}}"#;

#[tokio::test]
async fn r_pol_02_the_client_that_calls_is_asked_first() {
    for (says, allowed) in [("allow once", true), ("refuse", false), ("nonsense", false)] {
        let fixture = fixture(asking(), LONG).await;
        let client = Client {
            capabilities: ClientCapabilities::parse(CAN_ASK),
            says: Some(says),
        };
        let called = through(&fixture, client).await;
        assert_eq!(called.is_ok(), allowed, "{says}");
        if let Err(error) = called {
            assert_eq!(error.reason, Reason::ApprovalRefused);
        }
        assert!(fixture.hub.approvals().await.unwrap().is_empty());
    }
    let silent = Client {
        capabilities: ClientCapabilities::parse(CAN_ASK),
        says: None,
    };
    let fixture = fixture(asking(), Duration::from_millis(50)).await;
    let late = through(&fixture, silent).await.unwrap_err();
    assert_eq!(late.reason, Reason::ApprovalTimeout);
}

#[tokio::test]
async fn r_pol_01_a_destructive_tool_asks_only_if_there_is_a_way_to_ask() {
    let fixture = fixture(spec("a"), LONG).await;
    let mut tool = tool_json("one");
    tool["annotations"] = json!({"destructiveHint": true});
    fixture
        .servers
        .change("a", |behaviour| behaviour.tools = vec![tool.clone()]);
    fixture
        .hub
        .refresh(RefreshScope::One(server("a")), true)
        .await
        .unwrap();
    let can = |says| Client {
        capabilities: ClientCapabilities::parse(CAN_ASK),
        says: Some(says),
    };
    let cannot = || Client {
        capabilities: ClientCapabilities::parse("{}"),
        says: None,
    };
    through(&fixture, cannot()).await.unwrap();
    assert_eq!(
        through(&fixture, can("refuse")).await.unwrap_err().reason,
        Reason::ApprovalRefused
    );
    through(&fixture, can("allow once")).await.unwrap();

    let watching = fixture.hub.watch_approvals().unwrap();
    let call = start(&fixture.hub, "s", "{}");
    decide(&fixture.hub, ApprovalDecision::Refuse).await;
    assert_eq!(
        call.await.unwrap().unwrap_err().reason,
        Reason::ApprovalRefused
    );
    drop(watching);
    start(&fixture.hub, "s", "{}").await.unwrap().unwrap();

    // A granted tool that changed is held back, with and without a viewer.
    let watching = fixture.hub.watch_approvals().unwrap();
    let granted = start(&fixture.hub, "s", "{}");
    decide(&fixture.hub, ApprovalDecision::Always).await;
    granted.await.unwrap().unwrap();
    drop(watching);
    change(&fixture, "Another thing.").await;
    let mut changed = tool;
    changed["description"] = "Yet another.".into();
    fixture
        .servers
        .change("a", |behaviour| behaviour.tools = vec![changed]);
    fixture
        .hub
        .refresh(RefreshScope::One(server("a")), true)
        .await
        .unwrap();
    let held = start(&fixture.hub, "t", "{}");
    assert_eq!(waiting(&fixture.hub).await.changed, ["description"]);
    decide(&fixture.hub, ApprovalDecision::Refuse).await;
    held.await.unwrap().unwrap_err();

    for (setting, asks) in [
        (AskDestructive::Never, false),
        (AskDestructive::Always, true),
    ] {
        fixture
            .hub
            .revoke_grant(Some(&server("a")), "one")
            .await
            .unwrap();
        let mut ruled = spec("a");
        ruled.rules.global = Arc::new(GlobalRules {
            ask_destructive: setting,
            ..GlobalRules::default()
        });
        fixture.hub.apply([ruled]).await;
        let refused = through(&fixture, can("refuse")).await.is_err();
        assert_eq!(refused, asks, "{setting:?}");
    }
}

#[tokio::test]
async fn r_pol_02_the_next_round_of_a_call_needs_no_second_approval() {
    let fixture = fixture(asking(), LONG).await;
    let call = start(&fixture.hub, "s", "{}");
    decide(&fixture.hub, ApprovalDecision::Once).await;
    call.await.unwrap().unwrap();
    // A call with unrequested input is a new call.
    let mut forged = request("s", "a__one", "{}");
    forged.input = Some(pegboard_hub::InputResponses {
        responses: RawValue::from_string("{}".into()).unwrap(),
        state: None,
    });
    let hub = fixture.hub.clone();
    let forged = tokio::spawn(async move { hub.call(&forged).await });
    decide(&fixture.hub, ApprovalDecision::Refuse).await;
    forged.await.unwrap().unwrap_err();
}

#[tokio::test]
async fn r_obs_04_activity_records_what_was_done_and_no_contents() {
    let fixture = fixture(asking(), LONG).await;
    let call = start(&fixture.hub, "s", r#"{"text":"canary"}"#);
    decide(&fixture.hub, ApprovalDecision::Always).await;
    call.await.unwrap().unwrap();
    fixture
        .hub
        .call(&request("s", "a__nope", "{}"))
        .await
        .unwrap_err();
    let mut other = asking();
    other.description = Some("changed".into());
    fixture.hub.apply([other]).await;
    fixture.hub.shutdown().await;
    let lines = fixture.hub.activity(100, None).await.unwrap();
    let line = |kind: ActivityKind, outcome: &str| -> Activity {
        let found = lines
            .iter()
            .find(|line| line.kind == kind && line.outcome == outcome);
        found
            .unwrap_or_else(|| panic!("{kind:?} {outcome}: {lines:#?}"))
            .clone()
    };
    let called = line(ActivityKind::Call, "ok");
    assert_eq!(
        (
            called.tool.as_deref(),
            called.server,
            called.session.as_deref()
        ),
        (Some("a__one"), Some(server("a")), Some("s"))
    );
    assert!(called.duration_ms.is_some() && called.trace.is_some());
    line(ActivityKind::Call, "TOOL_UNKNOWN");
    line(ActivityKind::Discovery, "ok");
    line(ActivityKind::Approval, "always");
    line(ActivityKind::Config, "adjusted");
    assert!(!serde_json::to_string(&lines).unwrap().contains("canary"));
    let newest = &lines[0];
    let page = fixture.hub.activity(1, Some(newest.id)).await.unwrap();
    assert_eq!(page[0].id, lines[1].id);
    assert_eq!(fixture.hub.activity_dropped(), 0);
}
