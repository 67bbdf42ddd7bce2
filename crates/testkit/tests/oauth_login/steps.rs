//! What a person does: more rights, declining, pasting, a taken port.

use pegboard_model::{LoginState, Reason};
use pegboard_testkit::oauth::{Behaviour, CodeAnswer, Route, get};
use pegboard_upstream::LoginOptions;
use tokio::sync::mpsc;

use crate::fixture::{User, call, reason};

#[tokio::test]
async fn r_auth_01_more_rights_are_added_to_those_that_were_granted() {
    let mut behaviour = Behaviour::default();
    behaviour.resource.challenge_scope = Some("notes:read".to_owned());
    behaviour.resource.step_up = vec![("write_note".to_owned(), "notes:write".to_owned())];
    let user = User::of(behaviour);
    user.login().await.unwrap();
    let server = user.connect().await.unwrap();
    call(&*server, "read_note").await.unwrap();
    let error = call(&*server, "write_note").await.unwrap_err();
    assert_eq!(error.reason, Reason::RightsNeeded);
    assert!(error.message.contains("notes:write"), "{error}");
    assert!(
        error.model_message().contains("more rights"),
        "{}",
        error.model_message()
    );
    let Some(LoginState::MoreRightsNeeded { scopes, .. }) = user.state() else {
        panic!("{:?}", user.state());
    };
    assert_eq!(scopes, ["notes:write"]);
    assert_eq!(
        user.server.count(Route::Authorize),
        1,
        "no login without a person"
    );
    call(&*server, "read_note")
        .await
        .expect("the other tools work");
    user.login().await.unwrap();
    let asked = user.server.requests_to(Route::Authorize);
    assert_eq!(asked[1].parameter("scope"), Some("notes:read notes:write"));
    call(&*server, "write_note").await.unwrap();
    assert!(matches!(user.state(), Some(LoginState::LoggedIn { .. })));
}

#[tokio::test]
async fn r_auth_01_scopes_come_from_the_challenge_then_the_metadata_then_nowhere() {
    for (challenge, published, server, expected) in [
        (Some("a b"), Some(vec!["c"]), None, Some("a b")),
        (None, Some(vec!["c", "d"]), None, Some("c d")),
        (None, None, None, None),
        (
            None,
            None,
            Some(vec!["x", "offline_access"]),
            Some("offline_access"),
        ),
        (
            Some("a"),
            None,
            Some(vec!["offline_access"]),
            Some("a offline_access"),
        ),
    ] {
        let owned = |words: Option<Vec<&str>>| {
            words.map(|words| words.into_iter().map(str::to_owned).collect::<Vec<_>>())
        };
        let mut behaviour = Behaviour::default();
        behaviour.resource.challenge_scope = challenge.map(str::to_owned);
        behaviour.resource.scopes = owned(published);
        behaviour.metadata.scopes = owned(server);
        let user = User::of(behaviour);
        user.login().await.unwrap();
        let asked = &user.server.requests_to(Route::Authorize)[0];
        assert_eq!(asked.parameter("scope"), expected);
    }
    let user = User::of(Behaviour::default());
    let options = LoginOptions {
        scopes: Some(vec!["chosen".to_owned()]),
    };
    user.login_with(&options).await.unwrap();
    assert_eq!(
        user.server.requests_to(Route::Authorize)[0].parameter("scope"),
        Some("chosen")
    );
}

#[tokio::test]
async fn r_auth_01_a_plain_403_is_not_a_matter_of_login() {
    let mut behaviour = Behaviour::default();
    behaviour.resource.forbidden = vec!["write_note".to_owned()];
    let user = User::of(behaviour);
    user.login().await.unwrap();
    assert_eq!(
        reason(user.call("write_note").await),
        Some(Reason::AccessForbidden)
    );
    assert!(matches!(user.state(), Some(LoginState::LoggedIn { .. })));
    assert_eq!(user.server.grants_asked("refresh_token"), 0);
}

#[tokio::test]
async fn r_auth_02_a_declined_login_stores_nothing() {
    let mut behaviour = Behaviour::default();
    behaviour.authorize.answer = CodeAnswer::Error("access_denied".to_owned(), "no".to_owned());
    let user = User::of(behaviour);
    let error = user.login().await.unwrap_err();
    assert_eq!(error.reason, Reason::LoginFailed);
    assert!(error.message.contains("declined"), "{error}");
    assert_eq!(user.state(), None);
    assert_eq!(user.server.count(Route::Token), 0);
}

#[tokio::test]
async fn r_auth_02_a_pasted_address_completes_the_login_and_a_wrong_one_does_not() {
    let user = User::of(Behaviour::default());
    let pending = user
        .logins
        .begin(&user.spec, &LoginOptions::default())
        .await
        .unwrap();
    // The browser runs on another machine, so its redirect leads nowhere.
    let page = get(pending.url());
    let right = page.header("location").unwrap().to_owned();
    let (paste, pasted) = mpsc::channel(8);
    let swap = |name: &str, value: &str| {
        let mut url = url::Url::parse(&right).unwrap();
        let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
        let pairs = pairs.into_iter().map(|(key, old)| match key == name {
            true => (key, value.to_owned()),
            false => (key, old),
        });
        let pairs: Vec<_> = pairs.collect();
        url.query_pairs_mut().clear().extend_pairs(pairs);
        url.to_string()
    };
    for text in [
        "not an address".to_owned(),
        swap("state", "wrong"),
        swap("iss", "https://evil.example"),
        right.clone(),
    ] {
        paste.send(text).await.unwrap();
    }
    let mut foreign = Vec::new();
    let done = pending
        .complete(pasted, |error| foreign.push(error.message.clone()))
        .await;
    assert!(done.is_ok(), "{done:?}");
    assert_eq!(foreign.len(), 3, "{foreign:?}");
    assert!(
        foreign[1].contains("state") && foreign[2].contains("issuer"),
        "{foreign:?}"
    );
    assert_eq!(user.server.count(Route::Token), 1);
    user.call("read_note").await.unwrap();
}

#[tokio::test]
async fn r_auth_02_a_taken_port_is_named_or_avoided() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let user = User::with(Behaviour::default(), |oauth| {
        oauth.redirect_uri = Some(format!("http://127.0.0.1:{port}/callback"));
    });
    let error = user.login().await.unwrap_err();
    assert_eq!(error.reason, Reason::AddressInUse);
    assert!(error.full_message().contains(&port.to_string()), "{error}");
    assert!(error.remedy.contains("redirect_uri"), "{error:?}");
    // A port that Pegboard chose itself is replaced, with a new registration.
    let user = User::of(Behaviour::default());
    user.login().await.unwrap();
    let redirect = user.server.requests_to(Route::Authorize)[0]
        .parameter("redirect_uri")
        .unwrap()
        .to_owned();
    let port: u16 = url::Url::parse(&redirect).unwrap().port().unwrap();
    let taken = std::net::TcpListener::bind(("127.0.0.1", port)).unwrap();
    user.login().await.unwrap();
    assert_eq!(user.server.count(Route::Register), 2);
    drop(taken);
}

#[tokio::test]
async fn r_auth_02_the_listener_answers_only_its_path_and_repeats_nothing() {
    let user = User::of(Behaviour::default());
    let pending = user
        .logins
        .begin(&user.spec, &LoginOptions::default())
        .await
        .unwrap();
    let redirect = pending.redirect_uri().to_owned();
    let (_keep, pasted) = mpsc::channel(1);
    let running = tokio::spawn(pending.complete(pasted, |_| {}));
    let pages = tokio::task::spawn_blocking(move || {
        let other = get(&redirect.replace("/callback", "/other?code=1"));
        let wrong = get(&format!(
            "{redirect}?code=<script>&state=wrong&error=<script>"
        ));
        let posted = pegboard_testkit::oauth::send("POST", &redirect, &[], "");
        (other, wrong, posted)
    });
    let (other, wrong, posted) = pages.await.unwrap();
    assert_eq!((other.status, wrong.status, posted.status), (404, 400, 405));
    assert!(!wrong.body.contains("script>"), "{}", wrong.body);
    assert!(
        wrong
            .head
            .to_ascii_lowercase()
            .contains("content-security-policy")
    );
    assert!(
        !running.is_finished(),
        "a wrong answer does not end the login"
    );
    running.abort();
}
