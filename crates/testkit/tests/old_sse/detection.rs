//! Which transport a server speaks.

use std::time::Duration;

use pegboard_model::{Era, Reason};
use pegboard_testkit::oauth::{Behaviour, OAuthServer};
use pegboard_testkit::{Script, SseFault, SsePost, SseScript, SseServer, wait_until};

use crate::harness::{call, connect, faulty, refused, remembered, with_type_sse};

#[tokio::test]
async fn r_auth_06_an_old_server_is_detected_by_any_refusal() {
    for post in [
        SsePost::MethodNotAllowed,
        SsePost::NotFound,
        SsePost::BadRequest,
        SsePost::Stream,
    ] {
        for (crlf, chatty) in [(false, false), (true, false), (false, true), (true, true)] {
            let server = SseServer::start(SseScript {
                post,
                crlf,
                chatty,
                ..SseScript::default()
            });
            let upstream = connect(&server.spec("old")).await.unwrap();
            assert!(upstream.uses_old_sse(), "{post:?}");
            assert_eq!(upstream.handshake().era, Era::Legacy);
            assert_eq!(upstream.list_tools().await.unwrap().tools.len(), 2);
            let outcome = call(&*upstream, "look").await.unwrap();
            assert!(outcome.result.get().contains("\"kk\""), "{post:?}");
            let methods = server.methods();
            assert!(
                !methods.contains(&"server/discover".to_owned()),
                "{methods:?}"
            );
            assert_eq!(methods[..2], ["initialize", "notifications/initialized"]);
            upstream.close().await;
        }
    }
}

#[tokio::test]
async fn r_auth_06_a_configured_or_remembered_transport_needs_no_detection() {
    let server = SseServer::start(SseScript::default());
    let configured = connect(&with_type_sse(server.spec("old"))).await.unwrap();
    // The stream, `initialize` and `notifications/initialized`.
    let arrive = |count| {
        let server = &server;
        async move {
            let all = || server.methods().len() == count;
            wait_until("all messages", Duration::from_secs(10), all).await;
        }
    };
    arrive(2).await;
    assert_eq!(server.requests(), 3);
    let kept = remembered(&server.spec("old")).await.unwrap();
    arrive(4).await;
    assert_eq!(server.requests(), 6);
    assert!(configured.uses_old_sse() && kept.uses_old_sse());
}

#[tokio::test]
async fn r_auth_06_a_server_that_moved_to_streamable_http_is_detected_again() {
    let server = Script::new().tools(["a"]).serve_http();
    let mut spec = server.spec("new");
    spec.timeouts.discovery = Duration::from_secs(10);
    let upstream = remembered(&spec).await.unwrap();
    assert!(!upstream.uses_old_sse());
    assert_eq!(upstream.list_tools().await.unwrap().tools.len(), 1);
}

#[tokio::test]
async fn r_auth_06_a_login_comes_before_the_detection() {
    let server = SseServer::start(SseScript {
        token: Some("t".to_owned()),
        ..SseScript::default()
    });
    let error = refused(&server, &server.spec("old")).await;
    assert_eq!(error.reason, Reason::LoginNeeded, "{error}");
    assert_eq!(server.streams(), 0);
    let error = refused(&server, &with_type_sse(server.spec("old"))).await;
    assert_eq!(error.reason, Reason::LoginNeeded, "{error}");
}

#[tokio::test]
async fn r_auth_06_a_removed_transport_names_the_new_one() {
    let server = SseServer::start(SseScript {
        fault: SseFault::StreamStatus(410),
        post: SsePost::Gone,
        ..SseScript::default()
    });
    for spec in [server.spec("old"), with_type_sse(server.spec("old"))] {
        let error = refused(&server, &spec).await;
        assert_eq!(error.reason, Reason::HttpStatus);
        assert!(error.message.contains("410"), "{error}");
    }
    let error = refused(&server, &server.spec("old")).await;
    assert!(error.remedy.contains("/mcp"), "{}", error.remedy);
}

#[tokio::test]
async fn r_auth_06_a_url_without_either_transport_keeps_its_first_error() {
    let server = faulty(SseFault::StreamStatus(404));
    let error = refused(&server, &server.spec("old")).await;
    assert!(
        error.message.contains("405"),
        "the answer to the POST: {error}"
    );
    let error = refused(&server, &with_type_sse(server.spec("old"))).await;
    assert!(
        error.message.contains("404"),
        "the answer to the GET: {error}"
    );
    assert!(error.remedy.contains("remove `type"), "{}", error.remedy);
}

#[tokio::test]
async fn a_server_of_the_current_transport_is_not_asked_for_a_stream() {
    let mut open = Behaviour::default();
    open.resource.only_calls = true;
    let server = OAuthServer::start(open);
    let upstream = connect(&server.spec("new")).await.unwrap();
    assert!(!upstream.uses_old_sse());
}
