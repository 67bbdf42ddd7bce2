//! API endpoints: what they send is bounded in size and time.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::time::Duration;

use bytes::Bytes;
use pegboard_model::{Reason, Secret};
use pegboard_upstream::{ApiEndpoint, ApiResponseLimits};

const LIMITS: ApiResponseLimits = ApiResponseLimits {
    event_bytes: 10_000,
    total_bytes: 50_000,
    silence: Duration::from_millis(300),
};

/// Starts a server that sends this head, then this text repeatedly.
fn service(head: &'static str, text: &'static str, times: usize) -> ApiEndpoint {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        let Ok((mut stream, _)) = listener.accept() else {
            return;
        };
        let mut request = [0; 4096];
        let _ = stream.read(&mut request);
        let _ = stream.write_all(head.as_bytes());
        for _ in 0..times {
            if stream.write_all(text.as_bytes()).is_err() {
                return;
            }
        }
        // Until the client disconnects.
        let _ = stream.read(&mut request);
    });
    let headers = [("authorization", Secret::new("Bearer canary"))];
    ApiEndpoint::at(&format!("http://{address}/v1"), &headers).expect("a service")
}

const EVENTS: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";

async fn ends_with(service: ApiEndpoint, expected: Reason) {
    let sent = service.post(Bytes::from_static(b"{}"), LIMITS).await;
    let mut reply = sent.expect("an answer");
    assert_eq!(reply.status(), 200);
    let error = loop {
        match reply.next_event().await {
            Ok(Some(_)) => {}
            Ok(None) => panic!("it ended by itself"),
            Err(error) => break error,
        }
    };
    assert_eq!(error.reason, expected, "{error}");
    assert!(!format!("{error:?}").contains("canary"));
}

#[tokio::test]
async fn r_sec_01_an_answer_of_a_service_is_bounded() {
    ends_with(
        service(EVENTS, "data: endless", 10_000),
        Reason::HttpBodyTooLarge,
    )
    .await;
    ends_with(
        service(EVENTS, "data: short\n\n", 100_000),
        Reason::HttpBodyTooLarge,
    )
    .await;
}

#[tokio::test]
async fn r_sec_01_a_service_that_falls_silent_is_given_up() {
    ends_with(service(EVENTS, "data: one\n\n", 1), Reason::ConnectTimeout).await;
    let silent = service("", "", 0);
    let sent = silent.post(Bytes::from_static(b"{}"), LIMITS).await;
    let error = sent.map(|_| ()).expect_err("silence");
    assert_eq!(error.reason, Reason::ConnectTimeout);
}

#[tokio::test]
async fn a_refusing_service_is_quoted_and_a_missing_one_is_named() {
    let head = "HTTP/1.1 529 Busy\r\nretry-after: 3\r\ncontent-length: 4\r\n\r\nbusy";
    let refusing = service(head, "", 0);
    let mut reply = refusing
        .post(Bytes::from_static(b"{}"), LIMITS)
        .await
        .expect("an answer");
    assert_eq!(
        (reply.status(), reply.header("retry-after")),
        (529, Some("3"))
    );
    assert_eq!(reply.body_prefix().await, "busy");
    let gone = ApiEndpoint::at("http://127.0.0.1:1/v1", &[]).expect("an address");
    let error = gone
        .post(Bytes::new(), LIMITS)
        .await
        .map(|_| ())
        .expect_err("no server");
    assert_eq!(error.reason, Reason::ConnectFailed);
    for wrong in ["", "ftp://x", "not an address"] {
        let error = ApiEndpoint::at(wrong, &[])
            .map(|_| ())
            .expect_err("no address");
        assert_eq!(error.reason, Reason::ConfigInvalid, "{wrong}");
    }
    let newline = [("authorization", Secret::new("a\nb"))];
    assert!(ApiEndpoint::at("http://x", &newline).is_err());
}
