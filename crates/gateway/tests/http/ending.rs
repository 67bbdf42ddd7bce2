//! Requests that are open at shutdown.

use std::time::Duration;

use pegboard_testkit::wait_until;

use crate::slow_server::{SlowServer, call, recorded_calls};
use crate::test_server::TestServer;

const TIMEOUT: Duration = Duration::from_secs(30);
const REVISION: &str = "2025-06-18";

#[tokio::test]
async fn r_gate_01_open_requests_of_both_eras_end_with_an_error_at_shutdown() {
    let slow = SlowServer::default();
    let server = TestServer::of(vec![slow.server()]).await;
    let hub = server.gateway.hub().clone();
    let session = server.initialize(REVISION).await;
    let address = server.address;
    let legacy = server.of_session(&session, REVISION, "tools/call", call("a"));
    let modern = server.modern("/mcp", "tools/call", call("b"));
    let legacy = tokio::spawn(legacy.send(address));
    let modern = tokio::spawn(modern.send(address));
    wait_until("both calls are running", TIMEOUT, || slow.count() == 2).await;
    server.end().await;
    for (response, id) in [(legacy.await.unwrap(), 9), (modern.await.unwrap(), 7)] {
        let events = response.events();
        let message = match events.last() {
            Some((_, message)) => message.clone(),
            None => response.json(),
        };
        assert_eq!(message["id"], id, "{response:?}");
        let why = message["error"]["message"].as_str().unwrap_or_default();
        assert!(why.contains("shutting down"), "{response:?}");
    }
    let calls = recorded_calls(&hub).await;
    let outcomes: Vec<_> = calls.iter().map(|line| &*line.outcome).collect();
    assert_eq!(outcomes, ["CANCELLED", "CANCELLED"]);
}
