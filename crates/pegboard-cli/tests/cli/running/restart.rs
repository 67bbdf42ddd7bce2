//! A server that exited is restarted by the next call.

use pegboard::{CallRequest, Pegboard, SessionId, ToolResult};
use pegboard_testkit::{Script, is_alive, starts_in, wait_until};
use serde_json::value::RawValue;

use crate::support::{Home, TIMEOUT, kill};

/// Calls a tool as an embedding program does.
pub(crate) async fn call(pegboard: &Pegboard, tool: &str, arguments: &str) -> ToolResult<String> {
    let arguments = RawValue::from_string(arguments.to_owned()).expect("JSON");
    let session = SessionId("test".to_owned());
    let request = CallRequest::new(session, tool.to_owned(), arguments);
    pegboard
        .hub()
        .call(&request)
        .await
        .map(|outcome| outcome.result.get().to_owned())
}

/// The process of a running server.
pub(crate) fn pid_of(pegboard: &Pegboard, server: &str) -> Option<u32> {
    let health = pegboard.hub().health();
    health
        .into_iter()
        .find(|health| health.server.as_str() == server)?
        .connection?
        .pid
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_dies_between_two_calls_is_started_again() {
    let home = Home::new();
    home.add_script(
        "s",
        &Script::new().tools(["work"]).count_in(home.path("count")),
        "",
    );
    home.run(&["refresh", "--all"]).ok();
    let pegboard = home.open().await;
    call(&pegboard, "s/work", "{}")
        .await
        .expect("the first call");
    call(&pegboard, "s/work", "{}")
        .await
        .expect("the second call");
    assert_eq!(
        starts_in(&home.path("count")).len(),
        2,
        "one for the list, one for both calls"
    );

    let first = pid_of(&pegboard, "s").expect("it runs");
    kill("-KILL", first);
    wait_until("the hub notices", TIMEOUT, || {
        pid_of(&pegboard, "s").is_none()
    })
    .await;
    call(&pegboard, "s/work", "{}")
        .await
        .expect("a call after the death");
    let second = pid_of(&pegboard, "s").expect("it runs again");
    assert_ne!(first, second);
    assert_eq!(starts_in(&home.path("count")).len(), 3);

    pegboard.close().await;
    assert!(!is_alive(second));
    home.assert_nothing_runs();
}
