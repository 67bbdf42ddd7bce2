//! Messages between clients and servers during calls, over real pipes and sockets.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

#[path = "fixture/client.rs"]
mod client;
mod fixture;
#[path = "fixture/web.rs"]
mod web;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use client::Client;
use fixture::{connect, eventually, failure, nothing, sh, spec, within};
use pegboard_model::{Reason, ServerSpec, Template, Transport};
use pegboard_upstream::{Announcement, CallOptions, ForwardedRequest, OfferKind};
use tokio::sync::Notify;
use web::{Reply, Request, Web};

const CAPABILITIES: &str =
    r#"{"tools":{},"prompts":{},"resources":{"subscribe":true,"listChanged":true}}"#;

fn at(url: &str) -> ServerSpec {
    spec(Transport::Http {
        url: Template::literal(url),
        headers: BTreeMap::new(),
        bearer: None,
        wire: Default::default(),
    })
}

fn modern(request: &Request) -> Reply {
    match request.method().as_str() {
        "server/discover" => request.result(&format!(
            r#"{{"supportedVersions":["2026-07-28"],"capabilities":{CAPABILITIES}}}"#
        )),
        _ => request.error(404, -32601),
    }
}

fn legacy(request: &Request) -> Reply {
    match (request.verb.as_str(), request.method().as_str()) {
        ("POST", "initialize") => request
            .result(&format!(
                r#"{{"protocolVersion":"2025-11-25","capabilities":{CAPABILITIES}}}"#
            ))
            .with("Mcp-Session-Id", "s1"),
        ("POST", "server/discover") => Reply::status(400),
        ("POST", "resources/subscribe" | "resources/unsubscribe") => request.result("{}"),
        ("POST", _) => Reply::status(202),
        ("DELETE", _) => Reply::status(200),
        _ => Reply::status(405),
    }
}

fn event(message: &str) -> String {
    format!("data: {message}\n\n")
}

fn note(method: &str, params: &str) -> String {
    event(&format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/{method}","params":{params}}}"#
    ))
}

#[tokio::test]
async fn r_gate_03_progress_and_log_messages_come_in_the_stream_of_their_call() {
    for is_modern in [false, true] {
        let web = Web::start(move |request| match request.method().as_str() {
            "tools/call" => {
                let call = request.json();
                let token = &call["params"]["_meta"]["progressToken"];
                assert_eq!(*token, call["id"]);
                let progress = format!(r#"{{"progressToken":{token},"progress":0.50}}"#);
                let mut stream = note("progress", &progress);
                stream += &note("message", r#"{"level":"info","data":"x"}"#);
                stream += &note("progress", r#"{"progressToken":"foreign","progress":1}"#);
                stream += &event(&request.result_text("{}"));
                Reply::events(&stream)
            }
            _ if is_modern => modern(request),
            _ => legacy(request),
        })
        .await;
        let server = connect(&at(&web.url)).await.unwrap();
        let client = Client::new("{}");
        server.call("t", &nothing(), client.calls()).await.unwrap();
        let received = client.received();
        assert_eq!(received.len(), 2, "{received:?}");
        assert!(
            received[0].ends_with(r#","progress":0.50}"#),
            "{received:?}"
        );
        assert_eq!(received[1], r#"message {"level":"info","data":"x"}"#);
        assert_eq!(server.health().dropped_frames, 1);
        server.close().await;
    }
}

/// A legacy server that sends a request to the client (in the stream of the call, or beside it) and finishes the call
/// when it has the response.
fn asks(beside: bool) -> impl Fn(&Request) -> Reply + Send + Sync + 'static {
    const QUESTION: &str =
        r#"{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message": "?"}}"#;
    let (called, answered) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    move |request| {
        let method = request.method();
        match (request.verb.as_str(), method.as_str()) {
            ("POST", "tools/call") => {
                called.notify_one();
                let in_stream = if beside {
                    String::new()
                } else {
                    event(QUESTION)
                };
                let answer = event(&request.result_text("{}"));
                Reply::events(&in_stream).then(&answered, &answer)
            }
            ("GET", _) if beside => Reply::events(": hello\n\n").then(&called, &event(QUESTION)),
            ("POST", "") => {
                assert_eq!(request.header("mcp-session-id"), Some("s1"));
                answered.notify_one();
                Reply::status(202)
            }
            _ => legacy(request),
        }
    }
}

#[tokio::test]
async fn r_gate_03_a_question_in_or_beside_the_stream_of_a_call_is_answered() {
    for beside in [false, true] {
        let web = Web::start(asks(beside)).await;
        let server = connect(&at(&web.url)).await.unwrap();
        let client = Client::new(r#"{"action": "accept"}"#);
        server.call("t", &nothing(), client.calls()).await.unwrap();
        assert_eq!(
            client.received(),
            [r#"ask elicitation/create {"message": "?"}"#]
        );
        let answer = r#"{"jsonrpc":"2.0","id":"q","result":{"action": "accept"}}"#;
        assert!(web.seen().iter().any(|request| request.body == answer));
        server.close().await;
    }
}

#[tokio::test]
async fn r_gate_03_every_legacy_server_gets_the_same_capabilities() {
    let web = Web::start(legacy).await;
    connect(&at(&web.url)).await.unwrap().close().await;
    let opening = web
        .seen()
        .into_iter()
        .find(|request| request.method() == "initialize")
        .unwrap();
    assert_eq!(
        opening.json()["params"]["capabilities"],
        serde_json::json!({"elicitation":{"form":{},"url":{}},"sampling":{"context":{},"tools":{}},"roots":{"listChanged":true}})
    );
}

#[tokio::test]
async fn r_gate_03_an_interrupted_stream_is_resumed_at_the_last_event() {
    let polls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&polls);
    let id = Arc::new(std::sync::Mutex::new(String::new()));
    let web = Web::start(move |request| {
        let last = request.header("last-event-id").map(str::to_owned);
        match (request.verb.as_str(), request.method().as_str(), last) {
            ("POST", "tools/call", _) => {
                *id.lock().unwrap() = request.result_text(r#"{"polled":1.50}"#);
                Reply::events("id: e1\nretry: 60\ndata:\n\n")
            }
            ("GET", _, Some(last)) => match (count.fetch_add(1, Ordering::SeqCst), last.as_str()) {
                (0, "e1") => Reply::status(503),
                (1, "e1") => Reply::events("id: e2\ndata:\n\n"),
                (2, "e2") => Reply::events(&event(&id.lock().unwrap())),
                other => panic!("{other:?}"),
            },
            _ => legacy(request),
        }
    })
    .await;
    let server = connect(&at(&web.url)).await.unwrap();
    let outcome = server.call("t", &nothing(), within(30)).await.unwrap();
    assert_eq!(outcome.result.get(), r#"{"polled":1.50}"#);
    assert_eq!(polls.load(Ordering::SeqCst), 3);
    server.close().await;
}

#[tokio::test]
async fn a_stream_that_breaks_off_for_good_is_an_error() {
    for is_modern in [false, true] {
        let web = Web::start(move |request| match request.method().as_str() {
            "tools/call" => Reply::events("id: e1\nretry: 60\ndata:\n\n"),
            _ if is_modern => modern(request),
            _ => legacy(request),
        })
        .await;
        let server = connect(&at(&web.url)).await.unwrap();
        let error = failure(server.call("t", &nothing(), within(30)).await);
        assert_eq!(error.reason, Reason::ConnectFailed);
        let gets = web.seen().iter().filter(|seen| seen.verb == "GET").count();
        assert_eq!(gets, usize::from(!is_modern), "modern streams do not go on");
        server.close().await;
    }
}

#[tokio::test]
async fn r_gate_03_modern_requests_repeat_name_and_arguments_in_headers() {
    let web = Web::start(|request| match request.method().as_str() {
        "tools/call" => Reply {
            status: 400,
            ..Reply::json(&format!(
                r#"{{"jsonrpc":"2.0","id":{},"error":{{"code":-32020,"message":"mismatch","data":{{"header": "Mcp-Param-Region"}}}}}}"#,
                request.json()["id"]
            ))
        },
        "resources/read" => request.result(r#"{"contents":[]}"#),
        _ => modern(request),
    })
    .await;
    let server = connect(&at(&web.url)).await.unwrap();
    let options = CallOptions {
        headers: vec![("Region".into(), "eu".into())],
        ..within(30)
    };
    let error = failure(server.call("t", &nothing(), options).await);
    let rpc = error.into_details().rpc.unwrap();
    assert_eq!(
        (rpc.code, rpc.data.as_deref()),
        (-32020, Some(r#"{"header": "Mcp-Param-Region"}"#))
    );
    let call = web.seen().pop().unwrap();
    assert_eq!(call.header("mcp-param-region"), Some("eu"));
    let read = ForwardedRequest {
        method: "resources/read",
        members: r#""uri":"file:///ä""#,
        name: Some("file:///ä"),
    };
    server.request(read, within(30)).await.unwrap();
    let read = web.seen().pop().unwrap();
    assert_eq!(
        (read.header("mcp-name"), read.header("mcp-method")),
        (Some("=?base64?ZmlsZTovLy/DpA==?="), Some("resources/read"))
    );
    server.close().await;
}

#[tokio::test]
async fn r_gate_03_watched_resources_are_watched_again_in_a_new_session() {
    let forgets = Arc::new(AtomicUsize::new(0));
    let flag = Arc::clone(&forgets);
    let web = Web::start(move |request| match request.method().as_str() {
        "tools/call" if flag.fetch_add(1, Ordering::SeqCst) == 0 => Reply::status(404),
        "tools/call" => request.result("{}"),
        _ => legacy(request),
    })
    .await;
    let server = connect(&at(&web.url)).await.unwrap();
    server.watch_resource("file:///a", true).await.unwrap();
    server.watch_resource("file:///b", true).await.unwrap();
    server.watch_resource("file:///a", false).await.unwrap();
    server.call("t", &nothing(), within(30)).await.unwrap();
    let subscribed = || {
        let seen = web.seen();
        let asked = seen
            .iter()
            .filter(|request| request.method() == "resources/subscribe");
        asked
            .map(|request| request.json()["params"]["uri"].to_string())
            .collect::<Vec<_>>()
    };
    eventually("the new subscription", || subscribed().len() >= 3).await;
    assert_eq!(
        subscribed(),
        [r#""file:///a""#, r#""file:///b""#, r#""file:///b""#]
    );
    server.close().await;
}

#[tokio::test]
async fn r_gate_03_a_modern_server_announces_updates_of_what_is_watched() {
    let web = Web::start(|request| match request.method().as_str() {
        "subscriptions/listen" => {
            let body = request.json();
            let tag = format!(
                r#""_meta":{{"io.modelcontextprotocol/subscriptionId":{}}}"#,
                body["id"]
            );
            let mut stream = note("subscriptions/acknowledged", &format!("{{{tag}}}"));
            for uri in body["params"]["notifications"]["resourceSubscriptions"]
                .as_array()
                .into_iter()
                .flatten()
            {
                stream += &note("resources/updated", &format!(r#"{{"uri":{uri},{tag}}}"#));
            }
            Reply {
                stays_open: true,
                ..Reply::events(&stream)
            }
        }
        _ => modern(request),
    })
    .await;
    let server = connect(&at(&web.url)).await.unwrap();
    let mut announced = server.announcements();
    server.watch_resource("file:///a", true).await.unwrap();
    let updated = tokio::time::timeout(Duration::from_secs(30), announced.recv()).await;
    let expected = Announcement::ResourceUpdated {
        uri: "file:///a".into(),
    };
    assert_eq!(updated.unwrap().unwrap(), expected);
    let filters: Vec<_> = web
        .seen()
        .iter()
        .filter(|request| request.method() == "subscriptions/listen")
        .map(|request| request.json()["params"]["notifications"].to_string())
        .collect();
    let watched = r#"{"resourceSubscriptions":["file:///a"],"resourcesListChanged":true}"#;
    let last: serde_json::Value = serde_json::from_str(filters.last().unwrap()).unwrap();
    let expected: serde_json::Value = serde_json::from_str(watched).unwrap();
    assert_eq!(last, expected);
    server.close().await;
}

/// A legacy stdio server that sends progress and a request to the client before it responds.
const ASKS: &str = r#"
say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
while read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}
  case "$line" in
    *'"method":"initialize"'*) say '{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{}}}' ;;
    *'"method":"server/discover"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
    *'"method":"prompts/list"'*) say '{"prompts":[{"name":"p"}]}' ;;
    *'"method":"tools/call"'*)
      printf '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}\n' "$id"
      printf '{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"maxTokens":1}}\n'
      read -r answer
      say "{\"content\":[],\"got\":$answer}" ;;
  esac
done
"#;

#[tokio::test]
async fn r_gate_03_progress_and_questions_pass_through_a_real_process() {
    let server = connect(&sh(ASKS)).await.unwrap();
    let client = Client::new(r#"{"role":"assistant"}"#);
    let outcome = server.call("t", &nothing(), client.calls()).await.unwrap();
    assert_eq!(
        outcome.result.get(),
        r#"{"content":[],"got":{"jsonrpc":"2.0","id":"q","result":{"role":"assistant"}}}"#
    );
    let received = client.received();
    assert!(received[0].starts_with("progress "), "{received:?}");
    assert_eq!(received[1], r#"ask sampling/createMessage {"maxTokens":1}"#);
    let prompts = server.list_offers(OfferKind::Prompts).await.unwrap();
    assert_eq!(prompts[0].get(), r#"{"name":"p"}"#);
    assert!(
        server
            .list_offers(OfferKind::Resources)
            .await
            .unwrap()
            .is_empty()
    );
    server.close().await;
}
