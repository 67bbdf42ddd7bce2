//! Clients of the revisions with sessions.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::fake::{Server, text};
use crate::test_server::{TestServer, send_progress};

const NEWEST: &str = "2025-11-25";

fn call() -> Value {
    json!({"name": "one__work", "arguments": {"text": "x"}, "_meta": {"progressToken": 1}})
}

/// A server that sends a progress notification and then waits for a signal.
fn waiting(go_on: &Arc<Notify>) -> Server {
    let go_on = go_on.clone();
    Server::new("one", &["work"]).on_call(move |_, _, options| {
        let go_on = go_on.clone();
        async move {
            send_progress(&options, 1);
            go_on.notified().await;
            Ok(text("done"))
        }
    })
}

#[tokio::test]
async fn r_gate_01_a_session_begins_is_used_and_ends() {
    let server = TestServer::of(vec![Server::new("one", &["work"])]).await;
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", NEWEST] {
        let session = server.initialize(revision).await;
        let ping = |session: &str| server.of_session(session, revision, "ping", json!({}));
        let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let note = server
            .post("/mcp", &note)
            .header("Mcp-Session-Id", &session);
        let response = server.send(note).await;
        assert_eq!(
            (response.status, response.body.as_str()),
            (202, ""),
            "{revision}"
        );

        let response = server.send(ping(&session)).await;
        assert_eq!(
            (response.status, response.json()["id"].clone()),
            (200, json!(9))
        );
        assert_eq!(server.send(ping("")).await.status, 400);
        let response = server.send(ping("nonsense")).await;
        assert_eq!(
            (response.status, response.json()["error"]["code"].clone()),
            (404, json!(-32001))
        );
        for wrong in ["1900-01-01", "nonsense"] {
            let request = ping(&session).header("MCP-Protocol-Version", wrong);
            assert_eq!(server.send(request).await.status, 400, "{wrong}");
        }

        let delete = || {
            server
                .request("DELETE", "/mcp")
                .header("Mcp-Session-Id", &session)
        };
        assert_eq!(server.send(delete()).await.status, 204);
        assert_eq!(server.send(ping(&session)).await.status, 404);
        assert_eq!(server.send(delete()).await.status, 404);
    }
    server.end().await;
}

#[tokio::test]
async fn r_gate_01_a_missed_response_can_be_fetched() {
    let go_on = Arc::new(Notify::new());
    let server = TestServer::of(vec![waiting(&go_on)]).await;
    let session = server.initialize(NEWEST).await;
    let request = server.of_session(&session, NEWEST, "tools/call", call());
    let mut open = request.open(server.address).await;
    assert!(open.until("notifications/progress").await);
    let seen = open.answer().events();
    assert_eq!(
        seen[0].1,
        Value::Null,
        "a priming event comes first: {seen:?}"
    );
    let first = seen[0].0.clone();
    drop(open);
    go_on.notify_one();

    let get = |last: &str| {
        server
            .request("GET", "/mcp")
            .header("Accept", "text/event-stream")
            .header("Mcp-Session-Id", &session)
            .header("Last-Event-ID", last)
    };
    let events = server.send(get(&first)).await.events();
    assert_eq!(events.len(), 2, "{events:?}");
    assert_eq!(events[0].1["method"], "notifications/progress");
    assert_eq!(events[1].1["result"]["content"][0]["text"], "done");
    assert_eq!(events[1].1["id"], 9);
    // Again, with only the later events.
    let events = server.send(get(&events[0].0)).await.events();
    assert_eq!(events.len(), 1, "{events:?}");
    for wrong in ["nonsense", "c0.0-1"] {
        assert_eq!(server.send(get(wrong)).await.status, 400, "{wrong}");
    }
    server.end().await;
}

#[tokio::test]
async fn clients_of_older_revisions_get_no_event_without_data() {
    let go_on = Arc::new(Notify::new());
    let server = TestServer::of(vec![waiting(&go_on)]).await;
    let session = server.initialize("2025-06-18").await;
    go_on.notify_one();
    let request = server.of_session(&session, "2025-06-18", "tools/call", call());
    let events = server.send(request).await.events();
    assert_eq!(events.len(), 2, "{events:?}");
    assert_eq!(events[0].1["method"], "notifications/progress");
    server.end().await;
}

#[tokio::test]
async fn r_gate_01_a_second_stream_of_a_session_replaces_the_first() {
    let server = TestServer::of(vec![Server::new("one", &["work"])]).await;
    let session = server.initialize(NEWEST).await;
    let get = || {
        server
            .request("GET", "/mcp")
            .header("Accept", "text/event-stream")
            .header("Mcp-Session-Id", &session)
    };
    let mut first = get().open(server.address).await;
    assert!(first.until("id: g").await);
    let mut second = get().open(server.address).await;
    assert!(second.until("id: g").await);
    first.rest().await;
    server
        .gateway
        .set_profiles([("new".to_owned(), Default::default())].into());
    let delete = server
        .request("DELETE", "/mcp")
        .header("Mcp-Session-Id", &session);
    assert_eq!(server.send(delete).await.status, 204);
    second.rest().await;
    server.end().await;
}

#[tokio::test]
async fn r_gate_01_batches_are_for_the_one_revision_that_has_them() {
    let server = TestServer::of(vec![Server::new("one", &["work"])]).await;
    let ping = |id: u32| json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
    let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let batch = json!([ping(1), note, ping(2)]);
    let session = server.initialize("2025-03-26").await;
    let request = server
        .post("/mcp", &batch)
        .header("Mcp-Session-Id", &session);
    let answers = server.send(request).await.json();
    let mut ids: Vec<_> = answers
        .as_array()
        .unwrap()
        .iter()
        .map(|a| a["id"].as_i64())
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, [Some(1), Some(2)]);
    let notes = server
        .post("/mcp", &json!([note]))
        .header("Mcp-Session-Id", &session);
    assert_eq!(server.send(notes).await.status, 202);

    let session = server.initialize(NEWEST).await;
    let request = server
        .post("/mcp", &batch)
        .header("Mcp-Session-Id", &session);
    let response = server.send(request).await;
    assert_eq!(
        (response.status, response.json()["error"]["code"].clone()),
        (400, json!(-32600))
    );
    server.end().await;
}
