//! Requests of legacy clients that went away.

use std::time::Duration;

use pegboard_model::Limits;
use pegboard_testkit::wait_until;

use crate::slow_server::{SlowServer, call, recorded_calls};
use crate::test_server::TestServer;

const TIMEOUT: Duration = Duration::from_secs(30);
const REVISION: &str = "2025-06-18";

#[tokio::test]
async fn r_sec_03_calls_that_nobody_waits_for_leave_room_for_others() {
    let under_way = SlowServer::default();
    let limits = Limits {
        abandoned_requests_per_session: 2,
        abandoned_requests: 5,
        ..Limits::default()
    };
    let face = TestServer::within(vec![under_way.server()], limits).await;
    let mut sessions = Vec::new();
    for _ in 0..5 {
        sessions.push(face.initialize(REVISION).await);
    }
    for (at, session) in sessions.iter().enumerate() {
        for _ in 0..10 {
            let before = under_way.count();
            let request = face.of_session(session, REVISION, "tools/call", call("x"));
            let asked = tokio::spawn(request.send(face.address));
            wait_until("the call is under way", TIMEOUT, || {
                under_way.count() > before
            })
            .await;
            asked.abort();
            let most = (2 * (at + 1)).min(5);
            wait_until("abandoned calls give way", TIMEOUT, || {
                under_way.count() <= most
            })
            .await;
        }
    }
    assert_eq!(under_way.count(), 5, "the newest ones may be fetched");
    let quick = face.of_session(&sessions[0], REVISION, "tools/call", call("quick"));
    let answer = face.send(quick).await;
    assert_eq!(answer.json()["result"]["content"][0]["text"], "done");
    face.end().await;
}

#[tokio::test]
async fn r_sec_03_an_abandoned_call_is_cancelled_after_a_while_and_answered_by_an_error() {
    let under_way = SlowServer::default();
    let limits = Limits {
        abandoned_request_time: Duration::from_millis(300),
        ..Limits::default()
    };
    let face = TestServer::within(vec![under_way.server()], limits).await;
    let hub = face.gateway.hub().clone();
    let revision = "2025-11-25";
    let session = face.initialize(revision).await;
    let request = face.of_session(&session, revision, "tools/call", call("x"));
    // The stream begins after a moment, with an event that can be named later.
    let mut open = request.open(face.address).await;
    assert!(open.until("id: ").await);
    let first = open.answer().events()[0].0.clone();
    assert_eq!(under_way.count(), 1);
    drop(open);
    wait_until("the call is given up", TIMEOUT, || under_way.count() == 0).await;
    let get = face
        .request("GET", "/mcp")
        .header("Accept", "text/event-stream")
        .header("Mcp-Session-Id", &session)
        .header("Last-Event-ID", &first);
    let events = face.send(get).await.events();
    assert_eq!(events[0].1["id"], 9, "{events:?}");
    let why = events[0].1["error"]["message"].as_str().unwrap();
    assert!(why.contains("did not reconnect"), "{why}");
    face.end().await;
    assert_eq!(recorded_calls(&hub).await[0].outcome, "CANCELLED");
}
