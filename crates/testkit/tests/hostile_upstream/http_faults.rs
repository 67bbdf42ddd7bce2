//! Servers with HTTP faults.

use std::time::Duration;

use pegboard_model::{ErrorClass, Reason, Template, Transport};
use pegboard_testkit::script::{Era, HttpFault, HttpFaultKind, Moment};
use pegboard_testkit::{Script, http_spec, methods_in};
use pegboard_upstream::{Connect as _, ConnectHint};
use serde_json::json;

use crate::harness::{BUDGET, SLACK, call, concurrently, connector, list_with, names, refused};
use crate::http::{list_http, spec};

/// Applies the fault to every request, and only to the list.
async fn check(kind: HttpFaultKind, reasons: &'static [Reason]) {
    let cases = [
        (Era::Modern, Moment::Start),
        (Era::Modern, Moment::List),
        (Era::Legacy, Moment::Start),
        (Era::Legacy, Moment::List),
    ];
    concurrently(cases.map(|(era, moment)| check_one(era, moment, kind.clone(), reasons))).await;
}

async fn check_one(era: Era, moment: Moment, kind: HttpFaultKind, reasons: &[Reason]) {
    let script = Script::new()
        .era(era)
        .tools(["a"])
        .http(moment, kind.clone());
    let listed = tokio::time::timeout(2 * BUDGET + SLACK, list_http(&script)).await;
    let Ok(listed) = listed else {
        panic!("{kind:?} at {moment:?} holds us up")
    };
    match listed {
        Err(error) if reasons.contains(&error.reason) => drop(refused::<()>(Err(error), reasons)),
        other => panic!("{kind:?} at {moment:?}, {era:?}: expected {reasons:?}, got {other:?}"),
    }
}

#[tokio::test]
async fn r_sec_01_i14_a_response_outside_the_protocol_is_reported_as_such() {
    check(HttpFaultKind::Html, &[Reason::HttpProtocol]).await;
    check(HttpFaultKind::Empty, &[Reason::HttpProtocol]).await;
    check(HttpFaultKind::Batch, &[Reason::HttpProtocol]).await;
}

#[tokio::test]
async fn r_sec_01_i14_the_error_shows_the_first_words_escaped() {
    let error = refused(
        list_http(&Script::new().http(Moment::Start, HttpFaultKind::Html)).await,
        &[Reason::HttpProtocol],
    );
    assert!(error.message.contains("Sign in"), "{error}");
    assert!(error.message.contains("\\u{1b}"), "{error}");
}

#[tokio::test]
async fn r_sec_01_i01_i03_bodies_without_end_are_cut_off() {
    check(HttpFaultKind::EndlessBody, &[Reason::HttpBodyTooLarge]).await;
    check(
        HttpFaultKind::ContentLength(10 << 30),
        &[Reason::HttpBodyTooLarge],
    )
    .await;
    check(
        HttpFaultKind::EndlessEvent,
        &[Reason::HttpBodyTooLarge, Reason::FrameTooLarge],
    )
    .await;
}

#[tokio::test]
async fn r_sec_01_streams_that_say_nothing_end_in_bounded_time() {
    let reasons = &[Reason::HttpBodyTooLarge, Reason::DiscoveryTimeout];
    check(HttpFaultKind::EndlessComments, reasons).await;
    check(
        HttpFaultKind::SlowBody { pause_ms: 500 },
        &[Reason::DiscoveryTimeout],
    )
    .await;
}

#[tokio::test]
async fn r_sec_01_i07_redirects_to_other_places_are_refused() {
    for code in [301, 302, 307, 308] {
        for location in [
            "http://169.254.169.254/latest",
            "http://localhost:{port}/mcp",
            "file:///etc/passwd",
        ] {
            let location = location.to_owned();
            let script =
                Script::new().http(Moment::Start, HttpFaultKind::Redirect { code, location });
            refused(list_http(&script).await, &[Reason::HttpRedirectRefused]);
        }
    }
    let location = "http://127.0.0.1:{port}/mcp".to_owned();
    let looping = Script::new().http(
        Moment::Start,
        HttpFaultKind::Redirect {
            code: 307,
            location,
        },
    );
    refused(list_http(&looping).await, &[Reason::HttpRedirectRefused]);
}

#[tokio::test]
async fn r_sec_01_i07_a_redirect_within_the_same_place_keeps_the_request() {
    for location in ["/other", "http://127.0.0.1:{port}/other"] {
        let kind = HttpFaultKind::Redirect {
            code: 308,
            location: location.to_owned(),
        };
        let script = Script::new().tools(["a"]).http(Moment::Start, kind);
        assert_eq!(names(&list_http(&script).await.unwrap()), ["a"]);
    }
}

#[tokio::test]
async fn r_sec_01_i07_a_token_does_not_follow_a_redirect() {
    let folder = tempfile::tempdir().unwrap();
    let count = folder.path().join("count");
    let other = Script::new()
        .tools(["stolen"])
        .count_in(&count)
        .serve_http();
    let location = other.url();
    let server = Script::new()
        .http(
            Moment::Start,
            HttpFaultKind::Redirect {
                code: 307,
                location,
            },
        )
        .serve_http();
    let mut spec = spec(&server);
    if let Transport::Http { bearer, .. } = &mut spec.transport {
        *bearer = Some(Template::literal("canary-4713"));
    }
    refused(
        list_with(&connector(), &spec).await,
        &[Reason::HttpRedirectRefused],
    );
    assert!(
        methods_in(&count).is_empty(),
        "the other host received {:?}",
        methods_in(&count)
    );
}

#[tokio::test]
async fn r_sec_01_i10_a_server_without_tls_behind_https_is_a_tls_failure() {
    let server = Script::new().serve_http();
    let spec = http_spec("remote", format!("https://127.0.0.1:{}/mcp", server.port()));
    refused(list_with(&connector(), &spec).await, &[Reason::TlsFailed]);
}

#[tokio::test]
async fn r_reg_05_refusals_by_status_have_their_reason() {
    let status = |code| HttpFaultKind::Status {
        code,
        headers: Vec::new(),
    };
    check(status(401), &[Reason::LoginNeeded]).await;
    check(status(403), &[Reason::AccessForbidden]).await;
    check(status(500), &[Reason::HttpStatus]).await;
    check(status(404), &[Reason::HttpStatus, Reason::HttpProtocol]).await;
}

#[tokio::test]
async fn r_reg_05_an_address_without_a_listener_is_a_failed_connection() {
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let spec = http_spec("remote", format!("http://127.0.0.1:{port}/mcp"));
    refused(
        list_with(&connector(), &spec).await,
        &[Reason::ConnectFailed],
    );
}

#[tokio::test]
async fn r_sec_01_i16_a_connection_that_breaks_at_any_byte_is_unavailable() {
    const OFFSETS: usize = 250;
    let cut_at = |bytes| HttpFault {
        when: Moment::List,
        kind: HttpFaultKind::CutBody(bytes),
        times: Some(1),
    };
    let script = Script::new()
        .tools(["a"])
        .with(|script| script.http.faults = (0..OFFSETS).map(cut_at).collect());
    let server = script.serve_http();
    let upstream = connector()
        .connect(&spec(&server), &ConnectHint::default(), BUDGET)
        .await
        .unwrap();
    for bytes in 0..OFFSETS {
        let error = upstream
            .list_tools()
            .await
            .expect_err("an incomplete response is an error");
        assert_eq!(error.code, ErrorClass::Unavailable, "{bytes}: {error:?}");
    }
    assert_eq!(names(&upstream.list_tools().await.unwrap()), ["a"]);
    upstream.close().await;
}

#[tokio::test]
async fn r_sec_01_i16_an_answer_that_never_comes_is_unavailable() {
    for kind in [
        HttpFaultKind::Drop,
        HttpFaultKind::CutEvent,
        HttpFaultKind::CutBody(0),
    ] {
        for moment in [Moment::Start, Moment::List] {
            let script = Script::new().tools(["a"]).http(moment, kind.clone());
            let error = list_http(&script)
                .await
                .expect_err("a missing response is an error");
            assert_eq!(error.code, ErrorClass::Unavailable, "{kind:?}: {error:?}");
        }
    }
}

#[tokio::test]
async fn r_sec_01_i16_a_call_is_never_sent_twice() {
    let kinds = [
        HttpFaultKind::Drop,
        HttpFaultKind::CutBody(10),
        HttpFaultKind::Status {
            code: 503,
            headers: vec![("Retry-After".into(), "0".into())],
        },
    ];
    for kind in kinds {
        let folder = tempfile::tempdir().unwrap();
        let count = folder.path().join("count");
        let server = Script::new()
            .tools(["a"])
            .count_in(&count)
            .http(Moment::Call, kind.clone())
            .serve_http();
        let upstream = connector()
            .connect(&spec(&server), &ConnectHint::default(), BUDGET)
            .await
            .unwrap();
        let error = call(&*upstream, "a", json!({}))
            .await
            .expect_err("the call fails");
        assert_eq!(error.code, ErrorClass::Unavailable, "{kind:?}: {error:?}");
        let calls = methods_in(&count)
            .iter()
            .filter(|method| *method == "tools/call")
            .count();
        assert_eq!(calls, 1, "{kind:?}");
        upstream.close().await;
    }
}

#[tokio::test]
async fn r_disc_02_one_bad_answer_does_not_end_an_http_server() {
    let fault = HttpFault {
        when: Moment::Call,
        kind: HttpFaultKind::Html,
        times: Some(1),
    };
    let server = Script::new()
        .tools(["a"])
        .with(|script| script.http.faults.push(fault))
        .serve_http();
    let upstream = connector()
        .connect(&spec(&server), &ConnectHint::default(), BUDGET)
        .await
        .unwrap();
    refused(
        call(&*upstream, "a", json!({})).await,
        &[Reason::HttpProtocol],
    );
    assert!(!call(&*upstream, "a", json!({})).await.unwrap().is_error);
    assert_eq!(names(&upstream.list_tools().await.unwrap()), ["a"]);
    upstream.close().await;
}

#[tokio::test]
async fn r_disc_02_a_server_that_goes_away_between_two_requests_is_unavailable() {
    let server = Script::new().tools(["a"]).serve_http();
    let upstream = connector()
        .connect(&spec(&server), &ConnectHint::default(), BUDGET)
        .await
        .unwrap();
    drop(server);
    let listed = tokio::time::timeout(BUDGET + SLACK, upstream.list_tools())
        .await
        .expect("in bounded time");
    assert_eq!(
        listed.expect_err("the server has exited").code,
        ErrorClass::Unavailable
    );
    let closing = tokio::time::timeout(Duration::from_secs(5), upstream.close()).await;
    assert!(closing.is_ok(), "closing does not wait for the server");
}
