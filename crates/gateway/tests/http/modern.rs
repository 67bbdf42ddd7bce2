//! Clients of the stateless revision.

use std::sync::Arc;
use std::time::Duration;

use pegboard_testkit::wait_until;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::fake::{Server, text};
use crate::test_server::{TestServer, send_progress};

fn call(tool: &str) -> Value {
    json!({"name": tool, "arguments": {"text": "x"}})
}

#[tokio::test]
async fn r_gate_01_a_response_without_earlier_messages_is_plain_json() {
    let server = TestServer::of(vec![Server::new("one", &["work"])]).await;
    let response = server
        .send(server.modern("/mcp", "tools/call", call("one__work")))
        .await;
    assert_eq!(response.status, 200);
    assert_eq!(response.header("content-type"), Some("application/json"));
    assert_eq!(response.header("mcp-session-id"), None);
    let output = response.json();
    assert_eq!(output["id"], 7);
    assert_eq!(
        output["result"]["content"][0]["text"],
        r#"work {"text":"x"}"#
    );
    server.end().await;
}

#[tokio::test]
async fn r_gate_01_messages_before_the_response_make_it_a_stream() {
    let server = Server::new("one", &["work"]).on_call(|_, _, options| async move {
        for step in 1..=3 {
            send_progress(&options, step);
        }
        Ok(text("done"))
    });
    let server = TestServer::of(vec![server]).await;
    let mut params = call("one__work");
    params["_meta"] = json!({"progressToken": "p"});
    let response = server
        .send(server.modern("/mcp", "tools/call", params))
        .await;
    assert_eq!(response.header("content-type"), Some("text/event-stream"));
    assert_eq!(response.header("x-accel-buffering"), Some("no"));
    let events = response.events();
    let methods: Vec<_> = events
        .iter()
        .map(|(_, output)| output["method"].clone())
        .collect();
    let progress = json!("notifications/progress");
    assert_eq!(
        methods,
        [progress.clone(), progress.clone(), progress, Value::Null]
    );
    let (_, last) = &events[3];
    assert_eq!(last["result"]["content"][0]["text"], "done");
    assert!(
        events.iter().all(|(id, _)| id.is_empty()),
        "modern streams cannot be resumed"
    );
    server.end().await;
}

#[tokio::test]
async fn r_gate_01_mistakes_get_the_status_that_the_revision_asks_for() {
    let server = TestServer::of(vec![Server::new("one", &["work"])]).await;
    let list = || server.modern("/mcp", "tools/list", json!({}));
    let without_meta = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": {}});
    let reply = json!({"jsonrpc": "2.0", "id": 7, "result": {}});
    let note = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {}});
    let modern = |body: &Value| {
        server
            .post("/mcp", body)
            .header("MCP-Protocol-Version", "2026-07-28")
    };
    let future = list().header("MCP-Protocol-Version", "2099-01-01");
    for (what, request, status, code) in [
        (
            "no method header",
            list().header("Mcp-Method", ""),
            400,
            -32020,
        ),
        (
            "another method",
            list().header("Mcp-Method", "ping"),
            400,
            -32020,
        ),
        ("another version", future, 400, -32020),
        (
            "no `_meta`",
            modern(&without_meta).header("Mcp-Method", "tools/list"),
            400,
            -32602,
        ),
        (
            "a method that is not there",
            server.modern("/mcp", "no/such", json!({})),
            404,
            -32601,
        ),
        (
            "not JSON",
            server.post("/mcp", &json!({})).body("{"),
            400,
            -32700,
        ),
        (
            "a batch",
            server.post("/mcp", &json!([without_meta.clone()])),
            400,
            -32600,
        ),
        ("an answer of a client", modern(&reply), 400, -32600),
        (
            "another type",
            list().header("Content-Type", "text/plain"),
            415,
            -32600,
        ),
        (
            "no streams",
            list().header("Accept", "application/json"),
            406,
            -32600,
        ),
        ("a GET", server.request("GET", "/mcp"), 405, -32600),
        ("a DELETE", server.request("DELETE", "/mcp"), 405, -32600),
    ] {
        let response = server.send(request).await;
        assert_eq!(response.status, status, "{what}: {response:?}");
        assert_eq!(
            response.json()["error"]["code"],
            code,
            "{what}: {response:?}"
        );
    }
    let response = server.send(modern(&note)).await;
    assert_eq!((response.status, response.body.as_str()), (202, ""));
    server.end().await;
}

#[tokio::test]
async fn r_gate_01_an_unsupported_revision_is_answered_by_the_supported_ones() {
    let server = TestServer::of(vec![Server::new("one", &["work"])]).await;
    let params = json!({"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2099-01-01",
        "io.modelcontextprotocol/clientCapabilities": {},
    }});
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": params});
    let request = server.post("/mcp", &body);
    let request = request
        .header("MCP-Protocol-Version", "2099-01-01")
        .header("Mcp-Method", "tools/list");
    let response = server.send(request).await;
    assert_eq!(response.status, 400, "{response:?}");
    let error = &response.json()["error"];
    assert_eq!(error["code"], -32022);
    assert_eq!(error["data"]["supported"][0], "2026-07-28");
    server.end().await;
}

#[tokio::test]
async fn r_gate_01_a_client_that_goes_away_cancels_its_request() {
    struct Noted(Arc<Notify>);
    impl Drop for Noted {
        fn drop(&mut self) {
            self.0.notify_one();
        }
    }
    let (begun, ended) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (tell_begun, tell_ended) = (begun.clone(), ended.clone());
    let server = Server::new("one", &["work"]).on_call(move |_, _, options| {
        let (begun, noted) = (tell_begun.clone(), Noted(tell_ended.clone()));
        async move {
            let _noted = noted;
            send_progress(&options, 1);
            begun.notify_one();
            std::future::pending().await
        }
    });
    let server = TestServer::of(vec![server]).await;
    let mut params = call("one__work");
    params["_meta"] = json!({"progressToken": 1});
    let mut open = server
        .modern("/mcp", "tools/call", params)
        .open(server.address)
        .await;
    assert!(open.until("notifications/progress").await);
    begun.notified().await;
    drop(open);
    tokio::time::timeout(Duration::from_secs(30), ended.notified())
        .await
        .expect("the call ends with its connection");
    server.end().await;
}

#[tokio::test]
async fn r_gate_01_the_end_of_the_program_ends_standing_streams_and_lets_calls_finish() {
    let (begun, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (tell_begun, wait) = (begun.clone(), go_on.clone());
    let server = Server::new("one", &["work"]).on_call(move |_, _, _| {
        let (begun, go_on) = (tell_begun.clone(), wait.clone());
        async move {
            begun.notify_one();
            go_on.notified().await;
            Ok(text("last"))
        }
    });
    let server = TestServer::of(vec![server]).await;
    let address = server.address;
    let listen = json!({"notifications": {"toolsListChanged": true}});
    let listen = server.modern("/mcp", "subscriptions/listen", listen);
    let mut stream = listen.open(address).await;
    assert!(stream.until("acknowledged").await);
    let request = server.modern("/mcp", "tools/call", call("one__work"));
    let response = tokio::spawn(request.send(address));
    begun.notified().await;

    let ending = tokio::spawn(server.end());
    stream.rest().await;
    go_on.notify_one();
    let response = response.await.unwrap();
    assert_eq!(response.json()["result"]["content"][0]["text"], "last");
    ending.await.unwrap();
    wait_until("the listener is closed", Duration::from_secs(30), || {
        std::net::TcpStream::connect(address).is_err()
    })
    .await;
}
