//! Logins, and requests of foreign pages.

use axum::body::Body;
use axum::http::Request;
use pegboard_gateway::http::Access;
use serde_json::{Value, json};

use crate::site::{ADMIN, CALL, HOST, TestResponse, TestSite, address, plain, with};

fn form(code: &str) -> Request<Body> {
    let mut request = plain("POST", "/login");
    *request.body_mut() = Body::from(format!("code={code}"));
    with(request, "content-type", "application/x-www-form-urlencoded")
}

/// A logged-in browser: its cookie and its page key.
struct Browser {
    cookie: String,
    key: String,
}

async fn log_in(site: &TestSite) -> Browser {
    let code = site.logins.mint();
    let response = site.send(form(code.reveal())).await;
    assert_eq!(response.status, 200);
    let cookie = response.header("set-cookie");
    Browser {
        cookie: cookie.split(';').next().unwrap().to_owned(),
        key: response.json()["pageKey"].as_str().unwrap().to_owned(),
    }
}

fn change(cookie: &str) -> Request<Body> {
    let mut request = plain("POST", "/api/v1/servers");
    *request.body_mut() = Body::from(json!({"name": "three", "command": "x"}).to_string());
    let request = with(request, "content-type", "application/json");
    with(request, "cookie", cookie)
}

#[tokio::test]
async fn r_sec_03_a_person_without_a_login_is_sent_to_the_login_page() {
    let site = TestSite::new().await;
    let page = site
        .send(with(plain("GET", "/"), "accept", "text/html,*/*"))
        .await;
    assert_eq!((page.status, page.header("location")), (303, "/login"));
    let program = site.send(plain("GET", "/")).await;
    assert_eq!(
        (program.status, program.code()),
        (401, "TOKEN_WRONG".into())
    );
    let login = site.send(plain("GET", "/login")).await;
    assert_eq!(login.status, 200);
    assert!(login.body.contains("name=\"code\""), "{}", login.body);
    assert_eq!(login.header("set-cookie"), "");
    assert!(
        login
            .header("content-security-policy")
            .contains("default-src 'none'")
    );
    assert_eq!(login.header("x-frame-options"), "DENY");
    assert_eq!(login.header("cache-control"), "no-store");
    let protocol = with(plain("GET", "/mcp"), "accept", "text/html");
    assert_eq!(
        site.send(protocol).await.status,
        401,
        "clients are not sent to pages"
    );
}

#[tokio::test]
async fn r_sec_03_a_code_logs_one_browser_in_and_only_from_our_own_page() {
    let site = TestSite::new().await;
    let code = site.logins.mint();
    let elsewhere = with(form(code.reveal()), "sec-fetch-site", "cross-site");
    assert_eq!(site.send(elsewhere).await.code(), "REQUEST_FORGED");
    let first = site.send(form(code.reveal())).await;
    assert_eq!(first.status, 200);
    assert_eq!(first.header("cache-control"), "no-store");
    let cookie = first.header("set-cookie");
    assert!(
        cookie.contains("HttpOnly; SameSite=Strict; Path=/"),
        "{cookie}"
    );
    let second = site.send(form(code.reveal())).await;
    assert_eq!((second.status, second.header("set-cookie")), (401, ""));
    assert_eq!(second.code(), "LOGIN_EXPIRED");
    for wrong in ["", "wrong", "%FF", &"x".repeat(9_000)] {
        let response = site.send(form(wrong)).await;
        assert!([400, 401].contains(&response.status), "{wrong}");
    }
}

/// A program on another port of this host gets the cookie from the browser, and requests everything with it.
#[tokio::test]
async fn r_sec_03_the_cookie_alone_neither_changes_nor_reads_anything() {
    let site = TestSite::new().await;
    let Browser { cookie, key } = log_in(&site).await;
    let own = format!("http://{HOST}");
    let as_thief = |method: &str, path: &str| with(plain(method, path), "cookie", &cookie);
    let pages = [
        "/",
        "/servers",
        "/servers/one",
        "/add-server",
        "/tools",
        "/tools/one__read",
        "/search?q=read",
        "/approvals",
        "/activity",
        "/context",
        "/connect",
        "/login",
    ];
    for path in pages {
        for accept in ["text/html", "*/*"] {
            let response = site
                .send(with(as_thief("GET", path), "accept", accept))
                .await;
            assert_eq!(response.status, 200, "{path}: the frame of a page");
            for known in [key.as_str(), CALL, ADMIN, "one__read", "Does read", "erase"] {
                assert!(!response.body.contains(known), "{path} contains {known}");
            }
            assert!(!response.body.contains("csrf"), "{path}");
        }
        let fragment = format!(
            "{path}{}fragment=1",
            if path.contains('?') { "&" } else { "?" }
        );
        if path != "/login" {
            let response = site.send(as_thief("GET", &fragment)).await;
            assert_eq!(response.status, 401, "{fragment}");
        }
    }
    for path in [
        "/api/v1/servers",
        "/api/v1/tools",
        "/api/v1/approvals",
        "/api/v1/activity",
        "/api/v1/events",
        "/api/v1/call-token",
        "/api/v1/openapi.json",
        "/metrics",
    ] {
        for accept in ["text/html", "*/*"] {
            let response = site
                .send(with(as_thief("GET", path), "accept", accept))
                .await;
            assert_ne!(response.status, 200, "{path}: {}", response.body);
        }
    }
    for request in [
        change(&cookie),
        with(change(&cookie), "origin", &own),
        with(change(&cookie), "sec-fetch-site", "same-origin"),
        with(as_thief("POST", "/api/v1/logins"), "origin", &own),
        with(
            as_thief("POST", "/api/v1/tools/one__read/call"),
            "origin",
            &own,
        ),
        with(as_thief("POST", "/logout"), "origin", &own),
    ] {
        let response = site.send(request).await;
        assert_eq!(
            (response.status, response.code()),
            (403, "REQUEST_FORGED".into())
        );
    }
    // The key alone is not enough either.
    let key_alone = with(plain("GET", "/api/v1/servers"), "x-pegboard-page-key", &key);
    assert_eq!(site.send(key_alone).await.status, 401);
}

#[tokio::test]
async fn r_sec_03_a_login_changes_things_only_for_our_own_pages() {
    let site = TestSite::new().await;
    let Browser { cookie, key } = log_in(&site).await;
    let reads = with(plain("GET", "/api/v1/approvals"), "cookie", &cookie);
    let reads = with(reads, "x-pegboard-page-key", &key);
    assert_eq!(site.send(reads).await.status, 200, "a login administers");
    let own = format!("http://{HOST}");
    let forged: Vec<(&str, Request<Body>)> = vec![
        ("nothing", change(&cookie)),
        ("no key", with(change(&cookie), "origin", &own)),
        (
            "no origin",
            with(change(&cookie), "x-pegboard-page-key", &key),
        ),
        (
            "a wrong key",
            with(
                with(change(&cookie), "origin", &own),
                "x-pegboard-page-key",
                "wrong",
            ),
        ),
    ];
    for (what, request) in forged {
        let response = site.send(request).await;
        assert_eq!(
            (response.status, response.code()),
            (403, "REQUEST_FORGED".into()),
            "{what}"
        );
    }
    // A page of another port of this machine: browsers send the cookie, which is not accepted.
    for (header, value) in [
        ("origin", "http://localhost:5173"),
        ("origin", "http://127.0.0.1:7341"),
        ("sec-fetch-site", "same-site"),
        ("sec-fetch-site", "cross-site"),
    ] {
        let request = with(change(&cookie), "x-pegboard-page-key", &key);
        let response = site.send(with(request, header, value)).await;
        assert_eq!(response.status, 401, "{value}: {response:?}");
        let reads = with(plain("GET", "/api/v1/servers"), "cookie", &cookie);
        let reads = with(reads, "x-pegboard-page-key", &key);
        let response = site.send(with(reads, header, value)).await;
        assert_eq!(response.status, 401, "{value}: {response:?}");
    }
    for (header, value) in [("origin", own.as_str()), ("sec-fetch-site", "same-origin")] {
        let request = with(change(&cookie), "x-pegboard-page-key", &key);
        let response: TestResponse = site.send(with(request, header, value)).await;
        assert!(
            [201, 409].contains(&response.status),
            "{value}: {response:?}"
        );
    }
    let protocol = with(plain("POST", "/mcp"), "cookie", &cookie);
    assert_eq!(
        site.send(protocol).await.status,
        401,
        "the protocol accepts only tokens"
    );
}

#[tokio::test]
async fn r_sec_03_logging_out_ends_a_login() {
    let site = TestSite::new().await;
    let Browser { cookie, key } = log_in(&site).await;
    let out = || with(plain("POST", "/logout"), "cookie", &cookie);
    assert_eq!(site.send(out()).await.status, 403, "not by pages of others");
    let own = with(out(), "sec-fetch-site", "same-origin");
    let left = site.send(with(own, "x-pegboard-page-key", &key)).await;
    assert_eq!((left.status, left.header("location")), (303, "/login"));
    assert!(left.header("set-cookie").contains("Max-Age=0"));
    let reads = with(plain("GET", "/api/v1/servers"), "cookie", &cookie);
    assert_eq!(site.send(reads).await.status, 401);
}

#[tokio::test]
async fn r_sec_03_without_a_token_every_client_may_call_and_none_may_administer() {
    let site = TestSite::with(Access::without_token(address()).unwrap()).await;
    let read = site.send(plain("GET", "/api/v1/servers")).await;
    assert_eq!(read.status, 200);
    let mut request = plain("POST", "/api/v1/servers");
    *request.body_mut() = Body::from("{}");
    let request = with(request, "content-type", "application/json");
    let refused = site.send(request).await;
    assert_eq!(
        (refused.status, refused.code()),
        (403, "ADMIN_NEEDED".into())
    );
    let add = json!({"name": "three", "command": "x"});
    assert_eq!(
        site.request(ADMIN, "POST", "/servers", add).await.status,
        201
    );
    assert_eq!(
        site.request(CALL, "GET", "/approvals", Value::Null)
            .await
            .status,
        403
    );
}

#[tokio::test]
async fn an_administrator_can_create_a_one_time_login() {
    let site = TestSite::new().await;
    let made = site.admin("POST", "/logins", Value::Null).await;
    assert_eq!(made.status, 201);
    let made = made.json();
    let url = made["url"].as_str().unwrap();
    let code = url
        .strip_prefix(&format!("http://{HOST}/login#code="))
        .unwrap();
    assert_eq!(made["expiresIn"], 600);
    assert_eq!(site.send(form(code)).await.status, 200);
    let token = site.admin("GET", "/call-token", Value::Null).await.json();
    assert_eq!(token["token"], CALL);
}
