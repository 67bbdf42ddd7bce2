//! Change notifications in both eras.

use std::sync::Arc;
use std::time::Duration;

use pegboard_gateway::{MessageSink, Mode};
use pegboard_hub::Announcement;
use pegboard_testkit::wait_until;
use serde_json::json;

use crate::client::{Client, gateway, profile};
use crate::fake::{Server, specs};

const LONG: Duration = Duration::from_secs(30);

#[tokio::test]
async fn r_gate_03_a_modern_client_listens_to_what_it_asked_for() {
    let servers = vec![Server::new("a", &["one"]), Server::new("b", &["two"])];
    let (gateway, _) = gateway(servers, &[("direct", profile(&[], Mode::Direct))]).await;
    let client = Client::modern(&gateway, "direct", json!({}));
    let listening = client.clone();
    let filter = json!({"notifications": {"toolsListChanged": true}});
    let stream = tokio::spawn(async move {
        listening
            .bytes(json!("sub"), "subscriptions/listen", filter)
            .await
    });
    let acknowledged = client
        .inbox
        .wait("notifications/subscriptions/acknowledged")
        .await;
    assert_eq!(
        acknowledged["params"]["notifications"],
        json!({"toolsListChanged": true})
    );
    assert_eq!(
        acknowledged["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
        "sub"
    );
    gateway.hub().apply(specs(&[Server::new("a", &[])])).await;
    let received = client.inbox.wait("notifications/tools/list_changed").await;
    assert_eq!(
        received["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
        "sub"
    );
    stream.abort();
}

#[tokio::test]
async fn r_gate_03_a_legacy_client_is_notified_of_changed_lists_and_resources() {
    let mut server = Server::new("a", &["one"]);
    server.resources = vec![json!({"uri": "test://x", "name": "x"})];
    let (gateway, all) = gateway(vec![server], &[]).await;
    let client = Client::legacy(&gateway, "", json!({})).await;
    let sink: Arc<dyn MessageSink> = client.inbox.clone();
    client.conversation.attach(sink);
    let uri = json!({"uri": "pegboard://a/test://x"});
    client.result("resources/subscribe", uri.clone()).await;
    assert_eq!(
        all.watched.lock().unwrap().last(),
        Some(&("test://x".to_owned(), true))
    );
    all.announce(
        "a",
        Announcement::ResourceUpdated {
            uri: "test://x".to_owned(),
        },
    );
    let received = client.inbox.wait("notifications/resources/updated").await;
    assert_eq!(received["params"]["uri"], "pegboard://a/test://x");
    client.result("resources/unsubscribe", uri).await;
    assert_eq!(
        all.watched.lock().unwrap().last(),
        Some(&("test://x".to_owned(), false))
    );
    gateway.hub().apply(Vec::new()).await;
    client
        .inbox
        .wait("notifications/resources/list_changed")
        .await;
    assert!(
        client
            .inbox
            .of("notifications/tools/list_changed")
            .is_empty(),
        "the meta tools stayed"
    );
}

#[tokio::test]
async fn r_gate_03_a_modern_client_watches_a_resource_until_it_disconnects() {
    let mut server = Server::new("a", &["one"]);
    server.resources = vec![json!({"uri": "test://x", "name": "x"})];
    let (gateway, all) = gateway(vec![server], &[]).await;
    let client = Client::modern(&gateway, "", json!({}));
    let listening = client.clone();
    let wanted = ["pegboard://a/test://x", "test://unknown"];
    let filter = json!({"notifications": {"resourceSubscriptions": wanted}});
    let stream = tokio::spawn(async move {
        listening
            .bytes(json!(4), "subscriptions/listen", filter)
            .await
    });
    let acknowledged = client
        .inbox
        .wait("notifications/subscriptions/acknowledged")
        .await;
    assert_eq!(
        acknowledged["params"]["notifications"],
        json!({"resourceSubscriptions": [wanted[0]]})
    );
    all.announce(
        "a",
        Announcement::ResourceUpdated {
            uri: "test://x".to_owned(),
        },
    );
    let received = client.inbox.wait("notifications/resources/updated").await;
    assert_eq!(received["params"]["uri"], wanted[0]);
    stream.abort();
    wait_until("it is no longer watched", LONG, || {
        all.watched.lock().unwrap().last() == Some(&("test://x".to_owned(), false))
    })
    .await;
}

#[tokio::test]
async fn r_gate_03_two_that_watch_the_same_end_each_by_itself() {
    let mut server = Server::new("a", &["one"]);
    server.resources = vec![json!({"uri": "test://x", "name": "x"})];
    let (gateway, all) = gateway(vec![server], &[]).await;
    let client = Client::modern(&gateway, "", json!({}));
    let listen = |id: usize| {
        let listening = client.clone();
        let filter = json!({"notifications": {"resourceSubscriptions": ["pegboard://a/test://x"]}});
        tokio::spawn(async move {
            listening
                .bytes(json!(id), "subscriptions/listen", filter)
                .await
        })
    };
    let mut streams = Vec::new();
    for id in 1..=2 {
        streams.push(listen(id));
        wait_until("the subscription is acknowledged", LONG, || {
            let acknowledged = client.inbox.of("notifications/subscriptions/acknowledged");
            acknowledged.len() == id
        })
        .await;
    }
    let unwatched = || {
        let watched = all.watched.lock().unwrap();
        watched.iter().filter(|(_, watch)| !watch).count()
    };
    let second = streams.pop().unwrap();
    for stream in streams {
        stream.abort();
        let _ = stream.await;
    }
    // The rest of the first request has nothing left to wait for.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(unwatched(), 0, "the other one still watches");
    second.abort();
    wait_until("the resource is unwatched", LONG, || unwatched() == 1).await;
}

#[tokio::test]
async fn r_gate_03_a_pending_change_is_announced_after_a_new_subscription() {
    let mut server = Server::new("a", &["one"]);
    server.resources = vec![json!({"uri": "test://x", "name": "x"})];
    let servers = vec![server.clone(), Server::new("b", &["two"])];
    let (gateway, _) = gateway(servers, &[("direct", profile(&[], Mode::Direct))]).await;
    let client = Client::legacy(&gateway, "direct", json!({})).await;
    let sink: Arc<dyn MessageSink> = client.inbox.clone();
    client.conversation.attach(sink);
    gateway.hub().apply(specs(&[server])).await;
    let uri = json!({"uri": "pegboard://a/test://x"});
    client.result("resources/subscribe", uri).await;
    client.inbox.wait("notifications/tools/list_changed").await;
}
