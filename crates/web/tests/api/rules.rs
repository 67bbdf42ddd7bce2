//! Policies, calls that wait for a person, and consents that last.

use pegboard_model::{GlobalRules, Layer, Origin, Policy, PolicyRule};
use serde_json::{Value, json};
use std::sync::Arc;

use crate::face::{ADMIN, Answer, CALL, Face, request, with};

fn rule(pattern: &str, policy: Policy) -> Arc<GlobalRules> {
    let origin = Origin {
        layer: Layer::User,
        file: None,
        line: Some(3),
    };
    Arc::new(GlobalRules {
        rules: vec![PolicyRule {
            pattern: pattern.to_owned(),
            policy,
            origin,
        }],
        ..GlobalRules::default()
    })
}

/// Puts all tools under these rules, as a reload does.
async fn set_rules(face: &Face, rules: Arc<GlobalRules>) {
    face.hub.set_rules(rules.clone());
    let catalog = face.hub.catalog();
    let servers = catalog.servers().map(|entry| {
        let mut spec = (*entry.spec).clone();
        spec.rules.global = rules.clone();
        spec
    });
    let servers: Vec<_> = servers.collect();
    face.hub.apply(servers).await;
}

#[tokio::test]
async fn rules_are_listed_explained_set_and_taken_out() {
    let face = Face::new().await;
    set_rules(&face, rule("one/write", Policy::Deny)).await;
    let rules = face.get("/policies").await.json();
    assert_eq!(rules["rules"][0]["pattern"], "one/write");
    assert_eq!(rules["askDestructive"], "when_possible");
    let explained = face.get("/policies/explain?tool=one__write").await.json();
    assert_eq!(explained["policy"], "deny");
    assert_eq!(explained["rules"][0]["decides"], true);
    let call = json!({"arguments": {"text": "x"}});
    let denied = face.ask(CALL, "POST", "/tools/one__write/call", call).await;
    assert_eq!(
        (denied.status, denied.code()),
        (403, "POLICY_DENIED".into())
    );
    let set = json!({"pattern": "delete_*", "policy": "ask"});
    assert_eq!(face.admin("PUT", "/policies", set).await.status, 204);
    assert_eq!(face.house.rules.lock().unwrap()["delete_*"], Policy::Ask);
    let gone = face
        .admin("DELETE", "/policies?pattern=delete_*", Value::Null)
        .await;
    assert_eq!(gone.status, 204);
    let again = face
        .admin("DELETE", "/policies?pattern=delete_*", Value::Null)
        .await;
    assert_eq!((again.status, again.code()), (404, "RULE_UNKNOWN".into()));
    for (body, field) in [
        (json!({"pattern": "", "policy": "ask"}), "pattern"),
        (json!({"pattern": "a\nb", "policy": "ask"}), "pattern"),
        (json!({"pattern": "a", "policy": "maybe"}), "policy"),
        (json!({"policy": "ask"}), "pattern"),
    ] {
        let answer = face.admin("PUT", "/policies", body.clone()).await;
        assert_eq!(
            (answer.status, answer.code()),
            (400, "REQUEST_INVALID".into()),
            "{body}"
        );
        assert_eq!(answer.json()["error"]["field"], field, "{body}");
    }
    let other = json!({"pattern": "a", "policy": "ask", "server": "none"});
    assert_eq!(face.admin("PUT", "/policies", other).await.status, 404);
}

#[tokio::test]
async fn r_pol_02_a_call_that_asks_waits_in_the_inbox_for_whoever_administers() {
    let face = Arc::new(Face::new().await);
    set_rules(&face, rule("two/erase", Policy::Ask)).await;
    let answered = |decision: &'static str| {
        let face = face.clone();
        async move {
            let calling = face.clone();
            let call = tokio::spawn(async move {
                let call = json!({"arguments": {"text": "all of it"}});
                calling
                    .ask(CALL, "POST", "/tools/two__erase/call", call)
                    .await
            });
            let inbox = face
                .eventually("/approvals", |inbox| {
                    inbox["approvals"][0]["id"].is_string()
                })
                .await;
            let waiting = &inbox["approvals"][0];
            assert_eq!(waiting["tool"], "two__erase");
            assert_eq!(waiting["arguments"], r#"{"text":"all of it"}"#);
            let path = format!("/approvals/{}", waiting["id"].as_str().unwrap());
            let caller = face
                .ask(CALL, "POST", &path, json!({"decision": "always"}))
                .await;
            assert_eq!(caller.status, 403, "a caller cannot answer itself");
            let wrong = face
                .ask(ADMIN, "POST", &path, json!({"decision": "maybe"}))
                .await;
            assert_eq!(wrong.status, 400);
            let answer = face
                .ask(ADMIN, "POST", &path, json!({"decision": decision}))
                .await;
            assert_eq!(answer.status, 200, "{answer:?}");
            call.await.unwrap()
        }
    };
    let refused = answered("refuse").await;
    assert_eq!(
        (refused.status, refused.code()),
        (403, "APPROVAL_REFUSED".into())
    );
    assert_eq!(answered("always").await.status, 200);
    let grants = face.get("/grants").await.json();
    assert_eq!(grants["grants"][0]["tool"], "two__erase");
    assert_eq!(grants["grants"][0]["by"], "api");
    let revoke = face
        .admin("DELETE", "/grants?tool=two__erase", Value::Null)
        .await;
    assert_eq!(revoke.status, 204);
    let again = face
        .admin("DELETE", "/grants?tool=two__erase", Value::Null)
        .await;
    assert_eq!((again.status, again.code()), (404, "GRANT_UNKNOWN".into()));
    let late = face
        .admin("POST", "/approvals/00000000", json!({"decision": "once"}))
        .await;
    assert_eq!((late.status, late.code()), (404, "APPROVAL_UNKNOWN".into()));
}

/// A call of the tool that asks; a session of its own if one is named.
fn erase(face: &Arc<Face>, token: &'static str, session: &str) -> tokio::task::JoinHandle<Answer> {
    let call = json!({"arguments": {"text": "all of it"}});
    let mut call = request(token, "POST", "/tools/two__erase/call", call);
    if !session.is_empty() {
        call = with(call, "pegboard-session", session);
    }
    let face = face.clone();
    tokio::spawn(async move { face.send(call).await })
}

async fn waiting(face: &Face) -> Value {
    let is_there = |inbox: &Value| inbox["approvals"][0]["id"].is_string();
    let inbox = face.eventually("/approvals", is_there).await;
    inbox["approvals"][0].clone()
}

async fn decide(face: &Face, request: &Value, decision: &str) -> Answer {
    let path = format!("/approvals/{}", request["id"].as_str().unwrap());
    let decision = json!({"decision": decision});
    face.ask(ADMIN, "POST", &path, decision).await
}

#[tokio::test]
async fn r_ui_01_allowing_for_a_session_covers_one_caller_and_not_every_holder_of_the_token() {
    const MINE: &str = "3f1c2b8e-a-random-text";
    let face = Arc::new(Face::new().await);
    set_rules(&face, rule("two/erase", Policy::Ask)).await;

    let call = erase(&face, CALL, MINE);
    let request = waiting(&face).await;
    assert_eq!(request["offersSession"], true);
    let shown = request["session"].as_str().unwrap();
    assert!(
        shown.starts_with("api-") && !shown.contains(MINE),
        "{shown}"
    );
    assert_eq!(decide(&face, &request, "session").await.status, 200);
    assert_eq!(call.await.unwrap().status, 200);
    let again = erase(&face, CALL, MINE).await.unwrap();
    assert_eq!(again.status, 200, "the same session is not asked again");

    // The id that is shown is not the name, and another token is another holder.
    for (token, session) in [
        (CALL, "another-random-text"),
        (CALL, shown),
        (ADMIN, MINE),
        (CALL, ""),
    ] {
        let call = erase(&face, token, session);
        let request = waiting(&face).await;
        assert_eq!(decide(&face, &request, "refuse").await.status, 200);
        assert_eq!(call.await.unwrap().status, 403, "{session}");
    }
}

#[tokio::test]
async fn r_ui_01_a_call_without_a_session_cannot_be_allowed_for_one() {
    let face = Arc::new(Face::new().await);
    set_rules(&face, rule("two/erase", Policy::Ask)).await;
    let call = erase(&face, CALL, "");
    let request = waiting(&face).await;
    assert_eq!(request["offersSession"], false);
    let refused = decide(&face, &request, "session").await;
    assert_eq!(
        (refused.status, refused.code()),
        (400, "REQUEST_INVALID".into())
    );
    assert_eq!(refused.json()["error"]["field"], "decision");
    assert_eq!(decide(&face, &request, "once").await.status, 200);
    assert_eq!(call.await.unwrap().status, 200);
    for bad in ["short", "with a space in it, long", &"x".repeat(129)] {
        let answer = erase(&face, CALL, bad).await.unwrap();
        assert_eq!(
            (answer.status, answer.code()),
            (400, "REQUEST_INVALID".into()),
            "{bad}"
        );
    }
}
