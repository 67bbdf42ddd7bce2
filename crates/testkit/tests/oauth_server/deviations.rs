//! One row for each deviation.

use std::time::Duration;

use pegboard_testkit::oauth::{
    Behaviour, Challenge, ExpiresIn, IssAnswer, IssuerForm, Location, OAuthServer, PrmLocation,
    RedirectRule, Refusal, ResourceForm, Route, get,
};
use serde_json::{Value, json};

use crate::login::{Script, call, request, text};

fn started(change: impl FnOnce(&mut Behaviour)) -> OAuthServer {
    let mut behaviour = Behaviour::default();
    change(&mut behaviour);
    OAuthServer::start(behaviour)
}

fn origin(url: &str) -> String {
    url.splitn(4, '/').take(3).collect::<Vec<_>>().join("/")
}

#[test]
fn metadata_of_the_resource_is_at_one_place() {
    let check = |location: PrmLocation, path: Option<&str>| {
        let server = started(|behaviour| behaviour.resource.prm = location);
        let own = origin(&server.mcp_url());
        for place in [
            "/.well-known/oauth-protected-resource/mcp",
            "/.well-known/oauth-protected-resource",
            "/meta",
        ] {
            let expected = if path == Some(place) { 200 } else { 404 };
            assert_eq!(get(&format!("{own}{place}")).status, expected, "{place}");
        }
        let refused = call(&server, "count", None);
        let challenge = refused.header("www-authenticate").unwrap();
        assert_eq!(
            challenge.contains("resource_metadata"),
            path.is_some(),
            "{challenge}"
        );
    };
    check(
        PrmLocation::WithPath,
        Some("/.well-known/oauth-protected-resource/mcp"),
    );
    check(
        PrmLocation::Root,
        Some("/.well-known/oauth-protected-resource"),
    );
    check(PrmLocation::Custom("/meta".to_owned()), Some("/meta"));
    check(PrmLocation::Nowhere, None);
}

#[test]
fn metadata_of_the_server_is_at_one_place() {
    let check = |issuer_path: &str, location: Location, path: &str| {
        let server = started(|behaviour| {
            behaviour.metadata.issuer_path = issuer_path.to_owned();
            behaviour.metadata.at = location;
        });
        let document = get(&format!("{}{path}", origin(&server.issuer()))).json();
        assert_eq!(document["issuer"], server.issuer());
        assert_eq!(document["token_endpoint"], server.endpoint(Route::Token));
        Script::registered(&server).login("notes");
    };
    check(
        "",
        Location::OAuth,
        "/.well-known/oauth-authorization-server",
    );
    check("", Location::OpenId, "/.well-known/openid-configuration");
    check(
        "/t",
        Location::OAuth,
        "/.well-known/oauth-authorization-server/t",
    );
    check(
        "/t",
        Location::OpenId,
        "/.well-known/openid-configuration/t",
    );
    check(
        "/t",
        Location::OpenIdAppended,
        "/t/.well-known/openid-configuration",
    );
}

#[test]
fn a_server_of_the_first_revision_is_its_own_authorization_server() {
    let server = started(|behaviour| {
        behaviour.same_origin = true;
        behaviour.resource.prm = PrmLocation::Nowhere;
        behaviour.metadata.at = Location::Nowhere;
    });
    assert_eq!(server.issuer(), origin(&server.mcp_url()));
    let login = Script::registered(&server).login("notes");
    assert_eq!(
        call(&server, "count", Some(text(&login, "access_token"))).status,
        200
    );
}

#[test]
fn the_resource_and_the_issuer_have_the_chosen_form() {
    let resource = |form: ResourceForm| {
        let server = started(|behaviour| behaviour.resource.form = form);
        let own = origin(&server.mcp_url());
        let document = get(&format!("{own}/.well-known/oauth-protected-resource/mcp")).json();
        document["resource"]
            .as_str()
            .map(|text| text.replace(&own, "ORIGIN"))
    };
    assert_eq!(resource(ResourceForm::Exact).as_deref(), Some("ORIGIN/mcp"));
    assert_eq!(
        resource(ResourceForm::BareOrigin).as_deref(),
        Some("ORIGIN")
    );
    assert_eq!(
        resource(ResourceForm::TrailingSlash).as_deref(),
        Some("ORIGIN/mcp/")
    );
    assert_eq!(
        resource(ResourceForm::PartOfSegment).as_deref(),
        Some("ORIGIN/mc")
    );
    assert_eq!(resource(ResourceForm::Missing), None);

    let issuers = |slash: bool, form: IssuerForm| {
        let server = started(|behaviour| {
            behaviour.metadata.slash_in_prm = slash;
            behaviour.metadata.issuer = form;
        });
        let prm = format!(
            "{}/.well-known/oauth-protected-resource/mcp",
            origin(&server.mcp_url())
        );
        let metadata = format!("{}/.well-known/oauth-authorization-server", server.issuer());
        let named = get(&prm).json()["authorization_servers"][0].clone();
        let own = get(&metadata).json()["issuer"].clone();
        [named, own].map(|text| text.as_str().unwrap().replace(&server.issuer(), "ISSUER"))
    };
    assert_eq!(
        issuers(false, IssuerForm::OtherSlash),
        ["ISSUER", "ISSUER/"]
    );
    assert_eq!(issuers(true, IssuerForm::Exact), ["ISSUER/", "ISSUER/"]);
    assert_eq!(issuers(true, IssuerForm::OtherSlash), ["ISSUER/", "ISSUER"]);
}

#[test]
fn a_missing_list_of_pkce_methods_is_missing() {
    let server = started(|behaviour| behaviour.metadata.pkce_methods = None);
    let document = get(&format!(
        "{}/.well-known/oauth-authorization-server",
        server.issuer()
    ))
    .json();
    assert!(document.get("code_challenge_methods_supported").is_none());
}

#[test]
fn only_calls_need_a_token() {
    let server = started(|behaviour| behaviour.resource.only_calls = true);
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}});
    assert_eq!(request(&server, "initialize", &params, None).status, 200);
    assert_eq!(request(&server, "tools/list", &json!({}), None).status, 200);
    assert_eq!(call(&server, "count", None).status, 401);
    assert!(server.tools_run().is_empty());
}

#[test]
fn a_refusal_has_the_chosen_form() {
    let check = |refusal: Refusal, status: u16, part: &str| {
        let server = started(|behaviour| behaviour.resource.refusal = refusal);
        let answer = call(&server, "count", Some("nonsense"));
        assert_eq!(answer.status, status);
        assert!(answer.body.contains(part), "{}", answer.body);
    };
    check(Refusal::Unauthorized, 401, "invalid_token");
    check(Refusal::Forbidden, 403, "invalid_token");
    check(Refusal::NotFound, 404, "not here");
    check(Refusal::ErrorInOk, 200, "token invalid");
    check(Refusal::ToolErrorInOk, 200, "isError");
}

#[test]
fn a_challenge_has_the_chosen_form() {
    let check = |challenge: Challenge, begin: &str| {
        let server = started(|behaviour| {
            behaviour.resource.challenge = challenge;
            behaviour.resource.challenge_scope = Some("notes".to_owned());
        });
        let answer = call(&server, "count", None);
        let headers: Vec<_> = answer
            .head
            .lines()
            .filter_map(|line| line.strip_prefix("www-authenticate: "))
            .collect();
        assert_eq!(
            headers
                .last()
                .copied()
                .unwrap_or_default()
                .get(..begin.len()),
            Some(begin)
        );
    };
    check(
        Challenge::Quoted,
        "Bearer scope=\"notes\", resource_metadata=\"http",
    );
    check(
        Challenge::Unquoted,
        "BEARER scope=notes, resource_metadata=http",
    );
    check(Challenge::Several, "Digest realm=\"a, Bearer b\"");
    check(Challenge::TwoHeaders, "Bearer scope");
    check(Challenge::Bare, "Bearer");
    check(Challenge::Missing, "");
    check(Challenge::Malformed, "\", =");
}

#[test]
fn token_answers_have_the_chosen_form() {
    let answer = |change: fn(&mut Behaviour)| {
        let server = started(change);
        let script = Script::registered(&server);
        let code = script.authorize("notes")["code"].clone();
        script.redeem(&code)
    };
    let expires = |form: ExpiresIn| {
        let server = started(|behaviour| behaviour.tokens.expires_in = form);
        Script::registered(&server).login("notes")["expires_in"].clone()
    };
    assert_eq!(expires(ExpiresIn::Lifetime), 3600);
    assert_eq!(expires(ExpiresIn::Absent), Value::Null);
    assert_eq!(expires(ExpiresIn::Text), "3600");
    assert_eq!(expires(ExpiresIn::Value(json!(-1))), -1);
    let form = answer(|behaviour| behaviour.tokens.form_bodies = true);
    assert!(
        form.body.starts_with("access_token=access-"),
        "{}",
        form.body
    );
    let jwt = answer(|behaviour| behaviour.tokens.jwt = true).json();
    assert_eq!(text(&jwt, "access_token").split('.').count(), 3);
    let silent = answer(|behaviour| behaviour.tokens.says_scope = false).json();
    assert_eq!(silent["scope"], Value::Null);
}

#[test]
fn token_errors_have_the_chosen_form() {
    let check = |change: fn(&mut Behaviour), status: u16, error: &str| {
        let server = started(change);
        let script = Script::registered(&server);
        let answer = script.refresh("nonsense");
        assert_eq!(
            (answer.status, text(&answer.json(), "error")),
            (status, error)
        );
    };
    check(|_| {}, 400, "invalid_grant");
    check(|b| b.tokens.errors_with_ok = true, 200, "invalid_grant");
    check(
        |b| b.tokens.dead_refresh_error = "invalid_request".to_owned(),
        400,
        "invalid_request",
    );
}

#[test]
fn the_authorize_endpoint_is_as_strict_as_chosen() {
    let slack = started(|behaviour| behaviour.authorize.scope_required = true);
    // An empty scope is still a scope; the parameter itself must be there.
    assert!(
        Script::registered(&slack)
            .authorize("")
            .contains_key("code")
    );
    let entra = started(|behaviour| behaviour.authorize.refuses_resource = true);
    assert_eq!(
        Script::registered(&entra).authorize("notes")["error"],
        "invalid_target"
    );
    let silent = started(|behaviour| behaviour.authorize.iss = IssAnswer::Absent);
    assert!(
        !Script::registered(&silent)
            .authorize("notes")
            .contains_key("iss")
    );
    let lax = started(|behaviour| behaviour.registration.redirects = RedirectRule::AnyLoopbackPort);
    let script = Script::registered(&lax);
    let page = script.authorize_page("notes");
    let moved = page.url.replace("127.0.0.1%3A9", "127.0.0.1%3A4711");
    assert_eq!(get(&moved).status, 302);
    lax.change(|behaviour| behaviour.registration.redirects = RedirectRule::Exact);
    assert_eq!(get(&moved).status, 400);
}

#[test]
fn registration_obeys_its_rules() {
    let named = started(|behaviour| behaviour.registration.names = Some(vec!["Figma".to_owned()]));
    let body = json!({"client_name": "script", "redirect_uris": ["http://127.0.0.1/"]}).to_string();
    let url = named.endpoint(Route::Register);
    let answer = pegboard_testkit::oauth::send("POST", &url, &[], &body);
    assert_eq!(answer.status, 403);
    let expiring = started(|behaviour| {
        behaviour.registration.secret_lifetime = Some(Duration::from_secs(60));
        behaviour.registration.access_token = true;
    });
    let answer =
        pegboard_testkit::oauth::send("POST", &expiring.endpoint(Route::Register), &[], &body)
            .json();
    assert_eq!(answer["token_endpoint_auth_method"], "client_secret_basic");
    assert!(answer["client_secret_expires_at"].as_u64().unwrap() > 0);
    assert!(text(&answer, "registration_access_token").starts_with("registration-"));
}
