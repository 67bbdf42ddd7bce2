//! Finding the authorization server, and becoming its client.

use pegboard_model::{LoginState, Reason, Template};
use pegboard_testkit::oauth::{
    AuthMethod, Behaviour, Challenge, Client, IssuerForm, Location, PrmLocation, RedirectRule,
    Refusal, RegisteredMethod, ResourceForm, Route,
};

use crate::fixture::{User, reason};

/// A login and a call succeed.
async fn check(case: &str, change: impl FnOnce(&mut Behaviour)) -> User {
    let mut behaviour = Behaviour::default();
    change(&mut behaviour);
    let user = User::of(behaviour);
    let logged_in = user.login().await;
    assert!(
        matches!(logged_in, Ok(LoginState::LoggedIn { .. })),
        "{case}: {logged_in:?}"
    );
    let called = user.call("read_note").await;
    assert!(
        called.is_ok_and(|text| text.contains("read_note: hi")),
        "{case}"
    );
    user
}

/// A login is refused, and nothing that could be abused was sent.
async fn refused(case: &str, mentions: &str, change: impl FnOnce(&mut Behaviour)) -> User {
    let mut behaviour = Behaviour::default();
    change(&mut behaviour);
    let user = User::of(behaviour);
    let error = user.login().await.expect_err(case);
    assert_eq!(error.reason, Reason::LoginUnsupported, "{case}: {error}");
    let text = error.full_message();
    assert!(text.contains(mentions), "{case}: {text}");
    assert_eq!(user.server.count(Route::Authorize), 0, "{case}");
    assert_eq!(user.state(), None, "{case}");
    user
}

#[tokio::test]
async fn r_auth_01_every_form_of_metadata_leads_to_a_login() {
    check("default", |_| {}).await;
    for challenge in [
        Challenge::Unquoted,
        Challenge::Several,
        Challenge::TwoHeaders,
        Challenge::Bare,
        Challenge::Missing,
        Challenge::Malformed,
    ] {
        check(&format!("{challenge:?}"), |all| {
            all.resource.challenge = challenge
        })
        .await;
    }
    for prm in [
        PrmLocation::Root,
        PrmLocation::Custom("/elsewhere".to_owned()),
    ] {
        check(&format!("{prm:?}"), |all| all.resource.prm = prm.clone()).await;
    }
    for at in [Location::OAuth, Location::OpenId, Location::OpenIdAppended] {
        check(&format!("{at:?}"), |all| {
            all.metadata.at = at;
            all.metadata.issuer_path = "/tenant".to_owned();
        })
        .await;
    }
    check("openid at the root", |all| {
        all.metadata.at = Location::OpenId
    })
    .await;
    check("a slash in both", |all| all.metadata.slash_in_prm = true).await;
    for form in [ResourceForm::BareOrigin, ResourceForm::TrailingSlash] {
        let user = check(&format!("{form:?}"), |all| all.resource.form = form.clone()).await;
        // The resource is repeated as the server wrote it.
        let sent = |route| {
            let requests = user.server.requests_to(route);
            requests
                .last()
                .and_then(|request| request.parameter("resource").map(str::to_owned))
        };
        assert_eq!(sent(Route::Authorize), sent(Route::Token));
        assert!(sent(Route::Token).is_some_and(|resource| resource != user.server.mcp_url()));
    }
}

#[tokio::test]
async fn r_auth_01_a_server_of_revision_2025_03_26_is_its_own_authorization_server() {
    for at in [Location::OAuth, Location::Nowhere] {
        let user = check(&format!("{at:?}"), |all| {
            all.same_origin = true;
            all.resource.prm = PrmLocation::Nowhere;
            all.metadata.at = at;
        })
        .await;
        let requests = user.server.requests_to(Route::Token);
        assert_eq!(
            requests[0].parameter("resource"),
            Some(user.server.mcp_url().as_str())
        );
    }
}

#[tokio::test]
async fn r_auth_01_a_refusal_without_401_is_recognised() {
    for refusal in [Refusal::Forbidden, Refusal::NotFound, Refusal::ErrorInOk] {
        let user = check(&format!("{refusal:?}"), |all| {
            all.resource.refusal = refusal
        })
        .await;
        user.logins.logout(&user.spec).await.unwrap();
        assert_eq!(
            reason(user.call("read_note").await),
            Some(Reason::LoginNeeded),
            "{refusal:?}"
        );
    }
    let user = check("only calls", |all| all.resource.only_calls = true).await;
    user.logins.logout(&user.spec).await.unwrap();
    let server = user.connect().await.expect("the handshake needs no login");
    assert!(server.list_tools().await.is_ok());
    assert_eq!(
        reason(user.call("read_note").await),
        Some(Reason::LoginNeeded)
    );
}

#[tokio::test]
async fn r_auth_01_contradicting_metadata_is_refused_with_both_values() {
    let user = refused("other resource", "other-path", |all| {
        all.resource.form = ResourceForm::Text("http://127.0.0.1:1/other-path".to_owned());
    })
    .await;
    let error = user.login().await.unwrap_err();
    assert!(error.message.contains(&user.server.mcp_url()), "{error}");
    refused("part of a segment", "another resource", |all| {
        all.resource.form = ResourceForm::PartOfSegment
    })
    .await;
    refused("another path", "another resource", |all| {
        all.resource.form = ResourceForm::OtherPath
    })
    .await;
    let user = refused("other issuer", "https://other.example", |all| {
        all.metadata.issuer = IssuerForm::Text("https://other.example".to_owned());
    })
    .await;
    assert!(
        user.login()
            .await
            .unwrap_err()
            .message
            .contains(&user.server.issuer())
    );
    refused("a slash more", "`issuer`", |all| {
        all.metadata.issuer = IssuerForm::OtherSlash
    })
    .await;
    refused("no metadata", "publishes no metadata", |all| {
        all.metadata.at = Location::Nowhere
    })
    .await;
    for methods in [None, Some(vec![]), Some(vec!["plain".to_owned()])] {
        refused("no PKCE", "assume_pkce", |all| {
            all.metadata.pkce_methods = methods.clone()
        })
        .await;
    }
    refused("no registration", "client_id", |all| {
        all.registration.offered = false
    })
    .await;
    refused("listed names only", "client of your own", |all| {
        all.registration.names = Some(vec!["Known".to_owned()]);
    })
    .await;
}

#[tokio::test]
async fn r_auth_01_named_exceptions_accept_exactly_one_deviation() {
    let mut behaviour = Behaviour::default();
    behaviour.metadata.pkce_methods = None;
    let user = User::with(behaviour, |oauth| oauth.assume_pkce = true);
    user.login().await.unwrap();
    let asked = user.server.requests_to(Route::Authorize);
    assert!(
        asked[0].parameter("code_challenge").is_some(),
        "a challenge is sent in any case"
    );

    let mut behaviour = Behaviour::default();
    behaviour.authorize.refuses_resource = true;
    let refused = User::of(behaviour.clone());
    assert_eq!(reason(refused.login().await), Some(Reason::LoginFailed));
    let user = User::with(behaviour, |oauth| oauth.send_resource = false);
    user.login().await.unwrap();
    user.call("read_note").await.unwrap();

    let mut behaviour = Behaviour::default();
    behaviour.metadata.issuer_path = "/tenant".to_owned();
    behaviour.metadata.issuer = IssuerForm::WithoutPath;
    let refused = User::of(behaviour.clone());
    assert_eq!(
        reason(refused.login().await),
        Some(Reason::LoginUnsupported)
    );
    let mut user = User::of(behaviour);
    let issuer = user.server.issuer().trim_end_matches("/tenant").to_owned();
    user.spec.oauth = Some(Box::new(pegboard_model::OAuthSettings {
        issuer: Some(issuer),
        ..Default::default()
    }));
    user.login().await.unwrap();

    let user = User::with(Behaviour::default(), |oauth| {
        oauth
            .authorize_parameters
            .insert("access_type".to_owned(), "offline".to_owned());
        oauth.scopes = Some(vec!["one".to_owned(), "two".to_owned()]);
        oauth.client_name = Some("My name".to_owned());
    });
    user.login().await.unwrap();
    let asked = &user.server.requests_to(Route::Authorize)[0];
    assert_eq!(asked.parameter("access_type"), Some("offline"));
    assert_eq!(asked.parameter("scope"), Some("one two"));
    let registered = user.server.requests_to(Route::Register)[0].json();
    assert_eq!(registered["client_name"], "My name");
    assert_eq!(registered["application_type"], "native");
}

#[tokio::test]
async fn r_auth_01_the_client_authenticates_as_it_was_registered() {
    for method in [AuthMethod::Basic, AuthMethod::Post, AuthMethod::None] {
        check(&format!("{method:?}"), |all| {
            all.registration.method = RegisteredMethod::Fixed(method);
        })
        .await;
    }
    check("an empty secret", |all| {
        all.registration.empty_secret = true
    })
    .await;
    check("forms", |all| all.tokens.form_bodies = true).await;
    check("no scope, no lifetime", |all| {
        all.tokens.says_scope = false;
        all.tokens.expires_in = pegboard_testkit::oauth::ExpiresIn::Absent;
    })
    .await;
}

#[tokio::test]
async fn r_auth_01_a_configured_client_needs_no_registration() {
    // A free port, so that the redirect URI is known before the server starts.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let redirect = format!("http://127.0.0.1:{port}/back");
    for method in [AuthMethod::Basic, AuthMethod::Post] {
        let mut behaviour = Behaviour::default();
        behaviour.registration.offered = false;
        behaviour.registration.redirects = RedirectRule::Exact;
        let listed = match method {
            AuthMethod::Post => "client_secret_post",
            _ => "client_secret_basic",
        };
        behaviour.metadata.auth_methods = Some(vec![listed.to_owned()]);
        let mut own = Client::confidential("own:client", "s e/c+r&t", method);
        own.redirects = vec![redirect.clone()];
        behaviour.registration.configured = vec![own];
        let user = User::with(behaviour, |oauth| {
            oauth.client_id = Some(Template::literal("own:client"));
            oauth.client_secret = Some(Template::literal("s e/c+r&t"));
            oauth.redirect_uri = Some(redirect.clone());
        });
        let logged_in = user.login().await;
        assert!(logged_in.is_ok(), "{method:?}: {logged_in:?}");
        assert_eq!(user.server.count(Route::Register), 0);
        user.call("read_note").await.unwrap();
    }
}

#[tokio::test]
async fn r_auth_01_a_metadata_document_is_used_where_it_is_supported() {
    let url = "https://pegboard.example/client.json";
    let mut behaviour = Behaviour::default();
    behaviour.metadata.cimd = true;
    behaviour.registration.accepts_unknown = true;
    let user = User::with(behaviour, |oauth| {
        oauth.client_metadata_url = Some(url.to_owned())
    });
    user.login().await.unwrap();
    assert_eq!(
        user.server.requests_to(Route::Authorize)[0].parameter("client_id"),
        Some(url)
    );
    assert_eq!(user.server.count(Route::Register), 0);
    let user = User::with(Behaviour::default(), |oauth| {
        oauth.client_metadata_url = Some(url.to_owned())
    });
    user.login().await.unwrap();
    assert_eq!(
        user.server.count(Route::Register),
        1,
        "it is not advertised here"
    );
}

#[tokio::test]
async fn r_auth_01_a_configured_token_switches_the_login_off() {
    let mut user = User::of(Behaviour::default());
    if let pegboard_model::Transport::Http { bearer, .. } = &mut user.spec.transport {
        *bearer = Some(Template::literal("wrong-token"));
    }
    let error = user.connect().await.err().unwrap();
    assert_eq!(error.reason, Reason::LoginNeeded);
    assert!(error.message.contains("configured token"), "{error}");
    assert!(!error.remedy.contains("pegboard login"), "{error:?}");
    let login = user.login().await.unwrap_err();
    assert!(login.message.contains("configured token"), "{login}");
    assert_eq!(user.server.count(Route::ResourceMetadata), 0);
}
