//! The token endpoint: codes, refreshes, client credentials and devices.

use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};

use super::behaviour::{Behaviour, ExpiresIn, Rotation};
use super::clients::Client;
use super::seen::SeenRequest;
use super::state::{Access, Grant, Refresh, Shared, State, lock};
use super::{client_auth, device, reply};

/// An OAuth error: its code and its text.
pub(super) type Refused = (String, String);

/// Issues tokens.
pub(super) fn respond(shared: &Shared, seen: &SeenRequest) -> Response {
    let behaviour = shared.behaviour();
    let mut state = lock(&shared.state);
    let issued = issue(shared, &behaviour, &mut state, seen);
    let is_ok = issued.is_ok();
    let (status, body) = match issued {
        Ok(body) => (200, body),
        Err((error, _)) if behaviour.tokens.errors_with_ok => (200, error_body(&error, &behaviour)),
        Err((error, _)) if error == "invalid_client" => (401, error_body(&error, &behaviour)),
        Err((error, why)) => {
            let description = format!("{}: {why}", behaviour.tokens.error_description);
            (
                400,
                json!({"error": error, "error_description": description}),
            )
        }
    };
    let accepts_json = seen
        .header("accept")
        .is_some_and(|kinds| kinds.contains("application/json"));
    if behaviour.tokens.form_bodies && !accepts_json && (is_ok || behaviour.tokens.errors_with_ok) {
        return reply::text(status, "application/x-www-form-urlencoded", form(&body));
    }
    reply::json(status, &body)
}

fn error_body(error: &str, behaviour: &Behaviour) -> Value {
    json!({"error": error, "error_description": behaviour.tokens.error_description})
}

fn form(body: &Value) -> String {
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    for (name, value) in body.as_object().into_iter().flatten() {
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        form.append_pair(name, &text);
    }
    form.finish()
}

fn issue(
    shared: &Shared,
    behaviour: &Behaviour,
    state: &mut State,
    seen: &SeenRequest,
) -> Result<Value, Refused> {
    let client =
        client_auth::check(shared, state, seen).map_err(|why| refused("invalid_client", &why))?;
    let grant_type = seen.parameter("grant_type").unwrap_or_default();
    let granted = match grant_type {
        "authorization_code" => from_code(state, seen, &client)?,
        "refresh_token" => from_refresh(behaviour, state, seen, &client)?,
        "client_credentials" => from_client(state, seen, &client)?,
        "urn:ietf:params:oauth:grant-type:device_code" => device::redeem(state, seen, &client)?,
        other => return Err(refused("unsupported_grant_type", other)),
    };
    Ok(answer(behaviour, state, granted))
}

pub(super) fn refused(error: &str, why: &str) -> Refused {
    (error.to_owned(), why.to_owned())
}

/// A grant for which tokens are issued.
pub(super) struct Granted {
    pub(super) grant: usize,
    /// The scopes of the access token.
    pub(super) scope: String,
    /// Whether a refresh token belongs to the answer.
    pub(super) refresh: bool,
}

fn from_code(state: &mut State, seen: &SeenRequest, client: &Client) -> Result<Granted, Refused> {
    let invalid = |why: &str| refused("invalid_grant", why);
    let code = seen.parameter("code").unwrap_or_default().to_owned();
    let known = state.codes.get(&code).cloned();
    let known = known.ok_or_else(|| invalid("unknown code"))?;
    if let Some(grant) = known.used {
        // RFC 6749 4.1.2: a code that is used twice may be stolen.
        revoke(state, grant);
        return Err(invalid("the code was used before"));
    }
    let verifier = seen.parameter("code_verifier").unwrap_or_default();
    let digest = ring::digest::digest(&ring::digest::SHA256, verifier.as_bytes());
    if known.challenge.as_deref() != Some(&URL_SAFE_NO_PAD.encode(digest)) {
        return Err(invalid("the verifier does not match the challenge"));
    }
    if known.client != client.id {
        return Err(invalid("the code belongs to another client"));
    }
    if Some(known.redirect.as_str()) != seen.parameter("redirect_uri") {
        return Err(invalid("another redirect URI"));
    }
    if known.resource.as_deref() != seen.parameter("resource") {
        return Err(refused(
            "invalid_target",
            "another resource than at authorize",
        ));
    }
    let grant = state.grants.len();
    state.grants.push(Grant {
        client: client.id.clone(),
        scope: known.scope.clone(),
        resource: known.resource,
        is_revoked: false,
    });
    if let Some(code) = state.codes.get_mut(&code) {
        code.used = Some(grant);
    }
    Ok(Granted {
        grant,
        scope: known.scope,
        refresh: true,
    })
}

fn from_refresh(
    behaviour: &Behaviour,
    state: &mut State,
    seen: &SeenRequest,
    client: &Client,
) -> Result<Granted, Refused> {
    let rules = &behaviour.tokens;
    let invalid = |why: &str| refused(&rules.dead_refresh_error, why);
    let token = seen
        .parameter("refresh_token")
        .unwrap_or_default()
        .to_owned();
    let known = state.refresh.get(&token).cloned();
    let known = known.ok_or_else(|| invalid("unknown refresh token"))?;
    let now = state.now();
    let grace = rules.grace.as_millis() as u64;
    if known.replaced.is_some_and(|at| now >= at + grace) {
        if rules.rotation == Rotation::Rotate {
            revoke(state, known.grant);
        }
        return Err(invalid("the refresh token was used before"));
    }
    let grant = state.grants.get(known.grant).cloned();
    let grant = grant.filter(|grant| !grant.is_revoked && grant.client == client.id);
    let grant = grant.ok_or_else(|| invalid("the grant was revoked"))?;
    if seen
        .parameter("resource")
        .is_some_and(|asked| Some(asked) != grant.resource.as_deref())
    {
        return Err(refused(
            "invalid_target",
            "another resource than at authorize",
        ));
    }
    let scope = seen.parameter("scope").unwrap_or(&grant.scope).to_owned();
    if !scope
        .split(' ')
        .all(|word| grant.scope.split(' ').any(|known| known == word))
    {
        return Err(refused(
            "invalid_scope",
            "a refresh cannot widen the scopes",
        ));
    }
    let rotates = matches!(rules.rotation, Rotation::Rotate | Rotation::RotateLeniently);
    if rotates && let Some(used) = state.refresh.get_mut(&token) {
        used.replaced.get_or_insert(now);
    }
    Ok(Granted {
        grant: known.grant,
        scope,
        refresh: rotates,
    })
}

fn from_client(state: &mut State, seen: &SeenRequest, client: &Client) -> Result<Granted, Refused> {
    if client.secret.is_none() && client.public_key.is_none() {
        return Err(refused(
            "unauthorized_client",
            "the client has no credentials",
        ));
    }
    let scope = seen.parameter("scope").unwrap_or_default().to_owned();
    let grant = state.grants.len();
    state.grants.push(Grant {
        client: client.id.clone(),
        scope: scope.clone(),
        resource: seen.parameter("resource").map(str::to_owned),
        is_revoked: false,
    });
    Ok(Granted {
        grant,
        scope,
        refresh: false,
    })
}

/// Ends a grant with all its tokens.
pub(super) fn revoke(state: &mut State, grant: usize) {
    if let Some(grant) = state.grants.get_mut(grant) {
        grant.is_revoked = true;
    }
}

fn answer(behaviour: &Behaviour, state: &mut State, granted: Granted) -> Value {
    let rules = &behaviour.tokens;
    let seconds = rules.lifetime.as_secs();
    let expires = state.now() + rules.lifetime.as_millis() as u64;
    let asked = state
        .grants
        .get(granted.grant)
        .and_then(|grant| grant.resource.clone());
    let audience = rules.audience.clone().or(asked);
    let mut access = state.secret("access");
    if rules.jwt {
        access = jwt(&json!({"exp": expires / 1000, "aud": audience, "jti": access}));
        state.issued.push(access.clone());
    }
    let mut body = Map::new();
    let mut set = |name: &str, value: Value| body.insert(name.to_owned(), value);
    set("access_token", json!(access));
    if !rules.token_type.is_empty() {
        set("token_type", json!(rules.token_type));
    }
    match &rules.expires_in {
        ExpiresIn::Lifetime => drop(set("expires_in", json!(seconds))),
        ExpiresIn::Text => drop(set("expires_in", json!(seconds.to_string()))),
        ExpiresIn::Value(value) => drop(set("expires_in", value.clone())),
        ExpiresIn::Absent => {}
    }
    if rules.says_scope {
        set("scope", json!(granted.scope));
    }
    if granted.refresh && rules.rotation != Rotation::None {
        let refresh = state.secret("refresh");
        set("refresh_token", json!(refresh));
        let grant = granted.grant;
        state.refresh.insert(
            refresh,
            Refresh {
                grant,
                replaced: None,
            },
        );
    }
    let token = Access {
        grant: granted.grant,
        scope: granted.scope,
        audience,
        expires,
    };
    state.access.insert(access, token);
    Value::Object(body)
}

/// An unsigned JWT: clients read its `exp` as a hint at most.
fn jwt(claims: &Value) -> String {
    let encode = |part: &Value| URL_SAFE_NO_PAD.encode(part.to_string());
    let header = encode(&json!({"alg": "none", "typ": "at+jwt"}));
    format!("{header}.{}.c2lnbmF0dXJl", encode(claims))
}
