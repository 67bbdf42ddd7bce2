//! The stdio transport, with a client at the other end of two pipes.

// Test helpers may panic like the tests themselves.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]
#![allow(
    dead_code,
    reason = "the fake servers are shared with the tests of the core"
)]

#[path = "../core/fake.rs"]
mod fake;

use std::sync::Arc;
use std::time::Duration;

use fake::{Server, hub, text};
use pegboard_gateway::{Gateway, GatewaySettings, stdio};
use pegboard_model::{Limits, Reason, ToolResult};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::timeout;

const TIMEOUT: Duration = Duration::from_secs(30);

async fn gateway(servers: Vec<Server>) -> Gateway {
    let (hub, _) = hub(servers).await;
    hub.ensure_known().await;
    Gateway::new(
        hub,
        GatewaySettings {
            profiles: [("work".to_owned(), Default::default())].into(),
            result_tokens: 25_000,
            key: [7; 32],
            version: "1.2.3".to_owned(),
            limits: Limits::default(),
        },
    )
}

struct Client {
    input: Option<DuplexStream>,
    output: Lines<BufReader<DuplexStream>>,
    running: JoinHandle<ToolResult<()>>,
}

impl Client {
    async fn of(servers: Vec<Server>) -> Self {
        Self::within(servers, Limits::default()).await
    }

    /// A client of a server that shuts down when notified.
    async fn until(servers: Vec<Server>, shutdown: Arc<Notify>) -> (Self, Gateway) {
        let gateway = gateway(servers).await;
        let (input, stdin) = tokio::io::duplex(64 * 1024);
        let (stdout, output) = tokio::io::duplex(64 * 1024);
        let served = gateway.clone();
        let running = tokio::spawn(async move {
            stdio::run_until(served, "", stdin, stdout, shutdown.notified()).await
        });
        let client = Self {
            input: Some(input),
            output: BufReader::new(output).lines(),
            running,
        };
        (client, gateway)
    }

    async fn within(servers: Vec<Server>, limits: Limits) -> Self {
        let gateway = gateway(servers).await;
        let (input, stdin) = tokio::io::duplex(64 * 1024);
        let (stdout, output) = tokio::io::duplex(64 * 1024);
        let running =
            tokio::spawn(
                async move { stdio::run_within(gateway, "", stdin, stdout, &limits).await },
            );
        Self {
            input: Some(input),
            output: BufReader::new(output).lines(),
            running,
        }
    }

    async fn line(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(line.as_bytes()).await.unwrap();
        input.write_all(b"\n").await.unwrap();
    }

    async fn request(&mut self, id: u32, method: &str, params: Value) {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.line(&message.to_string()).await;
    }

    async fn initialize(&mut self, revision: &str) {
        let params = json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        self.request(0, "initialize", params).await;
        assert_eq!(self.next().await["result"]["protocolVersion"], revision);
    }

    /// The next message. Every line must be one.
    async fn next(&mut self) -> Value {
        let line = timeout(TIMEOUT, self.output.next_line()).await;
        let line = line.expect("a line in time").unwrap().expect("a line");
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("no message: {line}"))
    }

    /// Closes the input and returns the remaining messages.
    async fn end(mut self) -> Vec<Value> {
        drop(self.input.take());
        let mut rest = Vec::new();
        while let Some(line) = timeout(TIMEOUT, self.output.next_line())
            .await
            .unwrap()
            .unwrap()
        {
            rest.push(serde_json::from_str(&line).unwrap());
        }
        self.running.await.unwrap().unwrap();
        rest
    }
}

fn call(text: &str) -> Value {
    json!({"name": "one__work", "arguments": {"text": text}})
}

#[tokio::test]
async fn r_gate_01_stdio_serves_clients_of_both_eras() {
    let mut client = Client::of(vec![Server::new("one", &["work"])]).await;
    client.initialize("2025-11-25").await;
    client
        .line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .await;
    client.request(1, "tools/call", call("a")).await;
    assert_eq!(
        client.next().await["result"]["content"][0]["text"],
        r#"work {"text":"a"}"#
    );
    assert_eq!(client.end().await, [] as [Value; 0]);

    let mut client = Client::of(vec![Server::new("one", &["work"])]).await;
    let mut params = call("b");
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    client.request(2, "tools/call", params).await;
    let response = client.next().await;
    assert_eq!(response["id"], 2);
    assert_eq!(
        response["result"]["content"][0]["text"],
        r#"work {"text":"b"}"#
    );
    client.end().await;
}

#[tokio::test]
async fn r_gate_01_invalid_messages_get_an_error_and_affect_nothing_else() {
    let limits = Limits {
        request_bytes: 400,
        ..Limits::default()
    };
    let mut client = Client::within(vec![Server::new("one", &["work"])], limits).await;
    client.initialize("2025-11-25").await;
    for (line, code) in [
        ("nonsense".to_owned(), -32700),
        ("{}".to_owned(), -32600),
        ("x".repeat(1000), -32600),
        (
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#.to_owned(),
            -32600,
        ),
    ] {
        client.line(&line).await;
        assert_eq!(client.next().await["error"]["code"], code, "{line}");
    }
    client.line("").await;
    client.request(5, "ping", json!({})).await;
    assert_eq!(client.next().await["id"], 5);
    client.end().await;
}

#[tokio::test]
async fn r_gate_01_a_batch_is_answered_by_a_batch_where_the_revision_has_them() {
    let mut client = Client::of(vec![Server::new("one", &["work"])]).await;
    client.initialize("2025-03-26").await;
    client.line(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]"#).await;
    let answers = client.next().await;
    let ids: Vec<_> = answers
        .as_array()
        .unwrap()
        .iter()
        .map(|a| a["id"].clone())
        .collect();
    assert_eq!(ids, [json!(1), json!(2)]);
    client.end().await;
}

#[tokio::test]
async fn r_gate_01_responses_are_sent_when_ready_and_requests_can_be_cancelled() {
    let go_on = Arc::new(Notify::new());
    let wait = go_on.clone();
    let server = Server::new("one", &["work"]).on_call(move |_, arguments, _| {
        let go_on = wait.clone();
        async move {
            if arguments["text"] == "slow" {
                go_on.notified().await;
            }
            Ok(text("done"))
        }
    });
    let mut client = Client::of(vec![server]).await;
    client.initialize("2025-11-25").await;
    client.request(1, "tools/call", call("slow")).await;
    client.request(2, "tools/call", call("slow")).await;
    client.request(3, "tools/call", call("quick")).await;
    assert_eq!(client.next().await["id"], 3);
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    client.line(&cancel.to_string()).await;
    client.request(4, "ping", json!({})).await;
    assert_eq!(client.next().await["id"], 4);
    go_on.notify_waiters();
    // Running requests still complete after the client closes its input; cancelled ones do not.
    let rest = client.end().await;
    let ids: Vec<_> = rest.iter().map(|response| response["id"].clone()).collect();
    assert_eq!(ids, [json!(2)]);
}

#[tokio::test]
async fn r_gate_03_a_request_can_be_cancelled_before_it_starts() {
    let called = Arc::new(std::sync::Mutex::new(Vec::new()));
    let noted = called.clone();
    let server = Server::new("one", &["work"]).on_call(move |_, arguments, _| {
        noted.lock().unwrap().push(arguments["text"].clone());
        async move { Ok(text("done")) }
    });
    let mut client = Client::of(vec![server]).await;
    client.initialize("2025-11-25").await;
    let request =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call("never")});
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    client.line(&format!("{request}\n{cancel}")).await;
    client.request(2, "tools/call", call("quick")).await;
    assert_eq!(client.next().await["id"], 2);
    assert!(client.end().await.is_empty());
    assert_eq!(*called.lock().unwrap(), [json!("quick")]);
}

#[tokio::test]
async fn r_gate_01_more_requests_than_may_run_wait_their_turn() {
    let limits = Limits {
        requests_per_client: 2,
        ..Limits::default()
    };
    let server = Server::new("one", &["work"]);
    let mut client = Client::within(vec![server], limits).await;
    client.initialize("2025-11-25").await;
    for id in 1..=6 {
        client.request(id, "tools/call", call("x")).await;
    }
    let mut ids = Vec::new();
    for _ in 1..=6 {
        let response = client.next().await;
        assert!(response.get("result").is_some(), "{response}");
        ids.push(response["id"].as_u64());
    }
    ids.sort_unstable();
    assert_eq!(ids, (1..=6).map(Some).collect::<Vec<_>>());
    client.end().await;
}

#[tokio::test]
async fn an_unknown_profile_error_lists_the_existing_ones() {
    let gateway = gateway(vec![]).await;
    let error = stdio::run_within(
        gateway,
        "none",
        tokio::io::empty(),
        tokio::io::sink(),
        &Limits::default(),
    )
    .await;
    let error = error.unwrap_err();
    assert_eq!(error.reason, Reason::ProfileUnknown);
    assert!(error.message.contains("work"), "{error}");
}

/// A server whose tool `work` never completes for the text `slow`, and signals when it is called.
fn endless(called: &Arc<Notify>) -> Server {
    let called = called.clone();
    Server::new("one", &["work"]).on_call(move |_, arguments, _| {
        called.notify_one();
        async move {
            if arguments["text"] == "slow" {
                std::future::pending::<()>().await;
            }
            Ok(text("done"))
        }
    })
}

#[track_caller]
fn assert_given_up(response: &Value, id: u32) {
    assert_eq!(response["id"], id, "{response}");
    let message = response["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("shutting down"), "{response}");
}

#[tokio::test(start_paused = true)]
async fn r_gate_01_requests_that_outlast_the_clients_input_end_with_an_error() {
    let called = Arc::new(Notify::new());
    let mut client = Client::of(vec![endless(&called)]).await;
    client.initialize("2025-11-25").await;
    client.request(1, "tools/call", call("slow")).await;
    called.notified().await;
    let rest = client.end().await;
    assert_eq!(rest.len(), 1, "{rest:?}");
    assert_given_up(&rest[0], 1);
}

#[tokio::test(start_paused = true)]
async fn r_gate_01_every_open_request_gets_a_response_at_shutdown() {
    let (called, shutdown) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (mut client, gateway) = Client::until(vec![endless(&called)], shutdown.clone()).await;
    client.initialize("2025-11-25").await;
    client.request(1, "tools/call", call("slow")).await;
    called.notified().await;
    client.request(2, "ping", json!({})).await;
    assert_eq!(client.next().await["id"], 2);
    shutdown.notify_one();
    assert_given_up(&client.next().await, 1);
    client.running.await.unwrap().unwrap();
    gateway.hub().shutdown().await;
    let lines = gateway.hub().activity(10, None).await.unwrap();
    let calls: Vec<_> = lines.iter().filter(|line| line.tool.is_some()).collect();
    assert_eq!(calls.len(), 1, "{lines:?}");
    assert_eq!(calls[0].outcome, "CANCELLED");
    assert_eq!(calls[0].tool.as_deref(), Some("one__work"));
}
