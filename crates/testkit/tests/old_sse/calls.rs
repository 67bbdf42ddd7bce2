//! Calls, and what can go wrong in the middle of them.

use std::time::{Duration, Instant};

use pegboard_model::{Limits, Reason};
use pegboard_testkit::{SseFault, SseScript, SseServer};

use crate::harness::{assert_no_session, call, connect, connect_with, faulty};

fn small() -> Limits {
    Limits {
        frame_bytes: 64 * 1024,
        result_bytes: 256 * 1024,
        ..Limits::default()
    }
}

#[tokio::test]
async fn r_auth_06_a_stream_that_ends_in_the_middle_of_a_call_is_reported() {
    let server = faulty(SseFault::DropsAtCall(1));
    let upstream = connect(&server.spec("old")).await.unwrap();
    let error = call(&*upstream, "write").await.unwrap_err();
    assert_eq!(error.reason, Reason::ServerExited);
    assert!(error.message.contains("closed its event stream"), "{error}");
    assert_no_session(&server, &error);
    assert!(!upstream.is_alive());
    assert_eq!(upstream.ended().await.reason, Reason::ServerExited);
    assert_eq!(server.tools_run(), ["write"], "not sent again");
}

#[tokio::test]
async fn r_auth_06_a_stream_that_ends_while_nothing_waits_is_no_crash() {
    let server = faulty(SseFault::None);
    let upstream = connect(&server.spec("old")).await.unwrap();
    server.end_streams();
    assert_eq!(upstream.ended().await.reason, Reason::Cancelled);
    assert!(!upstream.is_alive());
    // A call that comes too late is treated like one that was in flight.
    let error = call(&*upstream, "look").await.unwrap_err();
    assert_eq!(error.reason, Reason::ServerExited);
}

#[tokio::test]
async fn r_auth_06_a_refused_message_ends_its_call() {
    for (status, reason, part, lives) in [
        (
            404,
            Reason::ServerExited,
            "does not know the session",
            false,
        ),
        (
            410,
            Reason::ServerExited,
            "does not know the session",
            false,
        ),
        (401, Reason::LoginNeeded, "login", true),
        (413, Reason::HttpStatus, "413", true),
        (500, Reason::HttpStatus, "500", true),
        (307, Reason::HttpStatus, "307", true),
    ] {
        let server = faulty(SseFault::CallStatus(status));
        let upstream = connect(&server.spec("old")).await.unwrap();
        let begun = Instant::now();
        let error = call(&*upstream, "look").await.unwrap_err();
        assert_eq!(error.reason, reason, "{status}: {error}");
        assert!(error.message.contains(part), "{error}");
        assert!(begun.elapsed() < Duration::from_secs(5));
        assert_eq!(upstream.is_alive(), lives, "{status}");
        assert_no_session(&server, &error);
    }
}

#[tokio::test]
async fn r_auth_06_an_event_without_end_is_cut_off() {
    let server = faulty(SseFault::EndlessEvent);
    let error = connect_with(&server.spec("old"), small()).await;
    let error = error.map(|_| ()).unwrap_err();
    assert_eq!(error.reason, Reason::FrameTooLarge, "{error}");
}

#[tokio::test]
async fn r_auth_06_an_answer_beyond_the_limit_ends_the_connection() {
    let server = faulty(SseFault::LargeAnswer(300 * 1024));
    let upstream = connect_with(&server.spec("old"), small()).await.unwrap();
    let error = call(&*upstream, "look").await.unwrap_err();
    assert_eq!(error.reason, Reason::FrameTooLarge, "{error}");

    let server = faulty(SseFault::LargeAnswer(200 * 1024));
    let upstream = connect_with(&server.spec("old"), small()).await.unwrap();
    let outcome = call(&*upstream, "look").await.unwrap();
    assert!(outcome.result.get().len() > 200 * 1024);
}

#[tokio::test]
async fn r_auth_06_a_damaged_answer_fails_its_call_only() {
    let server = faulty(SseFault::DamagedAnswer);
    let upstream = connect(&server.spec("old")).await.unwrap();
    let error = call(&*upstream, "look").await.unwrap_err();
    assert_eq!(error.reason, Reason::FrameInvalid, "{error}");
    assert!(upstream.is_alive());
    server.change(|script| script.fault = SseFault::None);
    call(&*upstream, "look").await.unwrap();
}

#[tokio::test]
async fn r_auth_06_many_calls_share_one_stream() {
    let server = SseServer::start(SseScript {
        late_acknowledgement: true,
        ..SseScript::default()
    });
    let upstream = connect(&server.spec("old")).await.unwrap();
    let begun = Instant::now();
    let calls = (0..10).map(|_| call(&*upstream, "look"));
    for outcome in futures_util::future::join_all(calls).await {
        outcome.unwrap();
    }
    // An acknowledgement takes a second each; they overlap.
    assert!(
        begun.elapsed() < Duration::from_secs(8),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!((server.streams(), server.tools_run().len()), (1, 10));
}

#[tokio::test]
async fn r_auth_06_a_dropped_call_is_cancelled() {
    let server = faulty(SseFault::SilentAtCall);
    let upstream = connect(&server.spec("old")).await.unwrap();
    let silent = call(&*upstream, "write");
    let begun = tokio::time::timeout(Duration::from_millis(500), silent).await;
    assert!(begun.is_err(), "it waits");
    pegboard_testkit::wait_until("the cancellation", Duration::from_secs(10), || {
        server
            .methods()
            .contains(&"notifications/cancelled".to_owned())
    })
    .await;
    assert!(upstream.is_alive());
}
