//! The event stream.

use std::time::Duration;

use axum::body::BodyDataStream;
use axum::response::Response;
use futures_util::StreamExt;
use serde_json::{Value, json};

use crate::site::{ADMIN, CALL, TestSite, request};

struct Listener {
    stream: BodyDataStream,
    received: String,
}

impl Listener {
    async fn open(site: &TestSite, token: &str) -> Self {
        let response: Response = site
            .open(request(token, "GET", "/events", Value::Null))
            .await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self {
            stream: response.into_body().into_data_stream(),
            received: String::new(),
        }
    }

    /// Waits for an event of this kind.
    async fn expect_event(&mut self, kind: &str) {
        let wanted = format!("event: {kind}\n");
        while !self.received.contains(&wanted) {
            let next = tokio::time::timeout(Duration::from_secs(30), self.stream.next()).await;
            let piece = next.unwrap_or_else(|_| panic!("no {kind} in {}", self.received));
            let piece = piece.expect("the stream continues").unwrap();
            self.received.push_str(&String::from_utf8_lossy(&piece));
        }
    }
}

#[tokio::test]
async fn r_api_05_listeners_receive_server_and_call_events() {
    let site = TestSite::new().await;
    let mut listener = Listener::open(&site, CALL).await;
    listener.expect_event("hello").await;
    site.servers
        .set("three", vec![crate::fake_servers::tool("fetch")]);
    let add = json!({"name": "three", "command": "x"});
    site.admin("POST", "/servers", add).await;
    listener
        .expect_event("tools.discovery.server.success")
        .await;
    listener.expect_event("tools.registry.updated").await;
    let call = json!({"arguments": {"text": "a secret text"}});
    site.request(CALL, "POST", "/tools/one__read/call", call)
        .await;
    listener.expect_event("tools.call.finished").await;
    site.admin("DELETE", "/servers/three", Value::Null).await;
    listener.expect_event("tools.registry.server.removed").await;
    assert!(
        !listener.received.contains("a secret text"),
        "events contain no contents"
    );
    let data = listener
        .received
        .lines()
        .filter_map(|line| line.strip_prefix("data: "));
    for data in data {
        serde_json::from_str::<Value>(data).unwrap();
    }
}

#[tokio::test]
async fn concurrent_listeners_are_limited_and_released() {
    let site = TestSite::new().await;
    let mut listeners = Vec::new();
    for _ in 0..128 {
        listeners.push(Listener::open(&site, ADMIN).await);
    }
    let refused = site.get("/events").await;
    assert_eq!((refused.status, refused.code()), (503, "OVERLOADED".into()));
    listeners.pop();
    Listener::open(&site, CALL)
        .await
        .expect_event("hello")
        .await;
}
