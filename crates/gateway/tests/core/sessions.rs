//! Legacy sessions: eviction, and restoring after a restart.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use pegboard_gateway::{Gateway, Mode};
use pegboard_testkit::wait_until;
use serde_json::json;

use crate::client::{Client, gateway, profile, settings};
use crate::fake::Server;

const LONG: Duration = Duration::from_secs(30);

#[tokio::test]
async fn r_gate_01_a_session_survives_a_restart_and_an_ended_one_stays_ended() {
    let profiles = [("work", profile(&[], Mode::Direct))];
    let (gateway, _) = gateway(vec![Server::new("a", &["one"])], &profiles).await;
    let client = Client::legacy(&gateway, "work", json!({"roots": {}})).await;
    let id = client.conversation.session_id().unwrap();
    assert!(id.is_ascii() && id.len() < 500);
    assert!(gateway.session("work", &id).is_some());
    assert!(
        gateway.session("", &id).is_none(),
        "it belongs to its profile"
    );
    assert!(gateway.session("work", "made-up").is_none());

    let restarted = Gateway::new(gateway.hub().clone(), settings(&profiles));
    let again = Client::silent(restarted.session("work", &id).unwrap());
    assert_eq!(
        again.result("tools/list", json!({})).await["tools"][0]["name"],
        "a__one"
    );
    assert_eq!(again.conversation.revision(), Some("2025-11-25"));

    assert!(restarted.end_session("work", &id));
    assert!(restarted.session("work", &id).is_none());
    assert!(!restarted.end_session("work", &id));
    let mut other = settings(&profiles);
    other.key = [9; 32];
    let stranger = Gateway::new(gateway.hub().clone(), other);
    assert!(
        stranger.session("work", &id).is_none(),
        "a session id of another key"
    );
}

#[tokio::test]
async fn sessions_beyond_the_limit_leave_the_memory_and_come_back() {
    let (first, _) = gateway(vec![Server::new("a", &["one"])], &[]).await;
    let mut few = settings(&[]);
    few.limits.sessions = 2;
    let gateway = Gateway::new(first.hub().clone(), few);
    let mut ids = Vec::new();
    for _ in 0..5 {
        let client = Client::legacy(&gateway, "", json!({})).await;
        ids.push(client.conversation.session_id().unwrap());
    }
    for id in &ids {
        let client = Client::silent(gateway.session("", id).unwrap());
        assert_eq!(client.result("ping", json!({})).await, json!({}));
    }
}

#[tokio::test]
async fn the_revision_is_the_clients_where_we_know_it() {
    let (gateway, _) = gateway(vec![Server::new("a", &["one"])], &[]).await;
    for (requested, negotiated) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let client = Client::silent(gateway.begin("").unwrap());
        let opening = json!({"protocolVersion": requested, "capabilities": {}});
        let result = client.result("initialize", opening).await;
        assert_eq!(result["protocolVersion"], negotiated, "{requested}");
    }
}

#[tokio::test]
async fn r_gate_03_running_calls_of_a_session_end_with_it() {
    let running = Arc::new(AtomicUsize::new(0));
    let counted = running.clone();
    let server = Server::new("a", &["one"]).on_call(move |_, _, _| {
        struct Call(Arc<AtomicUsize>);
        impl Drop for Call {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::SeqCst);
            }
        }
        counted.fetch_add(1, Ordering::SeqCst);
        let call = Call(counted.clone());
        async move {
            std::future::pending::<()>().await;
            drop(call);
            unreachable!()
        }
    });
    let (gateway, _) = gateway(vec![server], &[]).await;
    let client = Client::legacy(&gateway, "", json!({})).await;
    let id = client.conversation.session_id().unwrap();
    let calling = client.clone();
    let params = json!({"name": "a__one", "arguments": {"text": "x"}});
    let call = tokio::spawn(async move { calling.bytes(json!(1), "tools/call", params).await });
    wait_until("it runs", LONG, || running.load(Ordering::SeqCst) == 1).await;
    assert!(gateway.end_session("", &id));
    let response = tokio::time::timeout(LONG, call).await;
    assert!(response.expect("it ends").unwrap().is_none());
    assert_eq!(running.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn r_gate_03_a_session_that_leaves_the_memory_watches_nothing() {
    let mut server = Server::new("a", &["one"]);
    server.resources = vec![json!({"uri": "test://x", "name": "x"})];
    let (first, all) = gateway(vec![server], &[]).await;
    let mut few = settings(&[]);
    few.limits.sessions = 1;
    let gateway = Gateway::new(first.hub().clone(), few);
    let client = Client::legacy(&gateway, "", json!({})).await;
    let uri = json!({"uri": "pegboard://a/test://x"});
    client.result("resources/subscribe", uri).await;
    drop(client);
    Client::legacy(&gateway, "", json!({})).await;
    wait_until("it is no longer watched", LONG, || {
        all.watched.lock().unwrap().last() == Some(&("test://x".to_owned(), false))
    })
    .await;
}

#[tokio::test]
async fn r_api_03_connected_clients_are_listed_until_they_disconnect() {
    let profiles = [("work", profile(&[], Mode::Direct))];
    let (gateway, _) = gateway(vec![Server::new("a", &["one"])], &profiles).await;
    let client = Client::legacy(&gateway, "work", json!({})).await;
    let call = json!({"name": "a__one", "arguments": {"text": "x"}});
    client.result("tools/call", call.clone()).await;
    client.result("tools/list", json!({})).await;
    for _ in 0..2 {
        let modern = Client::modern(&gateway, "", json!({}));
        modern.result("tools/call", call.clone()).await;
    }
    let sessions = gateway.hub().sessions();
    let shown: Vec<_> = sessions
        .iter()
        .map(|session| {
            let client = session.client.as_deref().unwrap_or_default();
            (
                session.transport.as_str(),
                client,
                session.profile.as_str(),
                session.calls,
            )
        })
        .collect();
    let expected = [
        ("http-legacy", "test 1", "work", 1),
        ("http-modern", "", "", 2),
    ];
    assert!(expected.iter().all(|one| shown.contains(one)), "{shown:?}");
    assert_eq!(
        shown.len(),
        2,
        "requests of one modern client are one session"
    );
    let id = client.conversation.session_id().unwrap();
    assert!(gateway.end_session("work", &id));
    assert_eq!(gateway.hub().sessions().len(), 1);
}
