//! Legacy sessions: thin, and known again after a restart.

use pegboard_gateway::{Gateway, Mode};
use serde_json::json;

use crate::client::{Client, gateway, profile, settings};
use crate::fake::Server;

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
        "another key, another house"
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
    for (asked, agreed) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let client = Client::silent(gateway.begin("").unwrap());
        let opening = json!({"protocolVersion": asked, "capabilities": {}});
        let result = client.result("initialize", opening).await;
        assert_eq!(result["protocolVersion"], agreed, "{asked}");
    }
}
