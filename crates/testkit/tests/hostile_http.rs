//! Tests of the hostile server over HTTP, with plain sockets.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use pegboard_testkit::script::{Era, HttpFault, HttpFaultKind, ListChanged, Moment};
use pegboard_testkit::{HostileHttp, Script, is_alive, wait_until_sync};
use serde_json::{Value, json};

const VERSION: &str = "2026-07-28";

fn modern(method: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": {
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientCapabilities": {},
    }}})
}

fn legacy(method: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"protocolVersion": "2025-06-18"}})
}

/// Posts a message on a new connection and reads at most `limit` bytes of the response.
fn post(server: &HostileHttp, headers: &str, message: &Value, limit: u64) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    let body = message.to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: x\r\n{headers}Connection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream
        .write_all(format!("{head}{body}").as_bytes())
        .unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    let _ = stream.take(limit).read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn list_headers() -> String {
    format!("MCP-Protocol-Version: {VERSION}\r\nMcp-Method: tools/list\r\n")
}

fn list(script: &Script) -> String {
    post(
        &script.serve_http(),
        &list_headers(),
        &modern("tools/list"),
        200_000,
    )
}

#[test]
fn modern_headers_have_to_match_the_body() {
    let server = Script::new().tools(["a"]).serve_http();
    let check = |headers: &str, status: &str, part: &str| {
        let answer = post(&server, headers, &modern("tools/list"), 100_000);
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")) && answer.contains(part),
            "{answer}"
        );
    };
    check(&list_headers(), "200", r#""name":"a""#);
    check("", "400", "-32020");
    check(
        &list_headers().replace("tools/list", "tools/call"),
        "400",
        "-32020",
    );
    check(
        &list_headers().replace(VERSION, "2025-11-25"),
        "400",
        "-32020",
    );
}

#[test]
fn a_legacy_session_is_given_wanted_and_lost() {
    let script = Script::new().tools(["a"]).era(Era::Legacy).with(|script| {
        script.http.session = true;
        script.http.lose_session_at = Some(2);
    });
    let server = script.serve_http();
    let opened = post(&server, "", &legacy("initialize"), 100_000);
    let session = opened
        .lines()
        .find_map(|line| line.strip_prefix("Mcp-Session-Id: "))
        .unwrap();
    let header = format!("Mcp-Session-Id: {session}\r\n");
    let status = |header: &str| post(&server, header, &legacy("tools/list"), 12);
    assert_eq!(status(""), "HTTP/1.1 400");
    assert_eq!(status("Mcp-Session-Id: other\r\n"), "HTTP/1.1 404");
    assert_eq!(status(&header), "HTTP/1.1 200");
    assert_eq!(status(&header), "HTTP/1.1 404");
    assert_eq!(status(&header), "HTTP/1.1 404");
}

#[test]
fn http_failures_follow_the_script() {
    let check = |kind: HttpFaultKind, parts: &[&str]| {
        let answer = list(&Script::new().tools(["a"]).http(Moment::List, kind.clone()));
        assert!(
            parts.iter().all(|part| answer.contains(part)),
            "{kind:?}: {answer:.300}"
        );
    };
    check(HttpFaultKind::Html, &["200", "text/html", "<!DOCTYPE"]);
    check(HttpFaultKind::Empty, &["200", "Content-Length: 0"]);
    check(HttpFaultKind::Batch, &["\r\n\r\n[{"]);
    check(
        HttpFaultKind::ContentLength(10 << 30),
        &["Content-Length: 10737418240"],
    );
    let location = "http://127.0.0.1:{port}/other".to_owned();
    check(
        HttpFaultKind::Redirect {
            code: 307,
            location,
        },
        &["307", "Location: http://127.0.0.1:", "/other"],
    );
    let headers = vec![("Retry-After".to_owned(), "7".to_owned())];
    check(
        HttpFaultKind::Status { code: 503, headers },
        &["503", "Retry-After: 7", "refused on purpose"],
    );
    let endless = list(&Script::new().http(Moment::Start, HttpFaultKind::EndlessBody));
    assert_eq!(endless.len(), 200_000);
    assert!(
        endless.contains("\r\n\r\nc\r\n{\"padding\":\"\r\n10000\r\nxxx"),
        "{endless:.300}"
    );
    assert_eq!(
        list(&Script::new().http(Moment::Start, HttpFaultKind::EndlessEvent)).len(),
        200_000
    );
    assert_eq!(
        list(&Script::new().http(Moment::Start, HttpFaultKind::Drop)),
        ""
    );
    assert!(!list(&Script::new().http(Moment::List, HttpFaultKind::CutBody(9))).ends_with('}'));
}

#[test]
fn a_fault_can_happen_a_few_times_only() {
    let kind = HttpFaultKind::Status {
        code: 429,
        headers: Vec::new(),
    };
    let fault = HttpFault {
        when: Moment::List,
        kind,
        times: Some(1),
    };
    let server = Script::new()
        .with(|script| script.http.faults.push(fault))
        .serve_http();
    let status = || post(&server, &list_headers(), &modern("tools/list"), 12);
    assert_eq!([status(), status()], ["HTTP/1.1 429", "HTTP/1.1 200"]);
}

#[test]
fn a_token_is_wanted_and_answers_can_be_events() {
    let script = Script::new().tools(["a"]).with(|script| {
        script.http.sse = true;
        script.http.bearer = Some("open-sesame".to_owned());
    });
    let server = script.serve_http();
    assert!(
        post(&server, &list_headers(), &modern("tools/list"), 100_000).starts_with("HTTP/1.1 401")
    );
    let headers = format!("{}Authorization: Bearer open-sesame\r\n", list_headers());
    let answer = post(&server, &headers, &modern("tools/list"), 100_000);
    assert!(
        answer.contains("text/event-stream") && answer.contains("data: {"),
        "{answer}"
    );
}

#[test]
fn a_subscription_is_a_stream_of_events() {
    let script = Script::new().with(|script| {
        script.list_changed = Some(ListChanged {
            after: Moment::Start,
            times: 3,
            pause_ms: 0,
        });
    });
    let headers = list_headers().replace("tools/list", "subscriptions/listen");
    let answer = post(
        &script.serve_http(),
        &headers,
        &modern("subscriptions/listen"),
        100_000,
    );
    assert_eq!(
        answer
            .matches("notifications/subscriptions/acknowledged")
            .count(),
        1,
        "{answer}"
    );
    assert_eq!(
        answer.matches("notifications/tools/list_changed").count(),
        3,
        "{answer}"
    );
}

#[test]
fn a_server_ends_with_its_guard() {
    let folder = tempfile::tempdir().unwrap();
    let count = folder.path().join("count");
    let server = Script::new().count_in(&count).serve_http();
    let pid = pegboard_testkit::starts_in(&count)[0];
    assert!(is_alive(pid));
    drop(server);
    wait_until_sync("the server ends", Duration::from_secs(5), || !is_alive(pid));
}
