//! How a client proves its identity at the token endpoint. Each client has exactly one accepted method.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use percent_encoding::percent_decode_str;
use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use serde_json::Value;

use super::authorize::find;
use super::clients::{AuthMethod, Client};
use super::metadata::published_issuer;
use super::seen::SeenRequest;
use super::state::{Shared, State};

/// The client of a token request.
///
/// # Errors
/// With the reason, if the client is unknown or its proof is wrong or of another method.
pub(super) fn check(shared: &Shared, state: &State, seen: &SeenRequest) -> Result<Client, String> {
    let shown = Shown::of(seen)?;
    let Some(client) = find(shared, state, &shown.id) else {
        return Err("unknown client".to_owned());
    };
    if shown.method != client.method {
        let (used, wanted) = (shown.method.name(), client.method.name());
        return Err(format!(
            "the client used `{used}`, registered is `{wanted}`"
        ));
    }
    if client.secret_expires.is_some_and(|at| at <= state.now()) {
        return Err("the client's secret expired".to_owned());
    }
    match client.method {
        AuthMethod::None => {}
        AuthMethod::Basic | AuthMethod::Post if shown.proof == client.secret => {}
        AuthMethod::Basic | AuthMethod::Post => return Err("wrong secret".to_owned()),
        AuthMethod::PrivateKeyJwt => {
            let assertion = shown.proof.unwrap_or_default();
            check_assertion(&client, &assertion, &published_issuer(shared), state.now())?;
        }
    }
    Ok(client)
}

/// What a request shows about its client.
struct Shown {
    id: String,
    method: AuthMethod,
    proof: Option<String>,
}

impl Shown {
    fn of(seen: &SeenRequest) -> Result<Self, String> {
        let parameter = |name: &str| seen.parameter(name).map(str::to_owned);
        let id = parameter("client_id").unwrap_or_default();
        if let Some(basic) = seen.header("authorization") {
            let encoded = basic.strip_prefix("Basic ").ok_or("not Basic")?;
            let decoded = STANDARD.decode(encoded).map_err(|_| "not base64")?;
            let decoded = String::from_utf8(decoded).map_err(|_| "not UTF-8")?;
            let (id, secret) = decoded.split_once(':').ok_or("no colon")?;
            // RFC 6749 2.3.1: both parts are encoded like a form before they are joined.
            let plain = |part: &str| {
                let part = part.replace('+', " ");
                percent_decode_str(&part).decode_utf8_lossy().into_owned()
            };
            return Ok(Self {
                id: plain(id),
                method: AuthMethod::Basic,
                proof: Some(plain(secret)),
            });
        }
        let (method, proof) = if let Some(assertion) = parameter("client_assertion") {
            (AuthMethod::PrivateKeyJwt, Some(assertion))
        } else if let Some(secret) = parameter("client_secret") {
            (AuthMethod::Post, Some(secret))
        } else {
            (AuthMethod::None, None)
        };
        let id = match (&method, &proof, id.is_empty()) {
            // The id may be in the assertion alone.
            (AuthMethod::PrivateKeyJwt, Some(assertion), true) => claims(assertion)?["sub"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            _ => id,
        };
        Ok(Self { id, method, proof })
    }
}

fn claims(assertion: &str) -> Result<Value, String> {
    let payload = assertion.split('.').nth(1).ok_or("not a JWT")?;
    let payload = URL_SAFE_NO_PAD
        .decode(payload)
        .map_err(|_| "not base64url")?;
    serde_json::from_slice(&payload).map_err(|_| "claims are not JSON".to_owned())
}

fn check_assertion(client: &Client, assertion: &str, issuer: &str, now: u64) -> Result<(), String> {
    let claims = claims(assertion)?;
    let is_for = |audience: &Value| match audience {
        Value::Array(several) => several.iter().any(|one| one == issuer),
        one => one == issuer,
    };
    if claims["iss"] != client.id.as_str() || claims["sub"] != client.id.as_str() {
        return Err("`iss` and `sub` must be the client's id".to_owned());
    }
    if !is_for(&claims["aud"]) {
        return Err(format!("`aud` must be `{issuer}`"));
    }
    if claims["exp"].as_u64().unwrap_or_default() * 1000 <= now || claims["jti"].is_null() {
        return Err("`exp` is over, or `jti` is missing".to_owned());
    }
    let (signed, signature) = assertion.rsplit_once('.').ok_or("not a JWT")?;
    let signature = URL_SAFE_NO_PAD
        .decode(signature)
        .map_err(|_| "not base64url")?;
    let key = client.public_key.as_deref().unwrap_or_default();
    UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key)
        .verify(signed.as_bytes(), &signature)
        .map_err(|_| "wrong signature".to_owned())
}
