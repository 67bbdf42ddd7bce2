//! Policies, approvals and grants.

use pegboard_model::{GlobalRules, Layer, Origin, Policy, PolicyRule};
use serde_json::{Value, json};
use std::sync::Arc;

use crate::site::{ADMIN, CALL, TestResponse, TestSite, request, with};

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

/// Applies rules to all tools, as a reload does.
async fn set_rules(site: &TestSite, rules: Arc<GlobalRules>) {
    site.hub.set_rules(rules.clone());
    let catalog = site.hub.catalog();
    let servers = catalog.servers().map(|entry| {
        let mut spec = (*entry.spec).clone();
        spec.rules.global = rules.clone();
        spec
    });
    let servers: Vec<_> = servers.collect();
    site.hub.apply(servers).await;
}

#[tokio::test]
async fn rules_are_listed_explained_set_and_taken_out() {
    let site = TestSite::new().await;
    set_rules(&site, rule("one/write", Policy::Deny)).await;
    let rules = site.get("/policies").await.json();
    assert_eq!(rules["rules"][0]["pattern"], "one/write");
    assert_eq!(rules["askDestructive"], "when_possible");
    let explained = site.get("/policies/explain?tool=one__write").await.json();
    assert_eq!(explained["policy"], "deny");
    assert_eq!(explained["rules"][0]["decides"], true);
    let call = json!({"arguments": {"text": "x"}});
    let denied = site
        .request(CALL, "POST", "/tools/one__write/call", call)
        .await;
    assert_eq!(
        (denied.status, denied.code()),
        (403, "POLICY_DENIED".into())
    );
    let set = json!({"pattern": "delete_*", "policy": "ask"});
    assert_eq!(site.admin("PUT", "/policies", set).await.status, 204);
    assert_eq!(
        site.config_admin.rules.lock().unwrap()["delete_*"],
        Policy::Ask
    );
    let gone = site
        .admin("DELETE", "/policies?pattern=delete_*", Value::Null)
        .await;
    assert_eq!(gone.status, 204);
    let again = site
        .admin("DELETE", "/policies?pattern=delete_*", Value::Null)
        .await;
    assert_eq!((again.status, again.code()), (404, "RULE_UNKNOWN".into()));
    for (body, field) in [
        (json!({"pattern": "", "policy": "ask"}), "pattern"),
        (json!({"pattern": "a\nb", "policy": "ask"}), "pattern"),
        (json!({"pattern": "a", "policy": "maybe"}), "policy"),
        (json!({"policy": "ask"}), "pattern"),
    ] {
        let response = site.admin("PUT", "/policies", body.clone()).await;
        assert_eq!(
            (response.status, response.code()),
            (400, "REQUEST_INVALID".into()),
            "{body}"
        );
        assert_eq!(response.json()["error"]["field"], field, "{body}");
    }
    let other = json!({"pattern": "a", "policy": "ask", "server": "none"});
    assert_eq!(site.admin("PUT", "/policies", other).await.status, 404);
}

#[tokio::test]
async fn r_pol_02_a_call_that_asks_waits_in_the_inbox_for_an_administrator() {
    let site = Arc::new(TestSite::new().await);
    set_rules(&site, rule("two/erase", Policy::Ask)).await;
    let answered = |decision: &'static str| {
        let site = site.clone();
        async move {
            let calling = site.clone();
            let call = tokio::spawn(async move {
                let call = json!({"arguments": {"text": "all of it"}});
                calling
                    .request(CALL, "POST", "/tools/two__erase/call", call)
                    .await
            });
            let inbox = site
                .eventually("/approvals", |inbox| {
                    inbox["approvals"][0]["id"].is_string()
                })
                .await;
            let waiting = &inbox["approvals"][0];
            assert_eq!(waiting["tool"], "two__erase");
            assert_eq!(waiting["arguments"], r#"{"text":"all of it"}"#);
            let path = format!("/approvals/{}", waiting["id"].as_str().unwrap());
            let caller = site
                .request(CALL, "POST", &path, json!({"decision": "always"}))
                .await;
            assert_eq!(caller.status, 403, "a caller cannot decide its own request");
            let wrong = site
                .request(ADMIN, "POST", &path, json!({"decision": "maybe"}))
                .await;
            assert_eq!(wrong.status, 400);
            let response = site
                .request(ADMIN, "POST", &path, json!({"decision": decision}))
                .await;
            assert_eq!(response.status, 200, "{response:?}");
            call.await.unwrap()
        }
    };
    let refused = answered("refuse").await;
    assert_eq!(
        (refused.status, refused.code()),
        (403, "APPROVAL_REFUSED".into())
    );
    assert_eq!(answered("always").await.status, 200);
    let grants = site.get("/grants").await.json();
    assert_eq!(grants["grants"][0]["tool"], "two__erase");
    assert_eq!(grants["grants"][0]["by"], "api");
    let revoke = site
        .admin("DELETE", "/grants?tool=two__erase", Value::Null)
        .await;
    assert_eq!(revoke.status, 204);
    let again = site
        .admin("DELETE", "/grants?tool=two__erase", Value::Null)
        .await;
    assert_eq!((again.status, again.code()), (404, "GRANT_UNKNOWN".into()));
    let late = site
        .admin("POST", "/approvals/00000000", json!({"decision": "once"}))
        .await;
    assert_eq!((late.status, late.code()), (404, "APPROVAL_UNKNOWN".into()));
}

/// Calls a tool that asks, in a session if one is named.
fn erase(
    site: &Arc<TestSite>,
    token: &'static str,
    session: &str,
) -> tokio::task::JoinHandle<TestResponse> {
    let call = json!({"arguments": {"text": "all of it"}});
    let mut call = request(token, "POST", "/tools/two__erase/call", call);
    if !session.is_empty() {
        call = with(call, "pegboard-session", session);
    }
    let site = site.clone();
    tokio::spawn(async move { site.send(call).await })
}

async fn waiting(site: &TestSite) -> Value {
    let is_there = |inbox: &Value| inbox["approvals"][0]["id"].is_string();
    let inbox = site.eventually("/approvals", is_there).await;
    inbox["approvals"][0].clone()
}

async fn decide(site: &TestSite, request: &Value, decision: &str) -> TestResponse {
    let path = format!("/approvals/{}", request["id"].as_str().unwrap());
    let decision = json!({"decision": decision});
    site.request(ADMIN, "POST", &path, decision).await
}

#[tokio::test]
async fn r_ui_01_allowing_for_a_session_covers_one_caller_and_not_every_holder_of_the_token() {
    const MINE: &str = "3f1c2b8e-a-random-text";
    let site = Arc::new(TestSite::new().await);
    set_rules(&site, rule("two/erase", Policy::Ask)).await;

    let call = erase(&site, CALL, MINE);
    let request = waiting(&site).await;
    assert_eq!(request["offersSession"], true);
    let shown = request["session"].as_str().unwrap();
    assert!(
        shown.starts_with("api-") && !shown.contains(MINE),
        "{shown}"
    );
    assert_eq!(decide(&site, &request, "session").await.status, 200);
    assert_eq!(call.await.unwrap().status, 200);
    let again = erase(&site, CALL, MINE).await.unwrap();
    assert_eq!(again.status, 200, "the same session is not asked again");

    // The shown id is not the session's name, and another token has other sessions.
    for (token, session) in [
        (CALL, "another-random-text"),
        (CALL, shown),
        (ADMIN, MINE),
        (CALL, ""),
    ] {
        let call = erase(&site, token, session);
        let request = waiting(&site).await;
        assert_eq!(decide(&site, &request, "refuse").await.status, 200);
        assert_eq!(call.await.unwrap().status, 403, "{session}");
    }
}

#[tokio::test]
async fn r_ui_01_a_call_without_a_session_cannot_be_allowed_for_one() {
    let site = Arc::new(TestSite::new().await);
    set_rules(&site, rule("two/erase", Policy::Ask)).await;
    let call = erase(&site, CALL, "");
    let request = waiting(&site).await;
    assert_eq!(request["offersSession"], false);
    let refused = decide(&site, &request, "session").await;
    assert_eq!(
        (refused.status, refused.code()),
        (400, "REQUEST_INVALID".into())
    );
    assert_eq!(refused.json()["error"]["field"], "decision");
    assert_eq!(decide(&site, &request, "once").await.status, 200);
    assert_eq!(call.await.unwrap().status, 200);
    for bad in ["short", "with a space in it, long", &"x".repeat(129)] {
        let response = erase(&site, CALL, bad).await.unwrap();
        assert_eq!(
            (response.status, response.code()),
            (400, "REQUEST_INVALID".into()),
            "{bad}"
        );
    }
}
