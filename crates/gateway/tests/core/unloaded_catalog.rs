//! A gateway over a catalog that is not loaded yet.

use std::sync::Arc;
use std::time::Duration;

use pegboard_gateway::{Gateway, MessageSink, Mode};
use pegboard_testkit::wait_until;
use serde_json::{Value, json};

use crate::client::{Client, gateway, names, profile, settings};
use crate::fake::{Server, specs, unread_hub};

const LONG: Duration = Duration::from_secs(30);

fn servers() -> Vec<Server> {
    let mut server = Server::new("a", &["one"]);
    server.resources = vec![json!({"uri": "test://x", "name": "x"})];
    vec![server]
}

/// A gateway with one discovered server whose catalog is not loaded.
async fn unread() -> Gateway {
    let direct = profile(&[], Mode::Direct);
    Gateway::new(unread_hub(servers()).await, settings(&[("direct", direct)]))
}

async fn bytes(client: &Client, method: &str, params: Value) -> Vec<u8> {
    let (bytes, status) = client.bytes(json!(1), method, params).await.unwrap();
    assert_eq!(status, 200);
    bytes.to_vec()
}

#[tokio::test]
async fn r_gate_01_a_fixed_list_is_answered_before_anything_is_read() {
    let unread = unread().await;
    let (read, _) = gateway(servers(), &[]).await;
    let opening = json!({"protocolVersion": "2025-11-25", "capabilities": {}});
    let clients = [&unread, &read].map(|gateway| {
        let legacy = Client::silent(gateway.begin("").unwrap());
        (legacy, Client::modern(gateway, "", json!({})))
    });
    for (method, params) in [
        ("server/discover", json!({})),
        ("initialize", opening),
        ("tools/list", json!({})),
    ] {
        let mut answers = Vec::new();
        for (legacy, modern) in &clients {
            let client = if method == "server/discover" {
                modern
            } else {
                legacy
            };
            answers.push(bytes(client, method, params.clone()).await);
        }
        assert_eq!(answers[0], answers[1], "{method}");
        assert!(
            !unread.hub().is_catalog_loaded(),
            "{method} needs nothing of it"
        );
    }
    // The catalog is loaded after the list is sent.
    wait_until("it is read", LONG, || unread.hub().is_catalog_loaded()).await;
    let text = clients[0]
        .0
        .text("search_tools", json!({"query": "one"}))
        .await;
    assert!(text.contains("a__one"), "{text}");
}

#[tokio::test]
async fn r_gate_02_a_list_of_server_tools_loads_the_catalog_first() {
    let gateway = unread().await;
    let client = Client::legacy(&gateway, "direct", json!({})).await;
    assert_eq!(
        names(&client.result("tools/list", json!({})).await),
        ["a__one"]
    );
}

#[tokio::test]
async fn r_gate_03_loading_the_catalog_is_not_announced_as_a_change() {
    let gateway = unread().await;
    let client = Client::legacy(&gateway, "", json!({})).await;
    let sink: Arc<dyn MessageSink> = client.inbox.clone();
    client.conversation.attach(sink);
    assert!(!gateway.hub().is_catalog_loaded());
    // The list is unchanged; loading the catalog here must not look like a change.
    gateway.hub().apply(specs(&servers())).await;
    gateway.hub().apply(Vec::new()).await;
    client
        .inbox
        .wait("notifications/resources/list_changed")
        .await;
    assert_eq!(client.inbox.all().len(), 1, "{:?}", client.inbox.all());
}

#[tokio::test]
async fn r_gate_03_changes_while_a_client_was_detached_are_announced_on_reattach() {
    let direct = [("direct", profile(&[], Mode::Direct))];
    let (gateway, _) = gateway(servers(), &direct).await;
    let client = Client::legacy(&gateway, "direct", json!({})).await;
    let sink: Arc<dyn MessageSink> = client.inbox.clone();
    client.conversation.attach(sink.clone());
    client.conversation.detach(&sink);
    gateway.hub().apply(Vec::new()).await;
    client.conversation.attach(sink.clone());
    client.inbox.wait("notifications/tools/list_changed").await;
    client
        .inbox
        .wait("notifications/resources/list_changed")
        .await;
    client.conversation.detach(&sink);
    client.conversation.attach(sink);
    client.result("ping", json!({})).await;
    assert_eq!(client.inbox.all().len(), 2, "no change is announced twice");
}
