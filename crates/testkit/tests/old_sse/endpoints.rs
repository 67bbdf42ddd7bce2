//! The event `endpoint`, and what a server may send instead.

use std::time::{Duration, Instant};

use pegboard_model::Reason;
use pegboard_testkit::{SseFault, wait_until};

use crate::harness::{call, connect, faulty, refused, with_type_sse};

#[tokio::test]
async fn r_auth_06_an_endpoint_at_another_address_is_refused() {
    for endpoint in [
        "http://127.0.0.1:9/messages?session_id=SESSION",
        "https://127.0.0.1/messages?session_id=SESSION",
        "http://evil.example/messages?session_id=SESSION",
        "//evil.example/messages?session_id=SESSION",
        "file:///messages?session_id=SESSION",
    ] {
        let server = faulty(SseFault::Endpoint(endpoint.to_owned()));
        let error = refused(&server, &server.spec("old")).await;
        assert_eq!(error.reason, Reason::HttpProtocol);
        assert!(error.message.contains("another address"), "{error}");
        assert_eq!(server.methods(), Vec::<String>::new(), "nothing was sent");
    }
}

#[tokio::test]
async fn r_auth_06_a_missing_endpoint_ends_within_its_limit() {
    let begun = Instant::now();
    for (fault, part) in [
        (SseFault::NoEndpoint, "did not send the event `endpoint`"),
        (SseFault::LateEndpoint, "did not send the event `endpoint`"),
        (SseFault::EndsAtOnce, "ended its event stream before"),
        (SseFault::Endpoint(String::new()), "not a URL"),
        (SseFault::NotAStream, "405"),
    ] {
        let server = faulty(fault);
        let error = refused(&server, &server.spec("old")).await;
        assert!(error.message.contains(part), "{error}");
    }
    assert!(
        begun.elapsed() < Duration::from_secs(25),
        "{:?}",
        begun.elapsed()
    );
}

#[tokio::test]
async fn r_auth_06_the_same_endpoint_twice_is_no_fault_but_another_one_is() {
    let server = faulty(SseFault::SameEndpointTwice);
    let upstream = connect(&server.spec("old")).await.unwrap();
    call(&*upstream, "look").await.unwrap();

    let server = faulty(SseFault::OtherEndpointLater);
    let upstream = connect(&server.spec("old")).await.unwrap();
    let end = upstream.ended().await;
    assert_eq!(end.reason, Reason::HttpProtocol);
    assert!(end.message.contains("second endpoint"), "{end}");
    assert!(call(&*upstream, "look").await.is_err());
}

#[tokio::test]
async fn r_auth_06_a_stream_is_not_followed_to_another_address() {
    let server = faulty(SseFault::StreamRedirect(
        "http://evil.example/sse".to_owned(),
    ));
    let error = refused(&server, &with_type_sse(server.spec("old"))).await;
    assert_eq!(error.reason, Reason::HttpRedirectRefused, "{error}");
}

#[tokio::test]
async fn r_auth_06_a_closed_connection_closes_its_stream() {
    let server = faulty(SseFault::None);
    let upstream = connect(&server.spec("old")).await.unwrap();
    assert_eq!(server.open_streams(), 1);
    upstream.close().await;
    wait_until("the stream ends", Duration::from_secs(10), || {
        server.open_streams() == 0
    })
    .await;
    let dropped = connect(&server.spec("old")).await.unwrap();
    drop(dropped);
    wait_until("the stream ends", Duration::from_secs(10), || {
        server.open_streams() == 0
    })
    .await;
}
