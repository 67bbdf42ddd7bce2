//! Requests of legacy clients that disconnected.

use std::time::Duration;

use pegboard_model::Limits;
use pegboard_testkit::wait_until;

use crate::slow_server::{SlowServer, call, recorded_calls};
use crate::test_server::TestServer;

const TIMEOUT: Duration = Duration::from_secs(30);
const REVISION: &str = "2025-06-18";

#[tokio::test]
async fn r_sec_03_abandoned_calls_leave_room_for_others() {
    let slow = SlowServer::default();
    let limits = Limits {
        abandoned_requests_per_session: 2,
        abandoned_requests: 5,
        ..Limits::default()
    };
    let server = TestServer::within(vec![slow.server()], limits).await;
    let mut sessions = Vec::new();
    for _ in 0..5 {
        sessions.push(server.initialize(REVISION).await);
    }
    for (at, session) in sessions.iter().enumerate() {
        for _ in 0..10 {
            let before = slow.count();
            let request = server.of_session(session, REVISION, "tools/call", call("x"));
            let asked = tokio::spawn(request.send(server.address));
            wait_until("the call is running", TIMEOUT, || slow.count() > before).await;
            asked.abort();
            let most = (2 * (at + 1)).min(5);
            wait_until("abandoned calls are cancelled", TIMEOUT, || {
                slow.count() <= most
            })
            .await;
        }
    }
    assert_eq!(slow.count(), 5, "the newest ones may be fetched");
    let quick = server.of_session(&sessions[0], REVISION, "tools/call", call("quick"));
    let response = server.send(quick).await;
    assert_eq!(response.json()["result"]["content"][0]["text"], "done");
    server.end().await;
}

#[tokio::test]
async fn r_sec_03_an_abandoned_call_is_cancelled_after_a_while_with_an_error() {
    let slow = SlowServer::default();
    let limits = Limits {
        abandoned_request_time: Duration::from_millis(300),
        ..Limits::default()
    };
    let server = TestServer::within(vec![slow.server()], limits).await;
    let hub = server.gateway.hub().clone();
    let revision = "2025-11-25";
    let session = server.initialize(revision).await;
    let request = server.of_session(&session, revision, "tools/call", call("x"));
    // The stream starts after a moment, with a priming event.
    let mut open = request.open(server.address).await;
    assert!(open.until("id: ").await);
    let first = open.answer().events()[0].0.clone();
    assert_eq!(slow.count(), 1);
    drop(open);
    wait_until("the call is given up", TIMEOUT, || slow.count() == 0).await;
    let get = server
        .request("GET", "/mcp")
        .header("Accept", "text/event-stream")
        .header("Mcp-Session-Id", &session)
        .header("Last-Event-ID", &first);
    let events = server.send(get).await.events();
    assert_eq!(events[0].1["id"], 9, "{events:?}");
    let why = events[0].1["error"]["message"].as_str().unwrap();
    assert!(why.contains("did not reconnect"), "{why}");
    server.end().await;
    assert_eq!(recorded_calls(&hub).await[0].outcome, "CANCELLED");
}
