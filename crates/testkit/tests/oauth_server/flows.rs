//! The flows of a server that follows the specification.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use pegboard_testkit::oauth::{
    AuthMethod, Behaviour, Client, OAuthServer, Rotation, Route, post_form,
};
use ring::signature::KeyPair as _;
use serde_json::json;

use crate::login::{Script, call, text};

#[test]
fn a_login_leads_to_a_call() {
    let server = OAuthServer::start(Behaviour::default());
    assert_eq!(call(&server, "read_note", None).status, 401);
    let script = Script::registered(&server);
    let answer = script.authorize("notes");
    assert_eq!(answer["state"], "s1");
    assert_eq!(answer["iss"], server.issuer());
    let tokens = script.redeem(&answer["code"]).json();
    let called = call(&server, "read_note", Some(text(&tokens, "access_token")));
    assert!(called.body.contains("read_note: hi"), "{}", called.body);
    assert_eq!(server.tools_run(), ["read_note"]);
    assert_eq!(server.count(Route::Authorize), 1);
    assert_eq!(server.grants_asked("authorization_code"), 1);
    assert!(
        server
            .issued_secrets()
            .iter()
            .any(|secret| *secret == tokens["refresh_token"])
    );
}

#[test]
fn a_rotated_refresh_token_that_is_used_again_ends_the_grant() {
    let server = OAuthServer::start(Behaviour::default());
    let script = Script::registered(&server);
    let first = script.login("notes");
    let second = script.refresh(text(&first, "refresh_token"));
    assert_eq!(second.status, 200, "{}", second.body);
    let second = second.json();
    let reused = script.refresh(text(&first, "refresh_token"));
    assert_eq!(reused.json()["error"], "invalid_grant");
    assert_eq!(script.refresh(text(&second, "refresh_token")).status, 400);
    assert_eq!(
        call(&server, "count", Some(text(&second, "access_token"))).status,
        401
    );
    assert_eq!(server.live_access_tokens(), 0);
}

#[test]
fn a_grace_period_accepts_the_old_token_for_a_while() {
    let mut behaviour = Behaviour::default();
    behaviour.tokens.grace = Duration::from_secs(1800);
    let server = OAuthServer::start(behaviour);
    let script = Script::registered(&server);
    let first = script.login("notes");
    for _ in 0..2 {
        assert_eq!(script.refresh(text(&first, "refresh_token")).status, 200);
    }
    server.advance(Duration::from_secs(1801));
    assert_eq!(script.refresh(text(&first, "refresh_token")).status, 400);
}

#[test]
fn tokens_end_by_time_on_demand_and_by_revocation() {
    let server = OAuthServer::start(Behaviour::default());
    let script = Script::registered(&server);
    let login = script.login("notes");
    let status = |token: &str| call(&server, "count", Some(token)).status;
    assert_eq!(status(text(&login, "access_token")), 200);
    server.advance(Duration::from_secs(3601));
    assert_eq!(status(text(&login, "access_token")), 401);
    let next = script.refresh(text(&login, "refresh_token")).json();
    assert_eq!(status(text(&next, "access_token")), 200);
    server.expire_access_tokens();
    assert_eq!(status(text(&next, "access_token")), 401);
    let next = script.refresh(text(&next, "refresh_token")).json();
    let url = server.endpoint(Route::Revoke);
    let refresh = text(&next, "refresh_token");
    let fields = [("token", refresh), ("client_id", script.client.as_str())];
    assert_eq!(post_form(&url, &[], &fields).status, 200);
    assert_eq!(status(text(&next, "access_token")), 401);
}

#[test]
fn a_code_is_bound_to_its_verifier_client_redirect_and_resource() {
    let server = OAuthServer::start(Behaviour::default());
    let script = Script::registered(&server);
    let other = Script::registered(&server);
    let code = script.authorize("notes")["code"].clone();
    assert_eq!(other.redeem(&code).json()["error"], "invalid_grant");
    let refused = |replaced: &str, value: &str| {
        let right = [
            ("grant_type", "authorization_code"),
            ("code", code.as_str()),
            (
                "code_verifier",
                "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
            ),
            ("redirect_uri", "http://127.0.0.1:9/callback"),
            ("resource", &server.mcp_url()),
        ];
        let fields =
            right.map(|(name, right)| (name, if name == replaced { value } else { right }));
        assert_eq!(script.token(&fields).status, 400, "{replaced}");
    };
    refused("code_verifier", "wrong");
    refused("redirect_uri", "http://127.0.0.1:9/other");
    refused("resource", "https://other.example/mcp");
    assert_eq!(script.redeem(&code).status, 200);
    assert_eq!(script.redeem(&code).status, 400, "a code works once");
    assert_eq!(
        server.live_access_tokens(),
        0,
        "and its second use ends the grant"
    );
}

#[test]
fn more_rights_need_a_new_authorization() {
    let mut behaviour = Behaviour::default();
    behaviour.resource.step_up = vec![("write_note".to_owned(), "notes:write".to_owned())];
    let server = OAuthServer::start(behaviour);
    let script = Script::registered(&server);
    let narrow = script.login("notes");
    let refused = call(&server, "write_note", Some(text(&narrow, "access_token")));
    assert_eq!(refused.status, 403);
    let challenge = refused.header("www-authenticate").unwrap();
    assert!(challenge.contains("insufficient_scope") && challenge.contains("notes:write"));
    let widened = script.token(&[
        ("grant_type", "refresh_token"),
        ("refresh_token", text(&narrow, "refresh_token")),
        ("scope", "notes notes:write"),
    ]);
    assert_eq!(widened.json()["error"], "invalid_scope");
    let wide = script.login("notes notes:write");
    assert_eq!(
        call(&server, "write_note", Some(text(&wide, "access_token"))).status,
        200
    );
}

#[test]
fn each_method_of_a_configured_client_is_checked() {
    let mut behaviour = Behaviour::default();
    behaviour.registration.configured = vec![
        Client::confidential("b:1", "s p%", AuthMethod::Basic),
        Client::confidential("post", "secret", AuthMethod::Post),
    ];
    let server = OAuthServer::start(behaviour);
    let url = server.endpoint(Route::Token);
    let grant = ("grant_type", "client_credentials");
    let basic = |text: &str| format!("Basic {}", STANDARD.encode(text));
    let check = |header: Option<String>, fields: &[(&str, &str)], status: u16| {
        let headers: Vec<_> = header
            .iter()
            .map(|value| ("Authorization", value.as_str()))
            .collect();
        let answer = post_form(&url, &headers, &[&[grant], fields].concat());
        assert_eq!(answer.status, status, "{fields:?}: {}", answer.body);
        if status == 200 {
            assert!(answer.json()["refresh_token"].is_null());
        }
    };
    check(Some(basic("b%3A1:s+p%25")), &[], 200);
    check(Some(basic("b%3A1:wrong")), &[], 401);
    check(
        None,
        &[("client_id", "b:1"), ("client_secret", "s p%")],
        401,
    );
    check(
        None,
        &[("client_id", "post"), ("client_secret", "secret")],
        200,
    );
    check(None, &[("client_id", "post")], 401);
    check(Some(basic("post:secret")), &[], 401);
}

#[test]
fn a_signed_assertion_is_verified() {
    let random = ring::rand::SystemRandom::new();
    let algorithm = &ring::signature::ECDSA_P256_SHA256_FIXED_SIGNING;
    let document = ring::signature::EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
    let pair =
        ring::signature::EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).unwrap();
    let mut behaviour = Behaviour::default();
    behaviour.registration.configured = vec![Client::signing("robot", pair.public_key().as_ref())];
    let server = OAuthServer::start(behaviour);
    let check = |audience: &str, status: u16| {
        let encode = |part: &serde_json::Value| URL_SAFE_NO_PAD.encode(part.to_string());
        let claims = json!({"iss": "robot", "sub": "robot", "aud": audience, "exp": 9_999_999_999_u64, "jti": "1"});
        let signed = format!("{}.{}", encode(&json!({"alg": "ES256"})), encode(&claims));
        let signature = pair.sign(&random, signed.as_bytes()).unwrap();
        let assertion = format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature));
        let fields = [
            ("grant_type", "client_credentials"),
            ("client_assertion", assertion.as_str()),
        ];
        let answer = post_form(&server.endpoint(Route::Token), &[], &fields);
        assert_eq!(answer.status, status, "{}", answer.body);
    };
    check(&server.issuer(), 200);
    check("https://other.example", 401);
}

#[test]
fn a_device_waits_for_a_person() {
    let mut behaviour = Behaviour::default();
    behaviour.metadata.device = true;
    let server = OAuthServer::start(behaviour);
    let script = Script::registered(&server);
    let fields = [("client_id", script.client.as_str()), ("scope", "notes")];
    let started = post_form(&server.endpoint(Route::Device), &[], &fields).json();
    let ask = || {
        script.token(&[
            ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
            ("device_code", text(&started, "device_code")),
        ])
    };
    assert_eq!(ask().json()["error"], "authorization_pending");
    assert!(server.approve_device(text(&started, "user_code"), true));
    assert_eq!(ask().status, 200);
    assert_eq!(ask().json()["error"], "invalid_grant", "a code works once");
}

#[test]
fn a_forgotten_client_is_unknown_and_its_id_is_not_issued_again() {
    let server = OAuthServer::start(Behaviour::default());
    let script = Script::registered(&server);
    let login = script.login("notes");
    server.forget_clients();
    let refused = script.refresh(text(&login, "refresh_token"));
    assert_eq!(
        (refused.status, &refused.json()["error"]),
        (401, &json!("invalid_client"))
    );
    assert_eq!(script.authorize_page("notes").status, 400);
    assert_ne!(Script::registered(&server).client, script.client);
}

#[test]
fn refresh_tokens_may_stay_or_be_missing() {
    let server = OAuthServer::start(Behaviour::default());
    let script = Script::registered(&server);
    server.change(|behaviour| behaviour.tokens.rotation = Rotation::Keep);
    let login = script.login("notes");
    for _ in 0..2 {
        let refreshed = script.refresh(text(&login, "refresh_token"));
        assert_eq!(refreshed.status, 200);
        assert!(refreshed.json()["refresh_token"].is_null());
    }
    server.change(|behaviour| behaviour.tokens.rotation = Rotation::None);
    assert!(script.login("notes")["refresh_token"].is_null());
}
