//! Tests of messages between a client and a server during a call, independent of the transport.

use std::sync::Arc;
use std::time::Duration;

use pegboard_jsonrpc::meta;
use pegboard_model::{Reason, ToolResult};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::contract::{
    Announcement, CallOptions, CallOutcome, Caller, ForwardedRequest, InputResponses, OfferKind,
    OutcomeKind,
};
use crate::forward::OutgoingRequest;
use crate::session::Session;
use crate::stdio_listen::listen;
use crate::testing::ClientAnswer::{Never, Refusal, Result as Answers};
use crate::testing::{Client, Memory, Peer, session};

const EVERYTHING: &str = r#"{"tools":{},"prompts":{},"resources":{"subscribe":true},"logging":{}}"#;

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

fn options(client: &Arc<Client>) -> CallOptions {
    CallOptions {
        caller: Some(Arc::clone(client) as Arc<dyn Caller>),
        ..CallOptions::with_timeout(Duration::from_secs(10))
    }
}

async fn call(session: &Session<Memory>, options: CallOptions) -> ToolResult<CallOutcome> {
    let arguments = raw("{}");
    let request = OutgoingRequest::call("tool", &arguments);
    session.forward(request, &options).await
}

/// Starts a call and waits until the server has received it. Returns the server's id of the call.
async fn begin(
    session: &Arc<Session<Memory>>,
    peer: &mut Peer,
    client: &Arc<Client>,
) -> (u64, tokio::task::JoinHandle<ToolResult<CallOutcome>>) {
    let (session, options) = (Arc::clone(session), options(client));
    let running = tokio::spawn(async move { call(&session, options).await });
    let id = peer.json().await["id"].as_u64().unwrap();
    (id, running)
}

fn notification(method: &str, params: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/{method}\",\"params\":{params}}}\n")
}

fn request_line(id: &str, method: &str, params: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}\n")
}

#[tokio::test(start_paused = true)]
async fn r_gate_03_progress_reaches_the_client_and_renews_the_time() {
    for (max_duration, expected) in [(0, None), (25, Some(25))] {
        let (session, mut peer) = session(false, EVERYTHING);
        let client = Client::new("a", Never);
        let script = async {
            let asked = peer.json().await;
            let id = asked["id"].as_u64().unwrap();
            assert_eq!(asked["params"]["_meta"]["progressToken"], id);
            for strange in ["\"x\"", "999", "null", "{}"] {
                let params = format!("{{\"progressToken\":{strange},\"progress\":1}}");
                peer.write(&notification("progress", &params)).await;
            }
            for step in 1..=6 {
                tokio::time::sleep(Duration::from_secs(8)).await;
                let params = format!("{{\"progressToken\":{id},\"progress\":{step}.50}}");
                peer.write(&notification("progress", &params)).await;
            }
            peer.result(id, "{\"done\":1}").await;
            (id, peer)
        };
        let begun = Instant::now();
        let wanted = CallOptions {
            max_duration: Duration::from_secs(max_duration),
            ..options(&client)
        };
        let (outcome, (id, _peer)) = tokio::join!(
            async {
                let outcome = call(&session, wanted).await;
                (outcome, begun.elapsed().as_secs())
            },
            script
        );
        match (expected, outcome) {
            (None, (outcome, seconds)) => {
                assert_eq!(outcome.unwrap().result.get(), "{\"done\":1}");
                assert_eq!(seconds, 48);
                let received = client.received();
                assert_eq!(received.len(), 6, "{received:?}");
                let first = format!("progress {{\"progressToken\":{id},\"progress\":1.50}}");
                assert_eq!(received[0], first, "as the server wrote it");
                let health = session.transport.0.inbound.health();
                assert_eq!(health.dropped_frames, 4, "foreign tokens");
            }
            (Some(hard), (outcome, seconds)) => {
                assert_eq!(outcome.unwrap_err().reason, Reason::CallTimeout);
                assert_eq!(seconds, hard);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn r_gate_03_a_silent_call_ends_though_another_one_makes_progress() {
    let (session, mut peer) = session(false, EVERYTHING);
    let client = Client::new("a", Never);
    let (_, silent) = begin(&session, &mut peer, &client).await;
    let (busy, running) = begin(&session, &mut peer, &client).await;
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_secs(4)).await;
        let params = format!("{{\"progressToken\":{busy},\"progress\":1}}");
        peer.write(&notification("progress", &params)).await;
    }
    assert_eq!(
        silent.await.unwrap().unwrap_err().reason,
        Reason::CallTimeout
    );
    assert!(peer.line().await.contains("notifications/cancelled"));
    peer.result(busy, "{}").await;
    assert!(running.await.unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn r_gate_04_a_log_message_reaches_a_client_only_if_it_is_clear_which() {
    let (session, mut peer) = session(false, EVERYTHING);
    let (one, two) = (Client::new("a", Never), Client::new("b", Never));
    let (first, one_runs) = begin(&session, &mut peer, &one).await;
    let message = r#"{"level":"info","data":{"n":1.50}}"#;
    peer.write(&notification("message", message)).await;
    let (second, two_runs) = begin(&session, &mut peer, &two).await;
    // Calls of two sessions are running.
    peer.write(&notification("message", "{\"data\":1}")).await;
    peer.result(first, "{}").await;
    one_runs.await.unwrap().unwrap();
    peer.write(&notification("message", "{\"data\":2}")).await;
    peer.result(second, "{}").await;
    two_runs.await.unwrap().unwrap();
    assert_eq!(one.received(), [format!("message {message}")]);
    assert_eq!(two.received(), ["message {\"data\":2}"]);
}

#[tokio::test(start_paused = true)]
async fn r_gate_03_the_log_level_is_sent_in_the_form_of_the_era() {
    let at = |level: &str| {
        let mut meta = Map::new();
        meta.insert(meta::LOG_LEVEL.into(), level.into());
        CallOptions {
            meta: Some(meta),
            ..CallOptions::with_timeout(Duration::from_secs(10))
        }
    };
    let run = async |is_modern: bool, capabilities: &str| {
        let (session, mut peer) = session(is_modern, capabilities);
        let script = async {
            let mut seen = Vec::new();
            loop {
                let asked = peer.json().await;
                let level = match asked["method"].as_str().unwrap() {
                    "logging/setLevel" => format!("set {}", asked["params"]["level"]),
                    _ => format!("call {}", asked["params"]["_meta"][meta::LOG_LEVEL]),
                };
                seen.push(level);
                peer.result(asked["id"].as_u64().unwrap(), "{}").await;
                if seen.iter().filter(|what| what.starts_with("call")).count() == 3 {
                    return seen;
                }
            }
        };
        let calls = async {
            for level in ["debug", "debug", "error"] {
                call(&session, at(level)).await.unwrap();
            }
        };
        tokio::join!(script, calls).0
    };
    assert_eq!(
        run(false, EVERYTHING).await,
        [
            "set \"debug\"",
            "call null",
            "call null",
            "set \"error\"",
            "call null"
        ]
    );
    assert_eq!(run(false, "{\"tools\":{}}").await, ["call null"; 3]);
    let modern = ["call \"debug\"", "call \"debug\"", "call \"error\""];
    assert_eq!(run(true, EVERYTHING).await, modern);
}

#[tokio::test(start_paused = true)]
async fn r_gate_03_a_client_request_is_forwarded_and_its_response_returned() {
    let (session, mut peer) = session(false, EVERYTHING);
    let accepts = Client::new("a", Answers("{\"action\":\"accept\",\n\"n\":1.50}"));
    let (id, running) = begin(&session, &mut peer, &accepts).await;
    peer.write(&request_line(
        "\"q-1\"",
        "elicitation/create",
        "{\"x\": 1.50}",
    ))
    .await;
    assert_eq!(
        peer.line().await,
        r#"{"jsonrpc":"2.0","id":"q-1","result":{"action":"accept", "n":1.50}}"#
    );
    peer.write(&request_line("7", "sampling/createMessage", "{}"))
        .await;
    let refused = peer.json().await;
    assert_eq!(
        (&refused["id"], &refused["error"]["code"]),
        (&json!(7), &json!(-32601))
    );
    peer.write(&request_line(
        "8",
        "elicitation/create",
        "{\"mode\":\"url\"}",
    ))
    .await;
    assert_eq!(peer.json().await["error"]["code"], -32601);
    assert_eq!(accepts.received(), ["ask elicitation/create {\"x\": 1.50}"]);
    peer.result(id, "{}").await;
    running.await.unwrap().unwrap();

    let refuses = Client::new("a", Refusal(-1));
    let (id, running) = begin(&session, &mut peer, &refuses).await;
    peer.write(&request_line("9", "elicitation/create", "{}"))
        .await;
    assert_eq!(
        peer.line().await,
        r#"{"jsonrpc":"2.0","id":9,"error":{"code":-1,"message":"no","data":{"why":1.50}}}"#
    );
    peer.result(id, "{}").await;
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn r_gate_03_a_client_request_needs_an_unambiguous_call() {
    let (session, mut peer) = session(false, EVERYTHING);
    let ask = request_line("1", "elicitation/create", "{}");
    let code = async |peer: &mut Peer| {
        peer.write(&ask).await;
        peer.json().await["error"]["code"].clone()
    };
    assert_eq!(code(&mut peer).await, -32601, "no call is running");
    let (one, newer) = (Client::new("a", Never), Client::new("a", Answers("{}")));
    let (_, _one) = begin(&session, &mut peer, &one).await;
    let (_, _newer) = begin(&session, &mut peer, &newer).await;
    assert_eq!(code(&mut peer).await, Value::Null, "the newest answers");
    assert_eq!((one.received().len(), newer.received().len()), (0, 1));
    let other = Client::new("b", Answers("{}"));
    let (_, _other) = begin(&session, &mut peer, &other).await;
    assert_eq!(code(&mut peer).await, -32603, "two sessions");
    assert_eq!((newer.received().len(), other.received().len()), (0, 0));
    assert_eq!(session.transport.0.inbound.health().refused_requests, 2);
}

#[tokio::test(start_paused = true)]
async fn r_gate_03_a_client_request_ends_with_its_call_or_when_cancelled() {
    let (session, mut peer) = session(false, EVERYTHING);
    let client = Client::new("a", Never);
    let (id, running) = begin(&session, &mut peer, &client).await;
    peer.write(&request_line("\"one\"", "elicitation/create", "{}"))
        .await;
    peer.write(&request_line("\"two\"", "elicitation/create", "{}"))
        .await;
    peer.write(&notification("cancelled", "{\"requestId\":\"one\"}"))
        .await;
    // Reading never blocks: a ping is answered although two requests are pending.
    peer.write(&request_line("3", "ping", "{}")).await;
    assert_eq!(peer.json().await["id"], 3);
    peer.result(id, "{}").await;
    running.await.unwrap().unwrap();
    let over = peer.json().await;
    assert_eq!(
        (&over["id"], &over["error"]["code"]),
        (&json!("two"), &json!(-32603))
    );
    peer.write(&request_line("4", "ping", "{}")).await;
    assert_eq!(peer.json().await["id"], 4, "nothing was said of the first");
}

#[tokio::test(start_paused = true)]
async fn r_sec_01_open_questions_are_limited() {
    let (session, mut peer) = session(false, EVERYTHING);
    let client = Client::new("a", Never);
    let (_, _running) = begin(&session, &mut peer, &client).await;
    for number in 0..64 {
        peer.write(&request_line(
            &number.to_string(),
            "elicitation/create",
            "{}",
        ))
        .await;
    }
    peer.write(&request_line("64", "elicitation/create", "{}"))
        .await;
    let refused = peer.json().await;
    assert_eq!(
        (&refused["id"], &refused["error"]["code"]),
        (&json!(64), &json!(-32603))
    );
}

#[tokio::test(start_paused = true)]
async fn r_gate_03_a_modern_server_gets_exactly_the_capabilities_of_the_client() {
    let (session, mut peer) = session(true, EVERYTHING);
    let client = Client::new("a", Never);
    let key = "io.modelcontextprotocol/clientCapabilities";
    for (options, expected) in [
        (options(&client), json!({"elicitation":{},"roots":{}})),
        (CallOptions::with_timeout(Duration::from_secs(9)), json!({})),
    ] {
        let script = async {
            let asked = peer.json().await;
            assert_eq!(asked["params"]["_meta"][key], expected);
            let id = asked["id"].as_u64().unwrap();
            peer.write(&request_line("1", "roots/list", "{}")).await;
            assert_eq!(peer.json().await["error"]["code"], -32601);
            peer.result(
                id,
                "{\"resultType\":\"input_required\",\"requestState\":\"s\"}",
            )
            .await;
        };
        let (outcome, ()) = tokio::join!(call(&session, options), script);
        assert_eq!(outcome.unwrap().kind, OutcomeKind::InputRequired);
    }
    assert!(client.received().is_empty());
}

#[tokio::test(start_paused = true)]
async fn r_gate_03_any_request_is_passed_on_and_its_error_comes_back_as_it_is() {
    let (session, mut peer) = session(true, EVERYTHING);
    let forward = ForwardedRequest {
        method: "prompts/get",
        members: "\"name\":\"p\",\n\"arguments\":{\"a\":1.50}",
        name: Some("p"),
    };
    let within = || CallOptions::with_timeout(Duration::from_secs(9));
    let answered = CallOptions {
        input: Some(InputResponses {
            responses: raw("{\"q\":{}}"),
            state: None,
        }),
        ..within()
    };
    let script = async {
        let first = peer.line().await;
        assert!(
            first.contains(r#""params":{"name":"p", "arguments":{"a":1.50},"_meta":"#),
            "{first}"
        );
        let error = r#"{"code":-32042,"message":"open it","data":{ "url":"https://x" }}"#;
        peer.error(1, error).await;
        let again = peer.json().await;
        assert_eq!(again["params"]["inputResponses"], json!({"q":{}}));
        peer.result(2, "{\"messages\": [1.50]}").await;
    };
    let asking = async {
        let error = session
            .forward(OutgoingRequest::other(forward), &within())
            .await
            .unwrap_err();
        assert_eq!(error.reason, Reason::ServerError);
        let rpc = error.into_details().rpc.unwrap();
        assert_eq!((rpc.code, rpc.message.as_str()), (-32042, "open it"));
        assert_eq!(rpc.data.as_deref(), Some("{ \"url\":\"https://x\" }"));
        let outcome = session
            .forward(OutgoingRequest::other(forward), &answered)
            .await
            .unwrap();
        assert_eq!(outcome.result.get(), "{\"messages\": [1.50]}");
    };
    tokio::join!(script, asking);
}

#[tokio::test(start_paused = true)]
async fn r_gate_03_other_lists_are_paged_like_tools() {
    let (session, mut peer) = session(false, "{\"resources\":{}}");
    let script = async {
        let first = peer.json().await;
        assert_eq!(first["method"], "resources/templates/list");
        peer.result(
            1,
            r#"{"resourceTemplates":[{"uriTemplate":"a", "n":1.50}],"nextCursor":"2"}"#,
        )
        .await;
        assert_eq!(peer.json().await["params"]["cursor"], "2");
        peer.result(2, r#"{"resourceTemplates":[{"uriTemplate":"b"}]}"#)
            .await;
        peer.json().await;
        peer.error(3, r#"{"code":-32601,"message":"no"}"#).await;
        peer.json().await;
        peer.error(4, r#"{"code":-32603,"message":"no"}"#).await;
    };
    let asking = async {
        let none = session.offers(OfferKind::Prompts).await.unwrap();
        assert!(none.is_empty(), "undeclared, and not asked for");
        let found = session.offers(OfferKind::Templates).await.unwrap();
        let found: Vec<_> = found.iter().map(|offer| offer.get()).collect();
        assert_eq!(
            found,
            [r#"{"uriTemplate":"a", "n":1.50}"#, r#"{"uriTemplate":"b"}"#]
        );
        assert!(
            session
                .offers(OfferKind::Resources)
                .await
                .unwrap()
                .is_empty()
        );
        let error = session.offers(OfferKind::Resources).await.unwrap_err();
        assert!(error.message.contains("`resources/list`"), "{error}");
    };
    tokio::join!(script, asking);
}

#[tokio::test(start_paused = true)]
async fn r_gate_03_a_legacy_server_is_asked_for_updates_and_announces_them() {
    let (session, mut peer) = session(false, EVERYTHING);
    let mut announced = session.transport.0.inbound.announcements();
    let script = async {
        for (method, uri) in [("subscribe", "a"), ("subscribe", "b"), ("unsubscribe", "a")] {
            let asked = peer.json().await;
            assert_eq!(asked["method"], format!("resources/{method}"));
            assert_eq!(asked["params"]["uri"], uri);
            peer.result(asked["id"].as_u64().unwrap(), "{}").await;
        }
        let id = peer.json().await["id"].as_u64().unwrap();
        peer.error(id, r#"{"code":-32002,"message":"no such resource"}"#)
            .await;
        for (method, params) in [
            ("resources/updated", "{\"uri\":\"b\"}"),
            ("resources/updated", "{}"),
            ("resources/list_changed", "{}"),
            ("prompts/list_changed", "{}"),
        ] {
            peer.write(&notification(method, params)).await;
        }
    };
    let asking = async {
        session.watch_resource("a", true).await.unwrap();
        session.watch_resource("b", true).await.unwrap();
        let full = session.watch_resource("c", true).await.unwrap_err();
        assert_eq!(full.reason, Reason::Overloaded);
        session.watch_resource("a", false).await.unwrap();
        let error = session.watch_resource("d", true).await.unwrap_err();
        assert_eq!(error.into_details().rpc.unwrap().code, -32002);
        assert_eq!(session.subscriptions.uris(), ["b"]);
    };
    tokio::join!(script, asking);
    let updated = Announcement::ResourceUpdated { uri: "b".into() };
    assert_eq!(announced.recv().await.unwrap(), updated);
    assert_eq!(
        announced.recv().await.unwrap(),
        Announcement::ResourcesChanged
    );
    assert_eq!(
        announced.recv().await.unwrap(),
        Announcement::PromptsChanged
    );
}

#[tokio::test(start_paused = true)]
async fn r_gate_03_a_modern_server_is_asked_again_when_something_else_is_watched() {
    let (session, mut peer) = session(true, r#"{"prompts":{"listChanged":true},"resources":{}}"#);
    let rpc = Arc::clone(&session.transport.0);
    let subscriptions = Arc::clone(&session.subscriptions);
    tokio::spawn(listen(
        rpc,
        session.dialect().clone(),
        subscriptions,
        session.capabilities(),
    ));
    let first = peer.json().await;
    assert_eq!(first["method"], "subscriptions/listen");
    assert_eq!(
        first["params"]["notifications"],
        json!({"promptsListChanged":true})
    );
    let begun = Instant::now();
    let script = async {
        let second = peer.json().await;
        assert_eq!(
            second["params"]["notifications"],
            json!({"promptsListChanged":true,"resourceSubscriptions":["a"]})
        );
        let cancelled = peer.json().await;
        assert_eq!(cancelled["params"]["requestId"], first["id"], "after it");
        let params = format!(
            "{{\"_meta\":{{\"io.modelcontextprotocol/subscriptionId\":{}}}}}",
            second["id"]
        );
        tokio::time::sleep(Duration::from_millis(500)).await;
        peer.write(&notification("subscriptions/acknowledged", &params))
            .await;
        peer
    };
    let (watched, mut peer) = tokio::join!(session.watch_resource("a", true), script);
    watched.unwrap();
    assert_eq!(begun.elapsed(), Duration::from_millis(500), "it is known");
    session.watch_resource("a", false).await.unwrap();
    let third = peer.json().await;
    assert_eq!(
        third["params"]["notifications"],
        json!({"promptsListChanged":true})
    );
}
