//! Tools that need approval: the person is asked through the calling client, in both eras and on every path.

use std::sync::Arc;
use std::time::Duration;

use pegboard_gateway::{Gateway, Mode};
use pegboard_hub::ApprovalSettings;
use pegboard_model::{ApprovalDecision, AskVia, ClientApproval, Policy, ServerSpec};
use serde_json::{Value, json};

use crate::client::{Client, gateway, profile};
use crate::fake::{Server, outcome, specs, text};

const ASKS: &str = "elicitation/create";

async fn under(policy: Policy, server: Server) -> Gateway {
    let ruled = |mut spec: ServerSpec| {
        spec.policies.insert("one".to_owned(), policy);
        spec
    };
    let specs: Vec<ServerSpec> = specs(std::slice::from_ref(&server))
        .into_iter()
        .map(ruled)
        .collect();
    let profiles = [("direct", profile(&[], Mode::Direct))];
    let (gateway, _) = gateway(vec![server], &profiles).await;
    gateway.hub().apply(specs).await;
    gateway
}

/// The paths by which a client can call the tool.
fn paths() -> [(&'static str, Value); 3] {
    let params = json!({"name": "a__one", "arguments": {"text": "x"}});
    let meta =
        json!({"name": "call_tool", "arguments": {"name": "a__one", "arguments": {"text": "x"}}});
    [("", params.clone()), ("direct", params), ("", meta)]
}

fn said(decision: &str) -> Value {
    json!({"action": "accept", "content": {"decision": decision}})
}

fn check_question(params: &Value) {
    let message = params["message"].as_str().unwrap();
    for part in [
        "a__one",
        "server `a`",
        r#"{"text":"x"}"#,
        "policies.\"one\" of server a",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
    let choices = &params["requestedSchema"]["properties"]["decision"]["enum"];
    let choices = choices.as_array().unwrap();
    assert!(choices.contains(&json!("allow once")) && choices.contains(&json!("refuse")));
}

/// Calls as a legacy client whose user responds.
async fn legacy(gateway: &Gateway, profile: &str, params: Value, decision: &str) -> Value {
    let client = Client::legacy(gateway, profile, json!({"elicitation": {}})).await;
    let response = async {
        let question = client.inbox.wait(ASKS).await;
        check_question(&question["params"]);
        client.notify(json!({"jsonrpc": "2.0", "id": question["id"], "result": said(decision)}));
    };
    tokio::join!(client.result("tools/call", params), response).0
}

/// Calls as a modern client whose user responds, in two requests without a session.
async fn modern(gateway: &Gateway, profile: &str, mut params: Value, decision: &str) -> Value {
    let client = || Client::modern(gateway, profile, json!({"elicitation": {}}));
    let asked = client().result("tools/call", params.clone()).await;
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let questions = asked["inputRequests"].as_object().unwrap();
    let (key, question) = questions.iter().next().unwrap();
    assert_eq!(question["method"], ASKS);
    check_question(&question["params"]);
    let choices = &question["params"]["requestedSchema"]["properties"]["decision"]["enum"];
    assert!(
        !choices
            .as_array()
            .unwrap()
            .contains(&json!("allow for this session")),
        "there is no session: {choices}"
    );
    params["inputResponses"] = json!({key: said(decision)});
    params["requestState"] = asked["requestState"].clone();
    client().result("tools/call", params).await
}

#[tokio::test]
async fn r_pol_02_the_person_is_asked_in_the_client_in_both_eras_and_on_every_path() {
    for server in [
        Server::new("a", &["one"]),
        Server::new("a", &["one"]).modern(),
    ] {
        let gateway = under(Policy::Ask, server).await;
        for (profile, params) in paths() {
            for (decision, runs) in [("allow once", true), ("refuse", false)] {
                for is_modern in [false, true] {
                    let result = match is_modern {
                        true => modern(&gateway, profile, params.clone(), decision).await,
                        false => legacy(&gateway, profile, params.clone(), decision).await,
                    };
                    let text = result["content"][0]["text"].as_str().unwrap();
                    let what = format!("{params} {decision} modern {is_modern}: {result}");
                    if runs {
                        assert_eq!(text, r#"one {"text":"x"}"#, "{what}");
                    } else {
                        assert_eq!(result["isError"], true, "{what}");
                        assert!(text.contains("APPROVAL_REFUSED"), "{what}");
                        assert_eq!(result["structuredContent"]["code"], "TOOL_DENIED", "{what}");
                    }
                }
            }
        }
    }
}

#[tokio::test]
async fn r_pol_01_no_path_bypasses_a_policy() {
    for (policy, code) in [
        (Policy::Deny, "POLICY_DENIED"),
        (Policy::Disable, "TOOL_DISABLED"),
    ] {
        let called = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let count = called.clone();
        let server = Server::new("a", &["one"]).on_call(move |_, _, _| {
            count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            async { Ok(text("ran")) }
        });
        let gateway = under(policy, server).await;
        for (profile, params) in paths() {
            let client = Client::modern(&gateway, profile, json!({"elicitation": {}}));
            let response = client
                .answer("tools/call", params.clone())
                .await
                .to_string();
            assert!(response.contains(code), "{params}: {response}");
        }
        let direct = Client::modern(&gateway, "direct", json!({}));
        let listed = direct.result("tools/list", json!({})).await.to_string();
        assert_eq!(
            listed.contains("a__one"),
            policy != Policy::Disable,
            "{listed}"
        );
        let lazy = Client::modern(&gateway, "", json!({}));
        for meta in ["list_available_tools", "search_tools"] {
            let arguments = json!({"query": "one"});
            let params = json!({"name": meta, "arguments": arguments});
            let found = lazy.answer("tools/call", params).await.to_string();
            assert_eq!(
                found.contains("a__one"),
                policy != Policy::Disable,
                "{meta}: {found}"
            );
        }
        assert_eq!(called.load(std::sync::atomic::Ordering::SeqCst), 0);
    }
}

/// Calls as a client whose user responds with `decision`, and returns the offered choices.
async fn answered(client: &Client, decision: &str) -> Value {
    let before = client.inbox.of(ASKS).len();
    let response = async {
        let inbox = client.inbox.clone();
        pegboard_testkit::wait_until("a question", Duration::from_secs(30), || {
            inbox.of(ASKS).len() > before
        })
        .await;
        let question = client.inbox.of(ASKS).remove(before);
        client.notify(json!({"jsonrpc": "2.0", "id": question["id"], "result": said(decision)}));
        question["params"]["requestedSchema"]["properties"]["decision"]["enum"].clone()
    };
    let params = json!({"name": "a__one", "arguments": {"text": "x"}});
    tokio::join!(client.result("tools/call", params), response).1
}

fn ask(gateway: &Gateway, via: AskVia, client: ClientApproval) {
    gateway.hub().set_approval_settings(ApprovalSettings {
        timeout: Duration::from_secs(120),
        via,
        client,
    });
}

#[tokio::test]
async fn r_sec_08_an_answer_through_the_calling_client_counts_for_that_call_alone() {
    let gateway = under(Policy::Ask, Server::new("a", &["one"])).await;
    let client = Client::legacy(&gateway, "", json!({"elicitation": {}})).await;
    let choices = answered(&client, "allow once").await;
    assert_eq!(choices, json!(["allow once", "refuse"]));
    for decision in ["always allow", "allow for this session", "allow once"] {
        // Each call needs approval, whatever the client responded before.
        answered(&client, decision).await;
        assert!(gateway.hub().grants().await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn r_sec_08_the_user_may_let_an_answer_through_the_client_count_for_its_session() {
    let gateway = under(Policy::Ask, Server::new("a", &["one"])).await;
    ask(&gateway, AskVia::Both, ClientApproval::Session);
    let client = Client::legacy(&gateway, "", json!({"elicitation": {}})).await;
    let choices = answered(&client, "allow for this session").await;
    assert_eq!(
        choices,
        json!(["allow once", "allow for this session", "refuse"])
    );
    assert_eq!(
        client.text("a__one", json!({"text": "y"})).await,
        r#"one {"text":"y"}"#
    );
    assert_eq!(client.inbox.of(ASKS).len(), 1);
    let other = Client::legacy(&gateway, "", json!({"elicitation": {}})).await;
    answered(&other, "refuse").await;
    assert!(gateway.hub().grants().await.unwrap().is_empty());
}

#[tokio::test]
async fn r_sec_08_with_ask_via_inbox_the_calling_client_is_not_asked() {
    let gateway = under(Policy::Ask, Server::new("a", &["one"])).await;
    ask(&gateway, AskVia::Inbox, ClientApproval::Session);
    let client = Client::legacy(&gateway, "", json!({"elicitation": {}})).await;
    let decided = async {
        loop {
            let waiting = gateway.hub().approvals().await.unwrap();
            if let Some(request) = waiting.first() {
                let hub = gateway.hub();
                let decision = ApprovalDecision::Once;
                break hub.decide_approval(&request.id, decision, "test").await;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let call = client.text("a__one", json!({"text": "x"}));
    let (text, decided) = tokio::join!(call, decided);
    decided.unwrap();
    assert_eq!(text, r#"one {"text":"x"}"#);
    assert!(client.inbox.of(ASKS).is_empty());
}

/// A modern server that requests input itself: the approval of the call covers its rounds.
#[tokio::test]
async fn r_pol_02_an_approval_covers_the_input_rounds_of_a_call() {
    let server =
        || {
            Server::new("a", &["one"]).modern().on_call(|_, _, options| async move {
            Ok(match options.input {
                None => outcome(json!({
                    "resultType": "input_required",
                    "inputRequests": {"name": {"method": ASKS, "params": {"message": "name?"}}},
                    "requestState": "s1",
                })),
                Some(input) => text(input.responses.get()),
            })
        })
        };
    let gateway = under(Policy::Ask, server()).await;
    let mut params = json!({"name": "a__one", "arguments": {"text": "x"}});
    let mut asked = modern(&gateway, "", params.clone(), "allow once").await;
    assert_eq!(
        asked["inputRequests"]["name"]["params"]["message"], "Server `a` asks: name?",
        "{asked}"
    );
    params["inputResponses"] = json!({"name": said("Ada")});
    params["requestState"] = asked["requestState"].clone();
    let client = Client::modern(&gateway, "", json!({"elicitation": {}}));
    asked = client.result("tools/call", params.clone()).await;
    assert!(
        asked["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("Ada"),
        "{asked}"
    );
    // Repeating a round is a new call.
    let again = client.result("tools/call", params).await;
    assert_eq!(again["resultType"], "input_required", "{again}");

    let client = Client::legacy(&gateway, "", json!({"elicitation": {}})).await;
    let answers = async {
        for (number, decision) in ["allow once", "Ada"].iter().enumerate() {
            let inbox = client.inbox.clone();
            pegboard_testkit::wait_until("a question", Duration::from_secs(30), || {
                inbox.of(ASKS).len() > number
            })
            .await;
            let question = client.inbox.of(ASKS).remove(number);
            client
                .notify(json!({"jsonrpc": "2.0", "id": question["id"], "result": said(decision)}));
        }
    };
    let params = json!({"name": "a__one", "arguments": {"text": "x"}});
    let (result, ()) = tokio::join!(client.result("tools/call", params), answers);
    assert!(
        result["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("Ada"),
        "{result}"
    );
    assert_eq!(client.inbox.of(ASKS).len(), 2);
}

/// Responds without a decision, as headless clients do.
async fn closed(client: &Client, action: &str) {
    let question = client.inbox.wait(ASKS).await;
    let result = json!({"action": action});
    client.notify(json!({"jsonrpc": "2.0", "id": question["id"], "result": result}));
}

#[tokio::test]
async fn r_gate_05_a_client_that_cancels_has_not_refused() {
    for (action, reason) in [
        ("cancel", "APPROVAL_UNANSWERED"),
        ("decline", "APPROVAL_REFUSED"),
    ] {
        let gateway = under(Policy::Ask, Server::new("a", &["one"])).await;
        ask(&gateway, AskVia::Client, ClientApproval::Call);
        let client = Client::legacy(&gateway, "", json!({"elicitation": {}})).await;
        let call = client.call("a__one", json!({"text": "x"}));
        let (result, ()) = tokio::join!(call, closed(&client, action));
        let said = result["content"][0]["text"].as_str().unwrap();
        assert_eq!(result["structuredContent"]["reason"], reason, "{said}");
        assert!(
            said.contains("was not run") && said.contains("Do not retry"),
            "{said}"
        );
        assert!(!result.to_string().contains("`pegboard "), "{result}");
        let says_how =
            said.contains("ask the user to allow `a__one` in Pegboard's dashboard or policy");
        assert_eq!(says_how, action == "cancel", "{said}");
    }
}

/// A destructive tool without a rule runs if the client cannot ask. A client that cancels could have asked.
#[tokio::test]
async fn r_gate_05_a_cancelled_request_does_not_let_a_destructive_tool_run() {
    let mut server = Server::new("a", &["one"]);
    server.tools[0]["annotations"] = json!({"destructiveHint": true});
    let (gateway, _) = gateway(vec![server], &[]).await;
    let client = Client::legacy(&gateway, "", json!({"elicitation": {}})).await;
    let call = client.call("a__one", json!({"text": "x"}));
    let (result, ()) = tokio::join!(call, closed(&client, "cancel"));
    assert_eq!(
        result["structuredContent"]["reason"], "APPROVAL_UNANSWERED",
        "{result}"
    );
    let silent = Client::legacy(&gateway, "", json!({})).await;
    let ran = silent.text("a__one", json!({"text": "x"})).await;
    assert_eq!(ran, r#"one {"text":"x"}"#);
}

#[tokio::test]
async fn r_gate_05_a_cancelled_request_waits_in_the_inbox() {
    let gateway = under(Policy::Ask, Server::new("a", &["one"])).await;
    ask(&gateway, AskVia::Both, ClientApproval::Call);
    let client = Client::legacy(&gateway, "", json!({"elicitation": {}})).await;
    let decide = async {
        closed(&client, "cancel").await;
        let hub = gateway.hub();
        loop {
            let waiting = hub.approvals().await.unwrap();
            if let Some(request) = waiting.first() {
                break hub
                    .decide_approval(&request.id, ApprovalDecision::Once, "test")
                    .await;
            }
            tokio::task::yield_now().await;
        }
    };
    let (text, decided) = tokio::join!(client.text("a__one", json!({"text": "x"})), decide);
    decided.unwrap();
    assert_eq!(text, r#"one {"text":"x"}"#);
}
