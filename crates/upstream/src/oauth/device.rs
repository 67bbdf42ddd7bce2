//! The device grant (RFC 8628): the person types a code on another device.

use std::sync::Arc;
use std::time::Duration;

use pegboard_model::{LoginState, Secret, ToolResult};
use serde::Deserialize;

use super::client::{ClientIdentity, DEVICE_GRANT};
use super::failure::shown;
use super::fetch::json;
use super::keeper::new_login;
use super::logins::Prepared;
use super::pending::{LOGIN_TIME, keep};
use super::store::LoginStore;
use super::token::{TokenClient, TokenFailure};

/// The pause between two requests, if the server names none, and its bounds.
const INTERVAL: Duration = Duration::from_secs(5);
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);

/// A login that waits until the person has typed a code.
pub struct DeviceLogin {
    prepared: Prepared,
    client: ClientIdentity,
    store: Arc<dyn LoginStore>,
    code: Secret,
    interval: Duration,
    lifetime: Duration,
    user_code: String,
    url: String,
}

#[derive(Deserialize)]
struct Answer {
    device_code: String,
    user_code: String,
    verification_uri: String,
    #[serde(default)]
    verification_uri_complete: Option<String>,
    #[serde(default)]
    expires_in: Option<u64>,
    #[serde(default)]
    interval: Option<u64>,
}

impl DeviceLogin {
    pub(crate) async fn request(
        prepared: Prepared,
        client: ClientIdentity,
        store: Arc<dyn LoginStore>,
    ) -> ToolResult<Self> {
        let scope = prepared.scopes.join(" ");
        let mut fields = Vec::new();
        if !scope.is_empty() {
            fields.push(("scope", scope.as_str()));
        }
        if prepared.target.settings.plain.send_resource {
            fields.push(("resource", prepared.discovered.resource.as_str()));
        }
        let metadata = &prepared.discovered.metadata;
        let endpoint = metadata.device_authorization_endpoint.as_deref();
        let fetched = token_client(&prepared, &client)
            .post(endpoint, &fields)
            .await?;
        let errors = &prepared.target.errors;
        let answer: Option<Answer> = match fetched.status.is_success() {
            true => json(&fetched),
            false => None,
        };
        let answer = answer.ok_or_else(|| {
            let status = fetched.status.as_u16();
            errors.failed(format_args!(
                "the authorization server gave no code (HTTP {status})"
            ))
        })?;
        let complete = answer.verification_uri_complete;
        let url = complete.unwrap_or(answer.verification_uri);
        let url = prepared
            .fetcher
            .published_url(&url, "an address for the code")?;
        let seconds =
            |value: Option<u64>, default: Duration| value.map_or(default, Duration::from_secs);
        Ok(Self {
            interval: seconds(answer.interval, INTERVAL).clamp(SHORTEST, LONGEST),
            lifetime: seconds(answer.expires_in, LOGIN_TIME).min(LOGIN_TIME),
            user_code: shown(&answer.user_code),
            url: url.into(),
            code: Secret::new(answer.device_code),
            prepared,
            client,
            store,
        })
    }

    /// The code that the person compares or types.
    pub fn user_code(&self) -> &str {
        &self.user_code
    }

    /// The address to open on any device.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Waits until the person has confirmed.
    ///
    /// # Errors
    /// Fails if the login is declined, is not completed in time, or cannot be stored.
    pub async fn complete(mut self) -> ToolResult<LoginState> {
        let errors = self.prepared.target.errors.clone();
        let until = tokio::time::Instant::now() + self.lifetime;
        loop {
            tokio::time::sleep(self.interval).await;
            if tokio::time::Instant::now() >= until {
                return Err(errors.failed("the code was not confirmed in time"));
            }
            let mut fields = vec![
                ("grant_type", DEVICE_GRANT),
                ("device_code", self.code.reveal()),
            ];
            if self.prepared.target.settings.plain.send_resource {
                fields.push(("resource", self.prepared.discovered.resource.as_str()));
            }
            let answered = token_client(&self.prepared, &self.client)
                .request(&fields)
                .await;
            let tokens = match answered {
                Ok(tokens) => tokens,
                Err(TokenFailure::Refused { code, .. }) if code == "authorization_pending" => {
                    continue;
                }
                Err(TokenFailure::Refused { code, .. }) if code == "access_denied" => {
                    return Err(errors.failed("it was declined; nothing was stored"));
                }
                Err(TokenFailure::Refused { error, .. }) => return Err(error),
                // Also `slow_down`.
                Err(TokenFailure::Temporary(_)) => {
                    self.interval = (self.interval + INTERVAL).min(LONGEST);
                    continue;
                }
            };
            let (target, scopes) = (&self.prepared.target, self.prepared.scopes.clone());
            let redirect = self.client.redirect_uri.clone();
            let login = new_login(
                target,
                self.client.clone(),
                &self.prepared.discovered,
                redirect,
                scopes,
                tokens,
            );
            return keep(target, &login, self.store.as_ref()).await;
        }
    }
}

fn token_client<'a>(prepared: &'a Prepared, client: &'a ClientIdentity) -> TokenClient<'a> {
    TokenClient {
        fetcher: &prepared.fetcher,
        client,
        settings: &prepared.target.settings,
        issuer: &prepared.discovered.issuer,
        endpoint: prepared.discovered.metadata.token_endpoint.as_deref(),
    }
}
