//! Connections over Streamable HTTP.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod fixture;
#[path = "fixture/web.rs"]
mod web;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fixture::{connect, connector, eventually, failure, nothing, setup, spec, within};
use pegboard_model::{Era, Limits, Reason, ServerSpec, Template, Transport};
use pegboard_upstream::{Connect, ConnectHint, Connector, ConnectorConfig};
use tokio::io::AsyncWriteExt;
use web::{Reply, Request, Web};

const DISCOVERED: &str = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}}}"#;
const INITIALIZED: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"web","version":"1"}}"#;

fn at(url: &str) -> ServerSpec {
    spec(Transport::Http {
        url: Template::literal(url),
        headers: BTreeMap::new(),
        bearer: None,
        wire: Default::default(),
    })
}

fn modern(request: &Request) -> Reply {
    match request.method().as_str() {
        "server/discover" => request.result(DISCOVERED),
        "tools/list" => request.result(r#"{"resultType":"complete","tools":[{"name":"echo"}],"ttlMs":5,"cacheScope":"public"}"#),
        "tools/call" => request.result(r#"{"resultType":"complete","content":[]}"#),
        _ => request.error(404, -32601),
    }
}

/// A legacy server with one session that responds with events.
fn legacy(request: &Request) -> Reply {
    let with_session = request.header("mcp-session-id") == Some("s1");
    match (request.verb.as_str(), request.method().as_str()) {
        ("POST", "initialize") => request.result(INITIALIZED).with("Mcp-Session-Id", "s1"),
        ("POST", "notifications/initialized") => Reply::status(202),
        ("POST", "tools/list") if with_session => {
            let response = request.result_text(r#"{"tools":[{"name":"echo"}]}"#);
            Reply::events(&format!(
                ": hello\n\nevent: message\ndata: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}}\n\ndata: {response}\n\n"
            ))
        }
        ("POST", "tools/call") if with_session => request.result(r#"{"content":[]}"#),
        ("DELETE", _) => Reply::status(200),
        ("GET", _) => Reply::status(405),
        _ => Reply::typed("text/plain", "Bad Request"),
    }
}

#[tokio::test]
async fn a_modern_server_gets_the_headers_of_its_era() {
    let web = Web::start(modern).await;
    let server = connect(&at(&web.url)).await.unwrap();
    assert_eq!(server.handshake().era, Era::Modern);
    let listing = server.list_tools().await.unwrap();
    assert_eq!(
        (listing.tools.len(), listing.ttl_ms, listing.private),
        (1, Some(5), false)
    );
    server.call("echo", &nothing(), within(5)).await.unwrap();
    server.close().await;
    assert_eq!(
        web.methods(),
        ["server/discover", "tools/list", "tools/call"]
    );
    let call = web.seen().pop().unwrap();
    assert_eq!((call.verb.as_str(), call.path.as_str()), ("POST", "/mcp"));
    assert_eq!(call.header("mcp-protocol-version"), Some("2026-07-28"));
    assert_eq!(
        (call.header("mcp-method"), call.header("mcp-name")),
        (Some("tools/call"), Some("echo"))
    );
    assert_eq!(
        (call.header("accept"), call.header("mcp-session-id")),
        (Some("application/json, text/event-stream"), None)
    );
    assert!(call.body.contains("io.modelcontextprotocol/clientInfo"));
}

#[tokio::test]
async fn a_legacy_server_keeps_its_session_until_it_is_closed() {
    let web = Web::start(legacy).await;
    let server = connect(&at(&web.url)).await.unwrap();
    assert_eq!(
        (server.handshake().era, server.handshake().list_changed),
        (Era::Legacy, true)
    );
    let changes = server.list_changed();
    assert_eq!(server.list_tools().await.unwrap().tools.len(), 1);
    assert_eq!(
        *changes.borrow(),
        1,
        "a notification among the events is handled"
    );
    server.call("echo", &nothing(), within(5)).await.unwrap();
    server.close().await;
    let last = web.seen().pop().unwrap();
    assert_eq!(
        (last.verb.as_str(), last.header("mcp-session-id")),
        ("DELETE", Some("s1"))
    );
    assert_eq!(last.header("mcp-protocol-version"), Some("2025-11-25"));
    assert_eq!(failure(server.list_tools().await).reason, Reason::Cancelled);
}

#[tokio::test]
async fn a_stored_modern_era_skips_the_probe_and_a_wrong_one_is_corrected() {
    let hint = ConnectHint {
        era: Some(Era::Modern),
        protocol_version: Some("2026-07-28".into()),
        ..Default::default()
    };
    let web = Web::start(modern).await;
    let server = connector()
        .connect(&at(&web.url), &hint, Duration::from_secs(5))
        .await
        .unwrap();
    assert!(web.seen().is_empty());
    assert_eq!(server.list_tools().await.unwrap().tools.len(), 1);
    assert_eq!(web.methods(), ["tools/list"]);
    let web = Web::start(legacy).await;
    let server = connector()
        .connect(&at(&web.url), &hint, Duration::from_secs(5))
        .await
        .unwrap();
    assert_eq!(server.list_tools().await.unwrap().tools.len(), 1);
    assert_eq!(server.handshake().era, Era::Legacy);
    let hint = ConnectHint {
        era: Some(Era::Legacy),
        protocol_version: None,
        ..Default::default()
    };
    let web = Web::start(modern).await;
    let server = connector()
        .connect(&at(&web.url), &hint, Duration::from_secs(5))
        .await
        .unwrap();
    assert_eq!(server.handshake().era, Era::Modern);
}

#[tokio::test]
async fn modern_errors_keep_the_era_and_anything_else_means_legacy() {
    for (status, code) in [(400, -32020), (400, -32022), (400, -32021)] {
        let web = Web::start(move |request| match request.method().as_str() {
            "server/discover" => request.error(status, code),
            _ => Reply::status(500),
        })
        .await;
        assert_eq!(
            connect(&at(&web.url)).await.unwrap().handshake().era,
            Era::Modern,
            "{code}"
        );
    }
    for probe in [
        Reply::status(400),
        Reply::status(404),
        Reply::status(405),
        Reply::status(500),
        Reply::typed("text/html", "<p>"),
    ] {
        let web = Web::start(move |request| match request.method().as_str() {
            "server/discover" => probe.clone(),
            _ => legacy(request),
        })
        .await;
        assert_eq!(
            connect(&at(&web.url)).await.unwrap().handshake().era,
            Era::Legacy
        );
    }
}

#[tokio::test]
async fn a_lost_session_is_renewed_once() {
    let sessions = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&sessions);
    let web = Web::start(move |request| {
        match (request.method().as_str(), request.header("mcp-session-id")) {
            ("initialize", _) => {
                let number = count.fetch_add(1, Ordering::SeqCst) + 1;
                request
                    .result(INITIALIZED)
                    .with("Mcp-Session-Id", &format!("s{number}"))
            }
            ("notifications/initialized", _) => Reply::status(202),
            ("tools/call", Some("s2")) => request.result(r#"{"content":["renewed"]}"#),
            ("tools/list", _) | ("tools/call", _) => Reply::status(404),
            _ => Reply::status(400),
        }
    })
    .await;
    let server = connect(&at(&web.url)).await.unwrap();
    let outcome = server.call("echo", &nothing(), within(5)).await.unwrap();
    assert_eq!(outcome.result.get(), r#"{"content":["renewed"]}"#);
    assert_eq!(sessions.load(Ordering::SeqCst), 2);
    let error = failure(server.list_tools().await);
    assert_eq!(
        error.reason,
        Reason::HttpStatus,
        "a server that always loses its session is not retried forever"
    );
    assert_eq!(sessions.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn r_sec_01_bodies_are_read_up_to_the_limit_only() {
    let limits = Limits {
        frame_bytes: 100_000,
        result_bytes: 100_000,
        ..Limits::default()
    };
    let cases: [(&str, Reply); 4] = [
        (
            "announced",
            Reply::json("{").with("Content-Length", "10737418240"),
        ),
        (
            "endless",
            Reply {
                endless: Some("x".repeat(1_000)),
                ..Reply::json("{\"a\":\"")
            },
        ),
        (
            "endless event",
            Reply {
                endless: Some("x".repeat(1_000)),
                ..Reply::events("data: ")
            },
        ),
        (
            "endless lines",
            Reply {
                endless: Some("data: x\n".repeat(100)),
                ..Reply::events("")
            },
        ),
    ];
    for (name, hostile) in cases {
        let web = Web::start(move |request| match request.method().as_str() {
            "tools/call" | "tools/list" => hostile.clone(),
            _ => modern(request),
        })
        .await;
        let connector = Connector::new(ConnectorConfig {
            limits: limits.clone(),
            ..setup()
        });
        let server = connector
            .connect(
                &at(&web.url),
                &ConnectHint::default(),
                Duration::from_secs(5),
            )
            .await
            .unwrap();
        assert_eq!(
            failure(server.call("echo", &nothing(), within(20)).await).reason,
            Reason::HttpBodyTooLarge,
            "{name}"
        );
        assert_eq!(
            failure(server.list_tools().await).reason,
            Reason::HttpBodyTooLarge,
            "{name}"
        );
    }
}

#[tokio::test]
async fn r_sec_01_redirects_are_followed_only_within_the_origin_and_once() {
    for (status, place, expected) in [
        (307, "/moved", None),
        (308, "/moved", None),
        (301, "/moved", Some(Reason::HttpRedirectRefused)),
        (302, "/moved", Some(Reason::HttpRedirectRefused)),
        (307, "/loop", Some(Reason::HttpRedirectRefused)),
        (
            307,
            "http://169.254.169.254/latest",
            Some(Reason::HttpRedirectRefused),
        ),
        (
            308,
            "https://elsewhere.example/mcp",
            Some(Reason::HttpRedirectRefused),
        ),
        (
            307,
            "//elsewhere.example/mcp",
            Some(Reason::HttpRedirectRefused),
        ),
    ] {
        let web = Web::start(move |request| match request.path.as_str() {
            "/moved" => modern(request),
            _ => Reply::status(status).with("Location", place),
        })
        .await;
        let found = connect(&at(&web.url)).await.err().map(|error| error.reason);
        assert_eq!(found, expected, "{status} to {place}");
    }
}

#[tokio::test]
async fn http_trouble_has_its_own_reasons() {
    for (reply, reason, retryable) in [
        (Reply::status(401), Reason::LoginNeeded, false),
        (Reply::status(403), Reason::AccessForbidden, false),
        (Reply::status(429), Reason::HttpStatus, true),
        (Reply::status(503), Reason::HttpStatus, true),
        (Reply::status(410), Reason::HttpStatus, false),
        (
            Reply::typed("text/html", "<h1>\u{1b}[2Jhello</h1>"),
            Reason::HttpProtocol,
            false,
        ),
        (Reply::json("[]"), Reason::HttpProtocol, false),
        (Reply::json(""), Reason::HttpProtocol, false),
        (
            Reply::events("data: nothing of use\n\n"),
            Reason::ConnectFailed,
            true,
        ),
    ] {
        let web = Web::start(move |_| reply.clone()).await;
        let error = failure(connect(&at(&web.url)).await);
        assert_eq!(
            (error.reason, error.retryable),
            (reason, retryable),
            "{error}"
        );
        assert!(!error.message.contains('\u{1b}'), "{error}");
    }
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", closed.local_addr().unwrap());
    drop(closed);
    assert_eq!(
        failure(connect(&at(&url)).await).reason,
        Reason::ConnectFailed
    );
    let no_tls = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/mcp", no_tls.local_addr().unwrap());
    let response = async {
        let (mut stream, _) = no_tls.accept().await.unwrap();
        stream
            .write_all(b"HTTP/1.1 400 This is no TLS\r\n\r\n")
            .await
            .unwrap();
        stream
    };
    let server = at(&url);
    let (connected, _stream) = tokio::join!(connect(&server), response);
    assert_eq!(failure(connected).reason, Reason::TlsFailed);
}

#[tokio::test]
async fn a_silent_server_ends_with_the_budget() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let error = failure(
        connector()
            .connect(
                &at(&url),
                &ConnectHint::default(),
                Duration::from_millis(200),
            )
            .await,
    );
    assert_eq!(error.reason, Reason::DiscoveryTimeout);
}

#[tokio::test]
async fn r_obs_03_headers_carry_secrets_and_errors_do_not() {
    let web = Web::start(|request| match request.method().as_str() {
        "tools/call" => Reply::json(&format!(
            "you sent {}",
            request.header("authorization").unwrap_or_default()
        )),
        _ => modern(request),
    })
    .await;
    let headers = BTreeMap::from([("X-Key".to_owned(), Template::literal("canary-header"))]);
    let url = Template::literal(format!("{}?key=canary-query", web.url));
    let server = spec(Transport::Http {
        url,
        headers,
        bearer: Some(Template::literal("canary-bearer")),
        wire: Default::default(),
    });
    let server = connect(&server).await.unwrap();
    let error = failure(server.call("echo", &nothing(), within(5)).await);
    assert!(
        error.message.contains("you sent Bearer ***") && !format!("{error:?}").contains("canary"),
        "{error}"
    );
    let call = web.seen().pop().unwrap();
    assert_eq!(call.header("authorization"), Some("Bearer canary-bearer"));
    assert_eq!(
        (call.header("x-key"), call.path.as_str()),
        (Some("canary-header"), "/mcp?key=canary-query")
    );
}

#[tokio::test]
async fn r_obs_03_k10_credentials_in_a_url_are_sent_and_never_shown() {
    let web = Web::start(|request| match request.method().as_str() {
        "tools/call" => Reply::json("known: canary-user and canary/pass and canary%2Fpass"),
        _ => modern(request),
    })
    .await;
    let address = web
        .url
        .replace("http://", "http://canary-user:canary%2Fpass@");
    let server = connect(&at(&address)).await.unwrap();
    let error = failure(server.call("echo", &nothing(), within(5)).await);
    assert!(
        error.message.contains("known: *** and *** and ***"),
        "{error}"
    );
    let call = web.seen().pop().unwrap();
    let sent = call.header("authorization").unwrap_or_default().to_owned();
    assert!(sent.starts_with("Basic "), "{sent}");
}

#[tokio::test]
async fn r_sec_01_i15_retry_after_of_a_busy_server_is_reported_and_clamped() {
    for (asked, shown) in [("7", "7 s"), ("1000000000000", "3600 s")] {
        let web = Web::start(move |request| match request.method().as_str() {
            "tools/call" => Reply::status(429).with("Retry-After", asked),
            _ => modern(request),
        })
        .await;
        let server = connect(&at(&web.url)).await.unwrap();
        let error = failure(server.call("echo", &nothing(), within(5)).await);
        assert_eq!((error.reason, error.retryable), (Reason::HttpStatus, true));
        let remedy = format!("The server is busy. Try again in {shown}.");
        assert_eq!(error.remedy, remedy);
    }
}

#[tokio::test]
async fn r_sec_01_i09_an_address_that_cannot_be_read_says_why_and_how_to_write_it() {
    let error = failure(connect(&at("http://canary@127.0.0.1:99999/")).await);
    assert_eq!(
        error.message,
        "`url` of server `tested` is not a valid URL: invalid port number"
    );
    assert_eq!(error.remedy, "Write it as `https://example.com/mcp`.");
}

#[tokio::test]
async fn configured_values_that_cannot_be_sent_are_named_but_not_shown() {
    let with_header = |name: &str, value: &str| {
        let headers = BTreeMap::from([(name.to_owned(), Template::literal(value))]);
        spec(Transport::Http {
            url: Template::literal("http://127.0.0.1:1/"),
            headers,
            bearer: None,
            wire: Default::default(),
        })
    };
    for (server, field) in [
        (
            with_header("X-Key", "canary\nInjected: yes"),
            "headers.X-Key",
        ),
        (with_header("bad name", "x"), "headers.bad name"),
        (with_header("Host", "elsewhere"), "headers.Host"),
        (at("ftp://127.0.0.1/"), "url"),
        (at("file:///etc/passwd"), "url"),
        (at("not a url"), "url"),
        (at("http://canary@127.0.0.1:99999/"), "url"),
        (at("http://[::1/canary"), "url"),
        (at("http://256.256.256.256/canary"), "url"),
    ] {
        let error = failure(connect(&server).await);
        assert_eq!(
            (error.reason, error.field.as_deref()),
            (Reason::ConfigInvalid, Some(field))
        );
        assert!(!error.message.contains("canary"), "{error}");
    }
}

#[tokio::test]
async fn r_disc_12_changes_are_announced_in_both_eras() {
    const CHANGED: &str =
        "id: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n";
    let stream = || Reply {
        stays_open: true,
        ..Reply::events(CHANGED)
    };
    let web = Web::start(move |request| match request.verb.as_str() {
        "GET" => stream(),
        _ => legacy(request),
    })
    .await;
    let server = connect(&at(&web.url)).await.unwrap();
    let mut changes = server.list_changed();
    tokio::time::timeout(
        Duration::from_secs(10),
        changes.wait_for(|count| *count >= 1),
    )
    .await
    .unwrap()
    .unwrap();
    let opened = web
        .seen()
        .into_iter()
        .find(|request| request.verb == "GET")
        .unwrap();
    assert_eq!(
        (opened.header("accept"), opened.header("mcp-session-id")),
        (Some("text/event-stream"), Some("s1"))
    );
    server.close().await;
    let web = Web::start(move |request| match request.method().as_str() {
        "subscriptions/listen" => stream(),
        _ => modern(request),
    })
    .await;
    let server = connect(&at(&web.url)).await.unwrap();
    let mut changes = server.list_changed();
    tokio::time::timeout(
        Duration::from_secs(10),
        changes.wait_for(|count| *count >= 1),
    )
    .await
    .unwrap()
    .unwrap();
    assert!(web.seen().iter().any(|request| {
        request
            .body
            .contains(r#""notifications":{"toolsListChanged":true}"#)
    }));
    server.close().await;
}

#[tokio::test]
async fn a_dropped_legacy_call_is_cancelled_and_pings_are_answered() {
    const PING: &str = "data: {\"jsonrpc\":\"2.0\",\"id\":\"p1\",\"method\":\"ping\"}\n\n";
    let web = Web::start(move |request| match request.method().as_str() {
        "tools/call" => Reply {
            stays_open: true,
            ..Reply::events(PING)
        },
        "" | "notifications/cancelled" => Reply::status(202),
        _ => legacy(request),
    })
    .await;
    let server = connect(&at(&web.url)).await.unwrap();
    let options = pegboard_upstream::CallOptions::with_timeout(Duration::from_millis(300));
    assert_eq!(
        failure(server.call("hang", &nothing(), options).await).reason,
        Reason::CallTimeout
    );
    assert_eq!(server.health().in_flight, 0);
    eventually("the cancellation", || {
        web.methods()
            .contains(&"notifications/cancelled".to_owned())
    })
    .await;
    assert!(
        web.seen()
            .iter()
            .any(|request| request.body == r#"{"jsonrpc":"2.0","id":"p1","result":{}}"#)
    );
}

/// A legacy server that numbers its sessions and refuses those older than `oldest` with `refusal`.
fn numbered_sessions(
    oldest: Arc<AtomicUsize>,
    refusal: impl Fn(&Request) -> Reply + Send + Sync + 'static,
) -> impl Fn(&Request) -> Reply + Send + Sync + 'static {
    let sessions = AtomicUsize::new(0);
    move |request| {
        let session = request.header("mcp-session-id").unwrap_or_default();
        let number: usize = session.trim_start_matches('s').parse().unwrap_or(0);
        let is_alive = number >= oldest.load(Ordering::SeqCst);
        match (request.verb.as_str(), request.method().as_str()) {
            ("POST", "initialize") => {
                let number = sessions.fetch_add(1, Ordering::SeqCst) + 1;
                request
                    .result(INITIALIZED)
                    .with("Mcp-Session-Id", &format!("s{number}"))
            }
            ("POST", "notifications/initialized") => Reply::status(202),
            ("POST", "tools/call") if is_alive => request.result(r#"{"content":[]}"#),
            ("GET", _) if is_alive => Reply::events(
                "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n",
            ),
            _ if number > 0 => refusal(request),
            _ => Reply::status(400),
        }
    }
}

#[tokio::test]
async fn a_session_that_the_server_forgot_is_renewed_however_it_says_so() {
    let bodies: [fn(&Request) -> Reply; 3] = [
        |_| Reply::status(404),
        |_| Reply {
            status: 400,
            ..Reply::json(
                r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}"#,
            )
        },
        |_| Reply {
            status: 400,
            ..Reply::typed("text/plain", "Invalid or missing session ID")
        },
    ];
    for refusal in bodies {
        let web = Web::start(numbered_sessions(Arc::new(AtomicUsize::new(2)), refusal)).await;
        let server = connect(&at(&web.url)).await.unwrap();
        server.call("echo", &nothing(), within(5)).await.unwrap();
        let calls = web.methods();
        let calls = calls.iter().filter(|method| *method == "tools/call");
        assert_eq!(calls.count(), 2, "refused, then run");
    }
}

#[tokio::test]
async fn a_400_without_a_session_error_is_a_response() {
    let refusal = |request: &Request| request.error(400, -32602);
    let web = Web::start(numbered_sessions(Arc::new(AtomicUsize::new(9)), refusal)).await;
    let server = connect(&at(&web.url)).await.unwrap();
    let error = failure(server.call("echo", &nothing(), within(5)).await);
    assert_eq!(error.reason, Reason::ArgsInvalid);
    let methods = web.methods();
    let opened = methods.iter().filter(|method| *method == "initialize");
    assert_eq!(opened.count(), 1);
}

#[tokio::test]
async fn r_disc_12_change_notifications_continue_after_a_session_was_renewed() {
    let oldest = Arc::new(AtomicUsize::new(1));
    let forgets = |_: &Request| Reply::status(404);
    let web = Web::start(numbered_sessions(Arc::clone(&oldest), forgets)).await;
    let server = connect(&at(&web.url)).await.unwrap();
    let changes = server.list_changed();
    eventually("the first change", || *changes.borrow() > 0).await;
    oldest.store(2, Ordering::SeqCst);
    let refused = || {
        let seen = web.seen();
        let gets = seen.iter().filter(|request| request.verb == "GET");
        gets.count() > 1
    };
    eventually("the stream was refused", refused).await;
    let before = *changes.borrow();
    server.call("echo", &nothing(), within(5)).await.unwrap();
    eventually("a change in the new session", || *changes.borrow() > before).await;
}

#[tokio::test]
async fn a_call_that_may_have_run_is_not_sent_again_when_the_remembered_era_is_doubted() {
    for response in [Reply::status(500), Reply::typed("text/html", "<p>done")] {
        let web = Web::start(move |request| match request.method().as_str() {
            "tools/call" => response.clone(),
            "server/discover" => Reply::status(404),
            _ => legacy(request),
        })
        .await;
        let hint = ConnectHint {
            era: Some(Era::Modern),
            protocol_version: None,
            ..Default::default()
        };
        let server = connector()
            .connect(&at(&web.url), &hint, Duration::from_secs(5))
            .await
            .unwrap();
        failure(server.call("echo", &nothing(), within(5)).await);
        let methods = web.methods();
        let calls = methods.iter().filter(|method| *method == "tools/call");
        assert_eq!(calls.count(), 1, "{methods:?}");
    }
}

#[tokio::test]
async fn r_obs_03_a_refused_redirect_shows_no_path_because_it_may_hold_a_key() {
    let place = "/s/key-in-the-path/mcp/";
    let web = Web::start(move |_| Reply::status(302).with("Location", place)).await;
    let error = failure(connect(&at(&web.url.replace("/mcp", "/s/key-in-the-path/mcp"))).await);
    assert_eq!(error.reason, Reason::HttpRedirectRefused);
    assert!(!error.message.contains("key-in-the-path"), "{error}");
    assert!(error.message.contains("http://127.0.0.1"), "{error}");
}
