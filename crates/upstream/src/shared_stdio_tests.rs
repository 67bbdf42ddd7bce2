//! Tests of messages of a stdio server, whose connection all clients share, that do not name their recipient.

use std::sync::Arc;
use std::time::Duration;

use pegboard_model::ToolResult;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::contract::{CallOptions, CallOutcome, Caller};
use crate::forward::OutgoingRequest;
use crate::session::Session;
use crate::testing::ClientAnswer::{Never, Result as Answers};
use crate::testing::{Client, Memory, Peer, pair, session, session_with_roots};

const ROOTS_A: &str = r#"{"roots":[{"uri":"file:///a"}]}"#;
const ROOTS_B: &str = r#"{"roots":[{"uri":"file:///b"}]}"#;
const ASK_ROOTS: &str = "{\"jsonrpc\":\"2.0\",\"id\":\"r\",\"method\":\"roots/list\"}\n";

fn call(
    session: &Arc<Session<Memory>>,
    client: &Arc<Client>,
) -> JoinHandle<ToolResult<CallOutcome>> {
    let (session, caller) = (Arc::clone(session), Arc::clone(client) as Arc<dyn Caller>);
    tokio::spawn(async move {
        let options = CallOptions {
            caller: Some(caller),
            ..CallOptions::with_timeout(Duration::from_secs(60))
        };
        let arguments = RawValue::from_string("{}".to_owned()).unwrap();
        let request = OutgoingRequest::call("tool", &arguments);
        session.forward(request, &options).await
    })
}

/// Returns the id of the next message with this method, and the messages before it.
async fn until(peer: &mut Peer, method: &str) -> (u64, Vec<Value>) {
    let mut before = Vec::new();
    loop {
        let message = peer.json().await;
        if message["method"] == method {
            return (message["id"].as_u64().unwrap_or(0), before);
        }
        before.push(message);
    }
}

#[tokio::test(start_paused = true)]
async fn r_gate_03_a_server_that_asks_for_roots_at_its_start_has_them_before_its_first_call() {
    let (session, mut peer) = session_with_roots(false, "{}", true);
    // It asks before any call is running, as servers do after `initialized`.
    peer.write(ASK_ROOTS).await;
    let a = Client::new("a", Answers(ROOTS_A));
    let running = call(&session, &a);
    let (ping, before) = until(&mut peer, "ping").await;
    peer.result(ping, "{}").await;
    let (id, after) = until(&mut peer, "tools/call").await;
    let answers: Vec<_> = before.iter().chain(&after).collect();
    assert_eq!(answers.len(), 1, "{answers:?}");
    let expected: Value = serde_json::from_str(ROOTS_A).unwrap();
    assert_eq!(answers[0]["result"], expected);
    peer.result(id, "{}").await;
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn r_gate_03_roots_are_those_of_the_first_session_that_gave_them_and_are_never_mixed() {
    let (session, mut peer) = session_with_roots(false, "{}", true);
    let (a, b) = (
        Client::new("a", Answers(ROOTS_A)),
        Client::new("b", Answers(ROOTS_B)),
    );
    let first = call(&session, &a);
    let (ping, _) = until(&mut peer, "ping").await;
    peer.write(ASK_ROOTS).await;
    peer.result(ping, "{}").await;
    let (first_id, before) = until(&mut peer, "tools/call").await;
    assert_eq!(before[0]["result"]["roots"][0]["uri"], "file:///a");

    // Another session calls as well and is not asked for roots; then the call of the first session ends.
    let second = call(&session, &b);
    let (second_id, before) = until(&mut peer, "tools/call").await;
    assert!(before.is_empty(), "{before:?}");
    peer.write(ASK_ROOTS).await;
    assert_eq!(peer.json().await["result"]["roots"][0]["uri"], "file:///a");
    peer.result(first_id, "{}").await;
    first.await.unwrap().unwrap();
    peer.write(ASK_ROOTS).await;
    assert_eq!(peer.json().await["result"]["roots"][0]["uri"], "file:///a");
    assert!(b.received().is_empty());
    peer.result(second_id, "{}").await;
    second.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn r_gate_03_a_server_without_a_call_gets_no_roots_and_is_notified_later() {
    let (session, mut peer) = session_with_roots(false, "{}", true);
    peer.write(ASK_ROOTS).await;
    assert_eq!(peer.json().await["result"], json!({"roots": []}));
    let a = Client::new("a", Answers(ROOTS_A));
    let running = call(&session, &a);
    let (_, before) = until(&mut peer, "notifications/roots/list_changed").await;
    assert!(before.is_empty(), "{before:?}");
    peer.write(ASK_ROOTS).await;
    let (ping, mut before) = until(&mut peer, "ping").await;
    peer.result(ping, "{}").await;
    let (id, after) = until(&mut peer, "tools/call").await;
    before.extend(after);
    assert_eq!(before[0]["result"]["roots"][0]["uri"], "file:///a");
    peer.result(id, "{}").await;
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn r_gate_03_log_messages_between_calls_reach_the_sessions_that_called_and_no_others() {
    let (session, mut peer) = session(false, r#"{"logging":{}}"#);
    let (a, b) = (Client::new("a", Never), Client::new("b", Never));
    let line = |n: u8| {
        format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{{\"data\":{n}}}}}\n"
        )
    };
    for client in [&a, &a] {
        let running = call(&session, client);
        let (id, _) = until(&mut peer, "tools/call").await;
        peer.result(id, "{}").await;
        running.await.unwrap().unwrap();
    }
    peer.write(&line(1)).await;
    let running = {
        // The server's messages are read in order.
        let running = call(&session, &b);
        let (id, _) = until(&mut peer, "tools/call").await;
        peer.write(&line(2)).await;
        peer.result(id, "{}").await;
        running
    };
    running.await.unwrap().unwrap();
    assert_eq!(a.received(), ["later {\"data\":1}"]);
    assert_eq!(b.received(), ["message {\"data\":2}"]);
    drop(a);
    peer.write(&line(3)).await;
    let running = call(&session, &b);
    let (id, _) = until(&mut peer, "tools/call").await;
    peer.result(id, "{}").await;
    running.await.unwrap().unwrap();
    assert_eq!(b.received(), ["later {\"data\":3}"]);
}

#[tokio::test(start_paused = true)]
async fn r_sec_01_a_flood_of_changes_is_announced_a_few_times_and_its_end_is_not_missed() {
    let (rpc, _reading, mut peer) = pair();
    let changed = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n";
    let mut changes = rpc.inbound.changes();
    let flood = async {
        for _ in 0..100 {
            peer.write(&changed.repeat(1_000)).await;
        }
        // Reading the response to a ping proves that the whole flood was read.
        peer.write("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n")
            .await;
        peer.line().await;
        peer
    };
    let mut peer = flood.await;
    let announced = *changes.borrow_and_update();
    assert!((1..=2_000).contains(&announced), "{announced}");
    peer.write(changed).await;
    changes.changed().await.unwrap();
    assert_eq!(*changes.borrow(), announced + 1);
}
