//! Events as they happen.

use std::time::Duration;

use axum::body::BodyDataStream;
use axum::response::Response;
use futures_util::StreamExt;
use serde_json::{Value, json};

use crate::face::{ADMIN, CALL, Face, request};

struct Listener {
    stream: BodyDataStream,
    heard: String,
}

impl Listener {
    async fn open(face: &Face, token: &str) -> Self {
        let response: Response = face
            .open(request(token, "GET", "/events", Value::Null))
            .await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self {
            stream: response.into_body().into_data_stream(),
            heard: String::new(),
        }
    }

    /// Waits for an event of a kind.
    async fn hears(&mut self, kind: &str) {
        let wanted = format!("event: {kind}\n");
        while !self.heard.contains(&wanted) {
            let next = tokio::time::timeout(Duration::from_secs(30), self.stream.next()).await;
            let piece = next.unwrap_or_else(|_| panic!("no {kind} in {}", self.heard));
            let piece = piece.expect("the stream goes on").unwrap();
            self.heard.push_str(&String::from_utf8_lossy(&piece));
        }
    }
}

#[tokio::test]
async fn r_api_05_whoever_listens_learns_of_servers_and_calls() {
    let face = Face::new().await;
    let mut listener = Listener::open(&face, CALL).await;
    listener.hears("hello").await;
    face.servers.set("three", vec![crate::fake::tool("fetch")]);
    let add = json!({"name": "three", "command": "x"});
    face.admin("POST", "/servers", add).await;
    listener.hears("tools.discovery.server.success").await;
    listener.hears("tools.registry.updated").await;
    let call = json!({"arguments": {"text": "a secret text"}});
    face.ask(CALL, "POST", "/tools/one__read/call", call).await;
    listener.hears("tools.call.finished").await;
    face.admin("DELETE", "/servers/three", Value::Null).await;
    listener.hears("tools.registry.server.removed").await;
    assert!(
        !listener.heard.contains("a secret text"),
        "events hold no contents"
    );
    let data = listener
        .heard
        .lines()
        .filter_map(|line| line.strip_prefix("data: "));
    for data in data {
        serde_json::from_str::<Value>(data).unwrap();
    }
}

#[tokio::test]
async fn only_so_many_listen_at_once_and_a_place_is_given_back() {
    let face = Face::new().await;
    let mut listeners = Vec::new();
    for _ in 0..128 {
        listeners.push(Listener::open(&face, ADMIN).await);
    }
    let refused = face.get("/events").await;
    assert_eq!((refused.status, refused.code()), (503, "OVERLOADED".into()));
    listeners.pop();
    Listener::open(&face, CALL).await.hears("hello").await;
}
