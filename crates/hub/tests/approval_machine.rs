//! No interleaving of approving, refusing, changing, refreshing, expiring and calling lets a version run that was not
//! approved.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test fails by panicking"
)]

mod fake;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use fake::{HubFixture, spec};
use pegboard_hub::{ApprovalSettings, CallRequest, HubSettings, RefreshScope, SessionId};
use pegboard_model::{ApprovalDecision, Fingerprint, Policy};
use pegboard_testkit::{server, tool_json};
use proptest::prelude::*;
use serde_json::value::RawValue;

const APPROVAL_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Clone, Debug)]
enum Step {
    /// A session calls the tool; the call's number is its argument.
    Call(u8),
    /// The oldest (or newest) pending request is decided.
    Answer(bool, ApprovalDecision),
    /// The server changes its tool.
    Change(u8),
    /// The hub discovers the change.
    Refresh,
    /// All pending requests expire.
    Expire,
    Revoke,
    EndSession(u8),
    /// The policy changes and the configuration is reloaded.
    Rule(Policy),
}

fn step() -> impl Strategy<Value = Step> {
    use ApprovalDecision::{Always, Once, Refuse, Session};
    let decision = prop_oneof![Just(Once), Just(Session), Just(Always), Just(Refuse)];
    prop_oneof![
        5 => (0..3u8).prop_map(Step::Call),
        5 => (any::<bool>(), decision).prop_map(|(oldest, decision)| Step::Answer(oldest, decision)),
        3 => (0..3u8).prop_map(Step::Change),
        3 => Just(Step::Refresh),
        1 => Just(Step::Expire),
        1 => Just(Step::Revoke),
        1 => (0..3u8).prop_map(Step::EndSession),
        1 => prop_oneof![Just(Policy::Ask), Just(Policy::Deny)].prop_map(Step::Rule),
    ]
}

/// An approval that was given.
#[derive(Clone, Debug)]
struct Approval {
    decision: ApprovalDecision,
    session: String,
    arguments: String,
    version: Fingerprint,
}

/// A call that reached the server, and the version that the hub knew at that moment.
#[derive(Clone, Debug)]
struct Ran {
    arguments: String,
    version: Fingerprint,
    policy: Policy,
}

async fn settle() {
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
}

fn ruled(policy: Policy) -> pegboard_model::ServerSpec {
    let mut spec = spec("a");
    spec.policy = Some(policy);
    spec
}

async fn run(steps: Vec<Step>) {
    let settings = HubSettings {
        asking: ApprovalSettings {
            timeout: APPROVAL_TIMEOUT,
            ..ApprovalSettings::default()
        },
        ..HubSettings::default()
    };
    let fixture = HubFixture::with(vec![ruled(Policy::Ask)], settings).await;
    fixture.servers.tools("a", &["one"]);
    fixture.hub.ensure_known().await;
    let ran: Arc<Mutex<Vec<Ran>>> = Arc::default();
    {
        let (hub, ran) = (fixture.hub.clone(), ran.clone());
        *fixture.servers.on_call.lock().unwrap() = Some(Box::new(move |_, arguments| {
            let catalog = hub.catalog();
            let entry = catalog.server(&server("a")).unwrap();
            ran.lock().unwrap().push(Ran {
                arguments: arguments.to_owned(),
                version: entry.record.tools[0].fingerprint,
                policy: entry.spec.policy.unwrap(),
            });
        }));
    }
    let (mut approvals, mut calls) = (Vec::<Approval>::new(), Vec::new());
    let mut checked = 0;
    for (number, step) in steps.into_iter().enumerate() {
        match &step {
            Step::Call(session) => {
                let hub = fixture.hub.clone();
                let arguments = format!(r#"{{"text":"{session}-{number}"}}"#);
                let request = CallRequest::new(
                    SessionId(format!("s{session}")),
                    "a__one",
                    RawValue::from_string(arguments).unwrap(),
                );
                calls.push(tokio::spawn(
                    async move { hub.call(&request).await.is_ok() },
                ));
            }
            Step::Answer(oldest, decision) => {
                let waiting = fixture.hub.approvals().await.unwrap();
                let chosen = if *oldest {
                    waiting.first()
                } else {
                    waiting.last()
                };
                if let Some(request) = chosen {
                    let answered = fixture
                        .hub
                        .decide_approval(&request.id, *decision, "test")
                        .await;
                    let answered = answered.unwrap();
                    approvals.push(Approval {
                        decision: *decision,
                        session: answered.session,
                        arguments: answered.arguments,
                        version: answered.version.fingerprint,
                    });
                }
            }
            Step::Change(version) => {
                let mut tool = tool_json("one");
                tool["description"] = format!("Version {version}.").into();
                fixture
                    .servers
                    .change("a", |behaviour| behaviour.tools = vec![tool]);
            }
            Step::Refresh => {
                let _ = fixture
                    .hub
                    .refresh(RefreshScope::One(server("a")), true)
                    .await;
            }
            Step::Expire => {
                fixture.clock.advance(APPROVAL_TIMEOUT * 2);
                tokio::time::advance(APPROVAL_TIMEOUT * 2).await;
            }
            Step::Revoke => {
                fixture
                    .hub
                    .revoke_grant(Some(&server("a")), "one")
                    .await
                    .unwrap();
            }
            Step::EndSession(session) => {
                fixture.hub.session_ended(&SessionId(format!("s{session}")));
            }
            Step::Rule(policy) => {
                fixture.hub.apply([ruled(*policy)]).await;
            }
        }
        settle().await;
        let ran = ran.lock().unwrap().clone();
        for ran in &ran[checked..] {
            assert_eq!(ran.policy, Policy::Ask, "step {number} {step:?}: {ran:?}");
            let session = &ran.arguments[9..10];
            let is_covered = approvals.iter().any(|approval| {
                approval.version == ran.version
                    && match approval.decision {
                        ApprovalDecision::Once => approval.arguments == ran.arguments,
                        ApprovalDecision::Session => approval.session == format!("s{session}"),
                        ApprovalDecision::Always => true,
                        ApprovalDecision::Refuse => false,
                    }
            });
            assert!(
                is_covered,
                "step {number} {step:?}: {ran:?} of {approvals:#?}"
            );
            let is_refused = approvals.iter().any(|approval| {
                approval.decision == ApprovalDecision::Refuse && approval.arguments == ran.arguments
            });
            assert!(!is_refused, "step {number} {step:?}: {ran:?}");
        }
        checked = ran.len();
        match step {
            // Earlier approvals do not count for later calls.
            Step::Revoke => {
                approvals.retain(|approval| approval.decision == ApprovalDecision::Once)
            }
            Step::EndSession(session) => approvals.retain(|approval| {
                approval.decision != ApprovalDecision::Session
                    || approval.session != format!("s{session}")
            }),
            _ => {}
        }
    }
    for call in calls {
        call.abort();
    }
    fixture.hub.shutdown().await;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn r_sec_02_no_interleaving_lets_an_unapproved_version_run(
        steps in proptest::collection::vec(step(), 1..40)
    ) {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_all().start_paused(true).build().unwrap();
        runtime.block_on(run(steps));
    }
}

#[test]
fn r_sec_02_the_machine_does_run_approved_calls() {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let settings = HubSettings {
            asking: ApprovalSettings {
                timeout: APPROVAL_TIMEOUT,
                ..ApprovalSettings::default()
            },
            ..HubSettings::default()
        };
        let fixture = HubFixture::with(vec![ruled(Policy::Ask)], settings).await;
        fixture.servers.tools("a", &["one"]);
        fixture.hub.ensure_known().await;
        let hub = fixture.hub.clone();
        let raw = RawValue::from_string("{}".into()).unwrap();
        let request = CallRequest::new(SessionId("s".into()), "a__one", raw);
        let call = tokio::spawn(async move { hub.call(&request).await });
        settle().await;
        let waiting = fixture.hub.approvals().await.unwrap();
        fixture
            .hub
            .decide_approval(&waiting[0].id, ApprovalDecision::Once, "test")
            .await
            .unwrap();
        settle().await;
        assert!(call.is_finished());
        call.await.unwrap().unwrap();
    });
}
