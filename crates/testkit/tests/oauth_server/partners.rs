//! A login at each real authorization server by a plain script.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::time::Duration;

use pegboard_testkit::oauth::{Partner, PartnerServer, browse, get, post_form, send};
use serde_json::{Value, json};
use url::Url;

use crate::login::{CHALLENGE, VERIFIER, text};

/// Answers one request, as the callback of a client does.
fn callback() -> (String, std::thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/callback", listener.local_addr().unwrap());
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone");
    });
    (url, thread)
}

/// The status of an `initialize` with this token.
fn status(server: &PartnerServer, token: &str) -> u16 {
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let bearer = format!("Bearer {token}");
    let headers = [
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("Authorization", bearer.as_str()),
    ];
    send("POST", server.mcp_url(), &headers, &body.to_string()).status
}

fn check(partner: Partner) {
    let Some(server) = PartnerServer::start(partner, Duration::from_secs(600)) else {
        return;
    };
    let metadata = get(&format!(
        "{}/.well-known/oauth-authorization-server",
        server.issuer()
    ))
    .json();
    let (redirect, listening) = callback();
    let client = json!({
        "client_name": "script", "redirect_uris": [redirect], "application_type": "native",
        "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"],
        "token_endpoint_auth_method": "none", "scope": "notes",
    });
    let kind = [("Content-Type", "application/json")];
    let url = text(&metadata, "registration_endpoint");
    let client = send("POST", url, &kind, &client.to_string()).json();
    let id = text(&client, "client_id").to_owned();
    let mut url = Url::parse(text(&metadata, "authorization_endpoint")).unwrap();
    url.query_pairs_mut().extend_pairs([
        ("response_type", "code"),
        ("client_id", &id),
        ("redirect_uri", &redirect),
        ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"),
        ("state", "s1"),
        ("scope", "notes"),
        ("resource", server.mcp_url()),
    ]);
    let page = browse(url.as_str());
    listening.join().unwrap();
    assert_eq!(page.body, "done", "{partner:?}: {}", page.url);
    let answer = Url::parse(&page.url).unwrap();
    let code = answer
        .query_pairs()
        .find(|(name, _)| name == "code")
        .unwrap()
        .1
        .into_owned();
    let token = |fields: &[(&str, &str)]| -> Value {
        let shared = [("client_id", id.as_str()), ("resource", server.mcp_url())];
        post_form(
            text(&metadata, "token_endpoint"),
            &[],
            &[fields, &shared].concat(),
        )
        .json()
    };
    let first = token(&[
        ("grant_type", "authorization_code"),
        ("code", &code),
        ("code_verifier", VERIFIER),
        ("redirect_uri", &redirect),
    ]);
    let access = text(&first, "access_token");
    assert_eq!(status(&server, access), 200, "{partner:?}");
    server.expire_access_tokens();
    assert_eq!(status(&server, access), 401, "{partner:?}");
    let refresh = |token_text: &str| {
        token(&[
            ("grant_type", "refresh_token"),
            ("refresh_token", token_text),
        ])
    };
    let second = refresh(text(&first, "refresh_token"));
    assert_eq!(
        status(&server, text(&second, "access_token")),
        200,
        "{partner:?}"
    );
    let reused = refresh(text(&first, "refresh_token"));
    assert_eq!(reused["error"], "invalid_grant", "{partner:?}");
    let survives = status(&server, text(&second, "access_token")) == 200;
    assert_eq!(survives, partner != Partner::OidcProvider, "{partner:?}");
}

#[test]
fn a_login_at_oidc_provider() {
    check(Partner::OidcProvider);
}

#[test]
fn a_login_at_the_python_sdk() {
    check(Partner::PythonSdk);
}

#[test]
fn a_login_at_fastmcp() {
    check(Partner::FastMcp);
}
