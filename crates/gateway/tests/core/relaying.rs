//! What servers send besides results: floods of messages, messages between calls, resource links.

use std::sync::{Arc, Mutex};

use pegboard_hub::Listener;
use pegboard_model::Limits;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::client::{Client, gateway};
use crate::fake::{Server, outcome, text};

fn raw(value: &Value) -> Box<RawValue> {
    RawValue::from_string(value.to_string()).unwrap()
}

fn log(level: &str, data: usize) -> Box<RawValue> {
    raw(&json!({"level": level, "data": data}))
}

const CALL: &str = "a__one";

#[tokio::test]
async fn r_sec_01_a_flood_of_log_messages_is_cut_and_counted() {
    const SENT: usize = 20_000;
    let server = Server::new("a", &["one"]).on_call(|_, _, options| async move {
        let caller = options.caller.unwrap();
        for number in 0..SENT {
            caller.message(&log("info", number));
        }
        Ok(text("done"))
    });
    let (gateway, _) = gateway(vec![server], &[]).await;
    let legacy = Client::legacy(&gateway, "", json!({})).await;
    let modern = Client::modern(&gateway, "", json!({}));
    let level = json!({"io.modelcontextprotocol/logLevel": "debug"});
    for (client, meta) in [(legacy, json!({})), (modern, level)] {
        let params = json!({"name": CALL, "arguments": {"text": "x"}, "_meta": meta});
        client.result("tools/call", params).await;
        let mut messages = client.inbox.of("notifications/message");
        let report = messages.pop().unwrap();
        let relayed = messages.len();
        assert!(
            (1..=Limits::default().relayed_per_call as usize).contains(&relayed),
            "{relayed}"
        );
        let expected = format!(
            "{} log messages dropped: the server sent too many",
            SENT - relayed
        );
        assert_eq!(report["params"]["data"], expected.as_str());
        assert_eq!(report["params"]["level"], "warning");
    }
}

#[tokio::test]
async fn r_sec_01_messages_that_a_client_did_not_request_use_no_budget() {
    let server = Server::new("a", &["one"]).on_call(|_, _, options| async move {
        let caller = options.caller.unwrap();
        for number in 0..20_000 {
            caller.message(&log("debug", number));
        }
        caller.message(&log("error", 1));
        Ok(text("done"))
    });
    let (gateway, _) = gateway(vec![server], &[]).await;
    let client = Client::legacy(&gateway, "", json!({})).await;
    let params = json!({"level": "error"});
    client.result("logging/setLevel", params).await;
    client.call(CALL, json!({"text": "x"})).await;
    let messages = client.inbox.of("notifications/message");
    assert_eq!(messages.len(), 1, "{messages:?}");
    assert_eq!(messages[0]["params"]["level"], "error");
}

#[tokio::test]
async fn r_gate_03_a_message_between_calls_reaches_the_standing_place_of_a_legacy_session() {
    let kept: Arc<Mutex<Vec<Arc<dyn Listener>>>> = Arc::default();
    let listeners = kept.clone();
    let server = Server::new("a", &["one"]).on_call(move |_, _, options| {
        let listener = options.caller.unwrap().listener();
        listeners.lock().unwrap().extend(listener);
        async { Ok(text("done")) }
    });
    let (gateway, _) = gateway(vec![server], &[]).await;
    let client = Client::legacy(&gateway, "", json!({})).await;
    client.conversation.attach(client.inbox.clone());
    client.call(CALL, json!({"text": "x"})).await;
    let listener = kept.lock().unwrap().pop().unwrap();
    listener.message(&log("info", 1));
    let params = json!({"level": "error"});
    client.result("logging/setLevel", params).await;
    listener.message(&log("info", 2));
    listener.message(&log("error", 3));
    let messages = client.inbox.of("notifications/message");
    let data: Vec<_> = (messages.iter())
        .map(|message| message["params"]["data"].as_u64())
        .collect();
    assert_eq!(data, [Some(1), Some(3)]);

    let modern = Client::modern(&gateway, "", json!({}));
    modern.call(CALL, json!({"text": "x"})).await;
    assert!(
        kept.lock().unwrap().is_empty(),
        "only requests of it have messages"
    );

    let received = client.inbox.all().len();
    client.conversation.close();
    listener.message(&log("error", 4));
    assert_eq!(
        client.inbox.all().len(),
        received,
        "an ended session gets no messages"
    );
}

#[tokio::test]
async fn r_gate_03_a_link_in_a_result_can_be_read_at_once_by_its_session_alone() {
    let server = Server::new("a", &["one"]).on_call(|_, _, _| async {
        let link = json!({"type": "resource_link", "uri": "demo://session/y.gz", "name": "y"});
        Ok(outcome(json!({"content": [link]})))
    });
    let (gateway, _) = gateway(vec![server, Server::new("b", &["two"])], &[]).await;
    let client = Client::legacy(&gateway, "", json!({})).await;
    let other = Client::legacy(&gateway, "", json!({})).await;
    let uri = json!({"uri": "demo://session/y.gz"});
    client.error("resources/read", uri.clone()).await;
    client.call(CALL, json!({"text": "x"})).await;
    let read = client.result("resources/read", uri.clone()).await;
    assert_eq!(read["members"]["uri"], "demo://session/y.gz");
    other.error("resources/read", uri.clone()).await;
    let exposed = json!({"uri": "pegboard://a/demo://session/y.gz"});
    other.error("resources/read", exposed.clone()).await;
    client.result("resources/read", exposed).await;
    client.conversation.close();
    client.error("resources/read", uri).await;
}

#[tokio::test]
async fn r_gate_03_a_legacy_client_of_a_modern_server_gets_a_legacy_result() {
    let server = Server::new("a", &["one"])
        .modern()
        .on_call(|_, _, _| async {
            Ok(outcome(json!({
                "resultType": "complete",
                "content": [{"type": "text", "text": "x"}],
                "_meta": {
                    "io.modelcontextprotocol/serverInfo": {"name": "s", "icons": ["data:…"]},
                    "vendor/own": 1,
                },
            })))
        });
    let (gateway, _) = gateway(vec![server], &[]).await;
    let legacy = Client::legacy(&gateway, "", json!({})).await;
    let expected = json!({"content": [{"type": "text", "text": "x"}], "_meta": {"vendor/own": 1}});
    assert_eq!(legacy.call(CALL, json!({"text": "x"})).await, expected);
    let modern = Client::modern(&gateway, "", json!({}));
    let whole = modern.call(CALL, json!({"text": "x"})).await;
    assert_eq!(whole["resultType"], "complete");
    assert_eq!(
        whole["_meta"]["io.modelcontextprotocol/serverInfo"]["name"],
        "s"
    );
}
