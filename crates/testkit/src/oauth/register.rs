//! Dynamic client registration (RFC 7591).

use axum::response::Response;
use serde_json::json;

use super::behaviour::RegisteredMethod;
use super::clients::{AuthMethod, Client};
use super::reply;
use super::seen::SeenRequest;
use super::state::{Shared, lock};

/// Registers a client.
pub(super) fn respond(shared: &Shared, seen: &SeenRequest) -> Response {
    let rules = shared.behaviour().registration;
    let asked = seen.json();
    let refuse = |error: &str, why: &str| reply::oauth_error(400, error, why);
    if !rules.offered {
        return reply::text(404, "text/plain", "no registration".to_owned());
    }
    let name = asked["client_name"].as_str().unwrap_or_default();
    if rules
        .names
        .is_some_and(|names| !names.iter().any(|known| known == name))
    {
        return reply::oauth_error(403, "access_denied", "this client is not on the list");
    }
    let redirects: Vec<String> = asked["redirect_uris"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|uri| uri.as_str().map(str::to_owned))
        .collect();
    if redirects.is_empty() {
        return refuse("invalid_redirect_uri", "redirect_uris is missing");
    }
    let method = match rules.method {
        RegisteredMethod::Fixed(method) => method,
        RegisteredMethod::AsAsked => asked["token_endpoint_auth_method"]
            .as_str()
            .map_or(Some(AuthMethod::Basic), AuthMethod::parse)
            .unwrap_or(AuthMethod::Basic),
    };
    let mut state = lock(&shared.state);
    let has_secret = matches!(method, AuthMethod::Basic | AuthMethod::Post);
    let secret = has_secret.then(|| state.secret("client-secret"));
    let expires = rules
        .secret_lifetime
        .map(|lifetime| state.now() + lifetime.as_millis() as u64);
    // An id is public, so it is not one of the issued secrets.
    state.registrations += 1;
    let id = format!("client-{}", state.registrations);
    let mut answer = asked.clone();
    answer["client_id"] = json!(id);
    answer["token_endpoint_auth_method"] = json!(method.name());
    if let Some(secret) = &secret {
        answer["client_secret"] = json!(secret);
        answer["client_secret_expires_at"] = json!(expires.unwrap_or_default() / 1000);
    } else if rules.empty_secret {
        answer["client_secret"] = json!("");
    }
    if rules.access_token {
        answer["registration_access_token"] = json!(state.secret("registration"));
    }
    state.registered.push(Client {
        id,
        secret,
        method,
        redirects,
        public_key: None,
        secret_expires: expires,
    });
    reply::json(201, &answer)
}
