//! Attackers in the place of the server or of its authorization server.

use std::time::{Duration, Instant};

use pegboard_model::Reason;
use pegboard_testkit::oauth::{Behaviour, Fault, OAuthServer, Route, hostile};

use crate::fixture::{User, reason};

/// Longer than any time limit of a login.
const LONGEST: Duration = Duration::from_secs(50);

/// The login fails; what it says contains nothing of the attacker's HTML, and no code was redeemed.
async fn check(case: &str, behaviour: Behaviour) -> User {
    let user = User::of(behaviour);
    let started = Instant::now();
    let error = user.login().await.expect_err(case);
    assert!(
        started.elapsed() < LONGEST,
        "{case}: {:?}",
        started.elapsed()
    );
    let text = format!("{error:?}");
    assert!(
        matches!(
            error.reason,
            Reason::LoginFailed | Reason::LoginUnsupported | Reason::ConnectFailed
        ),
        "{case}: {text}"
    );
    assert!(
        !text.contains("<script>") && !text.contains('\u{1b}'),
        "{case}: {text}"
    );
    assert!(!error.remedy.is_empty(), "{case}");
    for secret in user.server.issued_secrets() {
        assert!(!text.contains(&secret), "{case}: {text}");
    }
    assert_eq!(user.state(), None, "{case}");
    user
}

#[tokio::test]
async fn r_auth_04_answers_from_elsewhere_are_never_redeemed() {
    for (case, behaviour) in [
        ("wrong state", hostile::wrong_state()),
        ("no state", hostile::no_state()),
        ("wrong iss", hostile::wrong_iss("https://evil.example")),
        ("html", hostile::html_in_error()),
    ] {
        let user = check(case, behaviour).await;
        assert_eq!(user.server.count(Route::Token), 0, "{case}");
    }
    check("injected code", hostile::code_injection()).await;
    check(
        "wrong issuer",
        hostile::wrong_issuer("https://evil.example"),
    )
    .await;
}

#[tokio::test]
async fn r_auth_04_a_mix_up_does_not_hand_over_a_code() {
    let mut honest = Behaviour::default();
    honest.registration.accepts_unknown = true;
    let honest = OAuthServer::start(honest);
    let user = check("mix-up", hostile::mix_up(&honest)).await;
    assert_eq!(
        user.server.count(Route::Token),
        0,
        "the honest code went to the attacker"
    );
}

#[tokio::test]
async fn r_auth_04_addresses_inside_the_network_are_not_reached() {
    for url in [
        "http://169.254.169.254/latest",
        "https://169.254.169.254/latest",
        "https://[fe80::1]/x",
        "https://[::ffff:169.254.169.254]/x",
        "https://10.0.0.1/x",
        "https://192.168.1.1/x",
        "http://example.com/x",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "data:text/html,x",
        "https://user:pass@127.0.0.1/x",
    ] {
        check(url, hostile::challenge_url(url)).await;
        check(url, hostile::authorization_server(url)).await;
        for route in [Route::Register, Route::Token, Route::Authorize] {
            check(url, hostile::with_endpoint(route, url)).await;
        }
    }
}

#[tokio::test]
async fn r_auth_04_redirects_are_not_followed_to_another_origin() {
    let other = OAuthServer::start(Behaviour::default());
    let target = other.endpoint(Route::Token);
    check("redirects", hostile::redirects_everywhere(&target)).await;
    for route in [
        Route::ResourceMetadata,
        Route::ServerMetadata,
        Route::Register,
        Route::Token,
    ] {
        check(
            "one redirect",
            hostile::faulty(route, Fault::Redirect(307, target.clone())),
        )
        .await;
    }
    assert!(other.requests().is_empty(), "{:?}", other.requests());
}

#[tokio::test]
async fn r_auth_04_large_and_broken_answers_end_the_login() {
    for route in [
        Route::ResourceMetadata,
        Route::ServerMetadata,
        Route::Register,
        Route::Token,
    ] {
        for fault in [
            Fault::Large(10 * 1024 * 1024),
            Fault::Endless,
            Fault::NotJson,
            Fault::Html(200),
            Fault::Html(400),
            Fault::Status(500),
            Fault::Json(200, "[]".to_owned()),
            Fault::Json(
                400,
                r#"{"error":"<script>\u001b[2J","error_description":7}"#.to_owned(),
            ),
        ] {
            let case = format!("{route:?} {fault:?}");
            check(&case, hostile::faulty(route, fault)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r_auth_04_slow_answers_end_in_time() {
    let slow = [
        (Route::ResourceMetadata, Fault::Drip),
        (Route::Token, Fault::Silence),
        (Route::Register, Fault::Drip),
    ];
    let checks = slow.map(|(route, fault)| {
        tokio::spawn(async move {
            check(
                &format!("{route:?} {fault:?}"),
                hostile::faulty(route, fault),
            )
            .await;
        })
    });
    for running in checks {
        running.await.unwrap();
    }
}

#[tokio::test]
async fn r_auth_04_a_token_for_another_resource_is_not_used_further() {
    let user = User::of(hostile::foreign_audience("https://other.example/mcp"));
    user.login().await.unwrap();
    assert_eq!(
        reason(user.call("read_note").await),
        Some(Reason::LoginLost)
    );
    let user = User::of(hostile::foreign_resource("https://other.example/mcp"));
    assert_eq!(reason(user.login().await), Some(Reason::LoginUnsupported));
    assert_eq!(user.server.count(Route::Register), 0);
}
