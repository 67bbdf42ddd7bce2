//! Requests to a token endpoint, and what the answers mean.

use pegboard_model::{Secret, Timestamp, ToolError, ToolResult};
use serde::{Deserialize, Deserializer};

use super::challenge::split_scopes;
use super::client::ClientIdentity;
use super::failure::shown;
use super::fetch::{Fetched, Fetcher, form, form_encoded, json};
use super::jwt::ShownClaims;
use super::settings::ResolvedSettings;

/// The longest token that is accepted.
const MAX_TOKEN_BYTES: usize = 64 * 1024;
/// The longest lifetime that is believed, in seconds: longer ones are mistakes.
const MAX_LIFETIME: u64 = 10 * 365 * 24 * 3600;

/// A successful answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tokens {
    pub(crate) access_token: Secret,
    pub(crate) refresh_token: Option<Secret>,
    /// The granted scopes, if the answer names them.
    pub(crate) scopes: Option<Vec<String>>,
    pub(crate) expires_at: Option<Timestamp>,
    pub(crate) account: Option<String>,
}

/// Why there are no tokens.
#[derive(Debug)]
pub(crate) enum TokenFailure {
    /// The authorization server refused, with this code (empty if it gave none).
    Refused { code: String, error: ToolError },
    /// The authorization server cannot be used now; what was sent may still be valid.
    Temporary(ToolError),
}

impl TokenFailure {
    pub(crate) fn into_error(self) -> ToolError {
        match self {
            Self::Refused { error, .. } | Self::Temporary(error) => error,
        }
    }
}

/// What identifies us in a token request.
pub(crate) struct TokenClient<'a> {
    pub(crate) fetcher: &'a Fetcher,
    pub(crate) client: &'a ClientIdentity,
    pub(crate) settings: &'a ResolvedSettings,
    pub(crate) issuer: &'a str,
    pub(crate) endpoint: Option<&'a str>,
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    access_token: Option<String>,
    #[serde(default)]
    token_type: Option<String>,
    #[serde(default)]
    refresh_token: Option<String>,
    #[serde(default)]
    id_token: Option<String>,
    #[serde(default)]
    scope: Option<String>,
    #[serde(default, deserialize_with = "seconds")]
    expires_in: Option<u64>,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    error_description: Option<String>,
}

/// Some servers write the number as a string or with a fraction.
fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let value = serde_json::Value::deserialize(deserializer)?;
    let number = match &value {
        serde_json::Value::String(text) => text.trim().parse().ok(),
        other => other.as_f64(),
    };
    // A negative or endless lifetime counts as unknown.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    Ok(number
        .filter(|number: &f64| (0.0..=MAX_LIFETIME as f64).contains(number))
        .map(|number| number as u64))
}

impl TokenClient<'_> {
    /// Sends a token request. The client's credentials are added to the fields.
    pub(crate) async fn request(&self, fields: &[(&str, &str)]) -> Result<Tokens, TokenFailure> {
        let started = crate::now();
        let fetched = self.post(self.endpoint, fields).await;
        let fetched = fetched.map_err(|error| match error.retryable {
            true => TokenFailure::Temporary(error),
            false => TokenFailure::Refused {
                code: String::new(),
                error,
            },
        })?;
        self.read(&fetched, started)
    }

    /// Posts a form with the client's credentials to an endpoint of the authorization server.
    pub(crate) async fn post(
        &self,
        endpoint: Option<&str>,
        fields: &[(&str, &str)],
    ) -> ToolResult<Fetched> {
        let errors = &self.fetcher.errors;
        let endpoint = endpoint.ok_or_else(|| {
            errors.unsupported(
                "has an authorization server without a token endpoint",
                "Report it to the server's authors.",
            )
        })?;
        let endpoint = self.fetcher.published_url(endpoint, "a token endpoint")?;
        let credentials = self
            .client
            .credentials(self.settings, self.issuer, self.fetcher)?;
        let own = credentials
            .fields
            .iter()
            .map(|(name, value)| (*name, value.reveal()));
        let all: Vec<_> = fields.iter().copied().chain(own).collect();
        let body = form(&all);
        let kind = "application/x-www-form-urlencoded";
        let authorization = credentials.authorization.as_ref();
        self.fetcher
            .post(&endpoint, kind, &body, authorization)
            .await
    }

    fn read(&self, fetched: &Fetched, started: Timestamp) -> Result<Tokens, TokenFailure> {
        let errors = &self.fetcher.errors;
        let status = fetched.status.as_u16();
        // GitHub answers with a form unless it honours `Accept`, and reports errors with HTTP 200.
        let answer: Option<Answer> = json(fetched).or_else(|| form_answer(fetched));
        let Some(answer) = answer else {
            let what = format!("the token endpoint answered with HTTP {status} and no JSON");
            return Err(match fetched.is_temporary() {
                true => TokenFailure::Temporary(errors.temporary(what)),
                false => TokenFailure::Refused {
                    code: String::new(),
                    error: errors.failed(what),
                },
            });
        };
        if let Some(code) = answer.error {
            let text = answer
                .error_description
                .map(|text| format!(" ({})", shown(&text)));
            let what = format!("{}{}", shown(&code), text.unwrap_or_default());
            let is_temporary = fetched.is_temporary()
                || matches!(
                    code.as_str(),
                    "temporarily_unavailable" | "server_error" | "slow_down"
                );
            return Err(match is_temporary {
                true => TokenFailure::Temporary(errors.temporary(what)),
                false => TokenFailure::Refused {
                    error: explain(errors.failed(&what), &code),
                    code,
                },
            });
        }
        if fetched.is_temporary() {
            let what = format!("the token endpoint answered with HTTP {status}");
            return Err(TokenFailure::Temporary(errors.temporary(what)));
        }
        let refused = |what: &str| TokenFailure::Refused {
            code: String::new(),
            error: errors.failed(what),
        };
        let is_token = |token: &String| {
            !token.is_empty()
                && token.len() <= MAX_TOKEN_BYTES
                && token.bytes().all(|byte| matches!(byte, 0x21..=0x7e))
        };
        let Some(access_token) = answer.access_token.filter(is_token) else {
            return Err(refused("the token endpoint sent no usable access token"));
        };
        let kind = answer.token_type.as_deref().unwrap_or("Bearer");
        if !kind.eq_ignore_ascii_case("bearer") || !fetched.status.is_success() {
            return Err(refused("the token endpoint sent no bearer token"));
        }
        let id_claims = answer.id_token.as_deref().and_then(ShownClaims::of);
        let claims = ShownClaims::of(&access_token);
        let lifetime = answer
            .expires_in
            .map(|seconds| Timestamp(started.0 + seconds * 1000));
        let hint = claims.as_ref().and_then(|claims| claims.exp);
        let hint = hint.map(|seconds| Timestamp(seconds.saturating_mul(1000)));
        let account = id_claims.and_then(ShownClaims::account);
        Ok(Tokens {
            access_token: Secret::new(access_token),
            refresh_token: answer.refresh_token.filter(is_token).map(Secret::new),
            scopes: answer.scope.as_deref().map(split_scopes),
            expires_at: lifetime.or(hint),
            account: account.or_else(|| claims.and_then(ShownClaims::account)),
        })
    }
}

/// Reads an answer that is a form.
fn form_answer(fetched: &Fetched) -> Option<Answer> {
    let text = std::str::from_utf8(&fetched.body).ok()?;
    if !(text.contains("access_token=") || text.contains("error=")) || text.contains('<') {
        return None;
    }
    let address = reqwest::Url::parse(&format!("http://form/?{text}")).ok()?;
    let find = |name: &str| {
        let found = address.query_pairs().find(|(key, _)| key == name);
        found.map(|(_, value)| value.into_owned())
    };
    Some(Answer {
        access_token: find("access_token"),
        token_type: find("token_type"),
        refresh_token: find("refresh_token"),
        id_token: None,
        scope: find("scope").map(|scope| scope.replace(',', " ")),
        expires_in: find("expires_in").and_then(|seconds| seconds.parse().ok()),
        error: find("error"),
        error_description: find("error_description"),
    })
}

/// Adds the next step that a code suggests.
fn explain(error: ToolError, code: &str) -> ToolError {
    match code {
        "invalid_target" => error.with_remedy(
            "The authorization server refuses the `resource` parameter. If the service needs it, set \
             `send_resource = false` in the server's `oauth` table; report it to its authors.",
        ),
        "invalid_scope" => error.with_remedy(
            "Choose other scopes with `--scope`, or set `scopes` in the server's `oauth` table.",
        ),
        "invalid_client" | "unauthorized_client" => error.with_remedy(
            "Log in again; Pegboard registers again. If `client_id` is configured, check it and its secret.",
        ),
        _ => error,
    }
}

/// Encodes fields for the query of a URL.
pub(crate) fn query(fields: &[(&str, &str)]) -> String {
    let fields: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("{}={}", form_encoded(name), form_encoded(value)))
        .collect();
    fields.join("&")
}
