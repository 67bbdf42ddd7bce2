//! Keeping a login: expiry, rotation, lost answers, many callers, another process.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use pegboard_model::{LoginState, Reason};
use pegboard_testkit::oauth::{Behaviour, ExpiresIn, Fault, FaultRule, Rotation, Route};

use crate::fixture::{User, call, connect, reason};

fn short_lived() -> Behaviour {
    let mut behaviour = Behaviour::default();
    // Already within the time in which it is renewed.
    behaviour.tokens.expires_in = ExpiresIn::Value(0.into());
    behaviour
}

#[tokio::test]
async fn r_auth_03_a_token_that_expires_is_renewed_before_the_call() {
    let user = User::of(short_lived());
    user.login().await.unwrap();
    user.server
        .change(|all| all.tokens.expires_in = ExpiresIn::Lifetime);
    user.call("count").await.unwrap();
    assert_eq!(user.server.grants_asked("refresh_token"), 1);
    user.call("count").await.unwrap();
    assert_eq!(
        user.server.grants_asked("refresh_token"),
        1,
        "the new one is fresh"
    );
    assert_eq!(user.server.tools_run(), ["count", "count"]);
}

#[tokio::test]
async fn r_auth_03_a_refused_token_is_renewed_once_and_the_call_sent_again() {
    let user = User::of(Behaviour::default());
    user.login().await.unwrap();
    let server = user.connect().await.unwrap();
    user.server.expire_access_tokens();
    call(&*server, "count").await.unwrap();
    assert_eq!(user.server.grants_asked("refresh_token"), 1);
    assert_eq!(
        user.server.tools_run(),
        ["count"],
        "the refused one was not run"
    );
}

#[tokio::test]
async fn r_auth_03_many_callers_and_processes_refresh_once() {
    let user = User::of(Behaviour::default());
    user.login().await.unwrap();
    let mut servers = Vec::new();
    for _ in 0..8 {
        servers.push(connect(&user.other_connector(), &user.spec).await.unwrap());
    }
    user.server.expire_access_tokens();
    let calls = servers
        .iter()
        .flat_map(|server| (0..4).map(move |_| call(&**server, "count")));
    for called in join_all(calls).await {
        called.unwrap();
    }
    assert_eq!(user.server.grants_asked("refresh_token"), 1);
    assert!(matches!(user.state(), Some(LoginState::LoggedIn { .. })));
}

#[tokio::test]
async fn r_auth_03_a_dropped_caller_does_not_lose_the_new_token() {
    let user = User::of(Behaviour::default());
    user.login().await.unwrap();
    let server = user.connect().await.unwrap();
    user.server.expire_access_tokens();
    // The call is dropped as soon as the token request has arrived.
    let calling = {
        let server = Arc::clone(&server);
        tokio::spawn(async move { call(&*server, "count").await })
    };
    while user.server.grants_asked("refresh_token") == 0 {
        tokio::task::yield_now().await;
    }
    calling.abort();
    let _ = calling.await;
    call(&*server, "count").await.unwrap();
    assert_eq!(user.server.grants_asked("refresh_token"), 1);
}

#[tokio::test]
async fn r_auth_03_a_refresh_token_that_is_left_out_stays_valid() {
    let mut behaviour = Behaviour::default();
    behaviour.tokens.rotation = Rotation::Keep;
    let user = User::of(behaviour);
    user.login().await.unwrap();
    for times in 1..=3 {
        user.server.expire_access_tokens();
        user.call("count").await.unwrap();
        assert_eq!(user.server.grants_asked("refresh_token"), times);
    }
}

#[tokio::test]
async fn r_auth_03_a_temporary_failure_keeps_the_login() {
    for fault in [
        Fault::Status(503),
        Fault::RetryAfter(429, 5),
        Fault::Html(502),
    ] {
        let user = User::of(Behaviour::default());
        user.login().await.unwrap();
        user.server.expire_access_tokens();
        user.server
            .change(|all| all.faults = vec![FaultRule::always(Route::Token, fault.clone())]);
        let error = user.call("count").await.unwrap_err();
        assert!(
            error.retryable && error.remedy.contains("login is kept"),
            "{fault:?}: {error:?}"
        );
        assert!(
            matches!(user.state(), Some(LoginState::LoggedIn { .. })),
            "{fault:?}"
        );
        user.server.change(|all| all.faults.clear());
        user.call("count").await.unwrap();
    }
}

#[tokio::test]
async fn r_auth_03_a_lost_answer_is_requested_once_more() {
    let mut behaviour = Behaviour::default();
    behaviour.tokens.grace = Duration::from_secs(60);
    let user = User::of(behaviour);
    user.login().await.unwrap();
    user.server.expire_access_tokens();
    user.server
        .change(|all| all.faults = vec![FaultRule::times(1, Route::Token, Fault::LostAnswer)]);
    user.call("count").await.unwrap();
    assert_eq!(user.server.grants_asked("refresh_token"), 2);
}

#[tokio::test]
async fn r_auth_03_a_lost_login_is_reported_once_and_not_tried_again() {
    for code in ["invalid_grant", "invalid_request", "invalid_client", ""] {
        let mut behaviour = Behaviour::default();
        behaviour.tokens.dead_refresh_error = code.to_owned();
        behaviour.tokens.errors_with_ok = code == "invalid_request";
        let user = User::of(behaviour);
        user.login().await.unwrap();
        let server = user.connect().await.unwrap();
        user.server.revoke_grants();
        let error = call(&*server, "count").await.unwrap_err();
        assert_eq!(error.reason, Reason::LoginLost, "{code}: {error}");
        assert!(error.remedy.contains("pegboard login notes"), "{error:?}");
        assert!(
            !error.model_message().contains("`pegboard "),
            "{}",
            error.model_message()
        );
        assert!(
            matches!(user.state(), Some(LoginState::Expired { .. })),
            "{code}"
        );
        let seen = user.server.requests().len();
        assert_eq!(
            reason(call(&*server, "count").await),
            Some(Reason::LoginLost)
        );
        assert_eq!(user.server.requests().len(), seen, "nothing was sent");
        user.login().await.unwrap();
        call(&*server, "count").await.unwrap();
    }
}

#[tokio::test]
async fn r_auth_03_a_server_that_refuses_new_tokens_ends_the_login() {
    let user = User::of(Behaviour::default());
    user.login().await.unwrap();
    // Tokens are issued for another resource from now on.
    user.server
        .change(|all| all.tokens.audience = Some("https://other.example/mcp".to_owned()));
    user.server.expire_access_tokens();
    assert_eq!(reason(user.call("count").await), Some(Reason::LoginLost));
    assert_eq!(user.server.grants_asked("refresh_token"), 1);
}

#[tokio::test]
async fn r_auth_01_a_forgotten_client_is_registered_again() {
    let user = User::of(Behaviour::default());
    user.login().await.unwrap();
    user.login().await.unwrap();
    assert_eq!(
        user.server.count(Route::Register),
        1,
        "the client is used again"
    );
    user.server.forget_clients();
    assert_eq!(reason(user.call("count").await), Some(Reason::LoginLost));
    user.login().await.unwrap();
    assert_eq!(user.server.count(Route::Register), 2);
    user.call("count").await.unwrap();
}

#[tokio::test]
async fn r_auth_04_an_edited_url_never_gets_the_old_token() {
    let user = User::of(Behaviour::default());
    user.login().await.unwrap();
    let elsewhere = User::of(Behaviour::default());
    let mut edited = user.spec.clone();
    edited.transport = elsewhere.spec.transport.clone();
    let refused = connect(&user.other_connector(), &edited).await;
    assert_eq!(reason(refused), Some(Reason::LoginNeeded));
    let requests = elsewhere.server.requests();
    assert!(!requests.is_empty());
    for request in requests {
        assert_eq!(request.header("authorization"), None, "{}", request.path);
    }
    // The old definition still has its login.
    user.call("count").await.unwrap();
}

#[tokio::test]
async fn r_auth_02_a_logout_revokes_and_removes() {
    let user = User::of(Behaviour::default());
    user.login().await.unwrap();
    let done = user.logins.logout(&user.spec).await.unwrap();
    assert_eq!((done.was_logged_in, done.revoked), (true, Some(true)));
    assert_eq!(user.server.live_access_tokens(), 0);
    assert_eq!(user.state(), None);
    assert_eq!(reason(user.call("count").await), Some(Reason::LoginNeeded));
    let again = user.logins.logout(&user.spec).await.unwrap();
    assert_eq!((again.was_logged_in, again.revoked), (false, None));
    // A revocation that fails does not keep the login.
    user.login().await.unwrap();
    user.server
        .change(|all| all.faults = vec![FaultRule::always(Route::Revoke, Fault::Status(500))]);
    let done = user.logins.logout(&user.spec).await.unwrap();
    assert_eq!((done.was_logged_in, done.revoked), (true, Some(false)));
    assert_eq!(user.state(), None);
}
