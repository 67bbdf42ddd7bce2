//! Who we are at an authorization server: a configured client, a client id metadata document, or a registration.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pegboard_model::{OAuthSettings, Secret, ToolResult};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::failure::shown;
use super::fetch::{Fetcher, form_encoded, json as read_json};
use super::jwt::client_assertion;
use super::login::ClientKind;
use super::metadata::ServerMetadata;
use super::settings::ResolvedSettings;

/// The longest client id and secret that are accepted.
const MAX_CREDENTIAL_BYTES: usize = 4 * 1024;
const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/// The grant of RFC 8628.
pub(crate) const DEVICE_GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// How a client authenticates itself at the token endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AuthMethod {
    Basic,
    Post,
    None,
    PrivateKey,
}

/// A client at one authorization server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClientIdentity {
    pub(crate) id: String,
    pub(crate) secret: Option<Secret>,
    pub(crate) method: AuthMethod,
    pub(crate) kind: ClientKind,
    /// The redirect URI that was registered, if any.
    pub(crate) redirect_uri: Option<String>,
}

/// What a token request of a client contains for its authentication.
pub(crate) struct ClientCredentials {
    pub(crate) authorization: Option<Secret>,
    pub(crate) fields: Vec<(&'static str, Secret)>,
}

impl ClientIdentity {
    /// The client that the user configured, if any.
    pub(crate) fn configured(
        settings: &ResolvedSettings,
        metadata: &ServerMetadata,
    ) -> Option<Self> {
        let id = settings.client_id.as_ref()?.reveal().to_owned();
        let secret = settings.client_secret.clone();
        let method = match (&settings.private_key, &secret) {
            (Some(_), _) => AuthMethod::PrivateKey,
            (None, Some(_)) => secret_method(metadata),
            (None, None) => AuthMethod::None,
        };
        Some(Self {
            id,
            secret,
            method,
            kind: ClientKind::Configured,
            redirect_uri: settings.plain.redirect_uri.clone(),
        })
    }

    /// The client whose id is the URL of a document, if the authorization server supports that.
    pub(crate) fn document(settings: &OAuthSettings, metadata: &ServerMetadata) -> Option<Self> {
        let url = settings.client_metadata_url.as_ref()?;
        let methods = metadata.token_endpoint_auth_methods_supported.as_deref();
        let takes_none =
            methods.is_none_or(|methods| methods.iter().any(|method| method == "none"));
        (metadata.client_id_metadata_document_supported && takes_none).then(|| Self {
            id: url.clone(),
            secret: None,
            method: AuthMethod::None,
            kind: ClientKind::Document,
            redirect_uri: settings.redirect_uri.clone(),
        })
    }

    /// Returns the credentials of a request to the token endpoint of an issuer.
    pub(crate) fn credentials(
        &self,
        settings: &ResolvedSettings,
        issuer: &str,
        fetcher: &Fetcher,
    ) -> ToolResult<ClientCredentials> {
        let mut fields = Vec::new();
        let mut authorization = None;
        let id = || ("client_id", Secret::new(self.id.clone()));
        match (self.method, &self.secret) {
            (AuthMethod::Basic, Some(secret)) => {
                let pair = format!(
                    "{}:{}",
                    form_encoded(&self.id),
                    form_encoded(secret.reveal())
                );
                authorization = Some(Secret::new(format!("Basic {}", STANDARD.encode(pair))));
                // The Python SDK's server refuses a form without it.
                fields.push(id());
            }
            (AuthMethod::Post, Some(secret)) => {
                fields.extend([id(), ("client_secret", secret.clone())]);
            }
            (AuthMethod::PrivateKey, _) => {
                let now = crate::now().0 / 1000;
                let key = settings.private_key.as_ref();
                let assertion = key.and_then(|key| client_assertion(key, &self.id, issuer, now));
                let assertion = assertion.ok_or_else(|| {
                    fetcher.errors.failed(
                        "`private_key` is not a PKCS #8 key in PEM (ECDSA P-256, RSA or Ed25519)",
                    )
                })?;
                fields.extend([
                    id(),
                    ("client_assertion_type", Secret::new(ASSERTION_TYPE)),
                    ("client_assertion", assertion),
                ]);
            }
            (AuthMethod::None | AuthMethod::Basic | AuthMethod::Post, _) => fields.push(id()),
        }
        Ok(ClientCredentials {
            authorization,
            fields,
        })
    }
}

/// The method for a client with a secret: basic unless only `post` is listed.
fn secret_method(metadata: &ServerMetadata) -> AuthMethod {
    let methods = metadata.token_endpoint_auth_methods_supported.as_deref();
    let lists = |name: &str| methods.is_some_and(|all| all.iter().any(|method| method == name));
    match methods {
        Some(_) if !lists("client_secret_basic") && lists("client_secret_post") => AuthMethod::Post,
        _ => AuthMethod::Basic,
    }
}

/// The method to register with: one that needs no secret if possible, because we are a native application.
fn method_to_register(metadata: &ServerMetadata) -> &'static str {
    let methods = metadata.token_endpoint_auth_methods_supported.as_deref();
    let lists = |name: &str| methods.is_some_and(|all| all.iter().any(|method| method == name));
    match methods {
        None => "none",
        Some(_) if lists("none") => "none",
        Some(_) if lists("client_secret_basic") => "client_secret_basic",
        Some(_) if lists("client_secret_post") => "client_secret_post",
        Some(_) => "none",
    }
}

#[derive(Deserialize)]
struct Registered {
    client_id: String,
    #[serde(default)]
    client_secret: Option<String>,
    #[serde(default)]
    token_endpoint_auth_method: Option<String>,
}

#[derive(Default, Deserialize)]
struct Refused {
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    error_description: Option<String>,
}

impl Fetcher {
    /// Registers Pegboard as a client (RFC 7591).
    pub(crate) async fn register(
        &self,
        metadata: &ServerMetadata,
        settings: &OAuthSettings,
        redirect_uri: &str,
        scopes: &[String],
    ) -> ToolResult<ClientIdentity> {
        let Some(endpoint) = &metadata.registration_endpoint else {
            return Err(self.needs_client(
                redirect_uri,
                "the authorization server accepts no registration",
            ));
        };
        let endpoint = self.published_url(endpoint, "a registration endpoint")?;
        let method = method_to_register(metadata);
        let mut grants = vec!["authorization_code", "refresh_token"];
        if metadata.device_authorization_endpoint.is_some() {
            grants.push(DEVICE_GRANT);
        }
        let mut document = json!({
            "client_name": settings.client_name.as_deref().unwrap_or("Pegboard"),
            "redirect_uris": [redirect_uri],
            "grant_types": grants,
            "response_types": ["code"],
            "token_endpoint_auth_method": method,
            "application_type": "native",
        });
        if let (false, Some(members)) = (scopes.is_empty(), document.as_object_mut()) {
            members.insert("scope".to_owned(), scopes.join(" ").into());
        }
        let body = Secret::new(document.to_string());
        let fetched = self
            .post(&endpoint, "application/json", &body, None)
            .await?;
        if fetched.is_temporary() {
            let status = fetched.status.as_u16();
            return Err(self
                .errors
                .temporary(format_args!("registration: HTTP {status}")));
        }
        let registered: Option<Registered> = match fetched.status.is_success() {
            true => read_json(&fetched),
            false => None,
        };
        let Some(registered) = registered.filter(is_usable) else {
            let refused: Refused = read_json(&fetched).unwrap_or_default();
            let why = match (refused.error, refused.error_description) {
                (Some(error), Some(text)) => format!("{}: {}", shown(&error), shown(&text)),
                (Some(error), None) => shown(&error),
                _ => format!("HTTP {}", fetched.status.as_u16()),
            };
            let what = format!("the authorization server refused the registration ({why})");
            return Err(self.needs_client(redirect_uri, &what));
        };
        let secret = registered.client_secret.filter(|secret| !secret.is_empty());
        let method = match registered.token_endpoint_auth_method.as_deref() {
            Some("client_secret_post") => AuthMethod::Post,
            Some("client_secret_basic") => AuthMethod::Basic,
            Some("none") => AuthMethod::None,
            _ => match (method, &secret) {
                ("none", None) => AuthMethod::None,
                ("client_secret_post", _) => AuthMethod::Post,
                ("none", Some(_)) => secret_method(metadata),
                _ => AuthMethod::Basic,
            },
        };
        Ok(ClientIdentity {
            id: registered.client_id,
            secret: secret.map(Secret::new),
            method,
            kind: ClientKind::Registered,
            redirect_uri: Some(redirect_uri.to_owned()),
        })
    }

    /// Pegboard cannot register itself.
    fn needs_client(&self, redirect_uri: &str, why: &str) -> pegboard_model::ToolError {
        self.errors.unsupported(
            format_args!("needs a client of your own: {why}"),
            format!(
                "Register a client with the service (redirect URI `{redirect_uri}`), then set `client_id`, and \
                 `client_secret` if it has one, and `redirect_uri` in the server's `oauth` table."
            ),
        )
    }
}

fn is_usable(registered: &Registered) -> bool {
    let secret = registered.client_secret.as_deref().unwrap_or_default();
    !registered.client_id.is_empty()
        && registered.client_id.len() <= MAX_CREDENTIAL_BYTES
        && secret.len() <= MAX_CREDENTIAL_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_methods(methods: Option<&[&str]>) -> ServerMetadata {
        ServerMetadata {
            token_endpoint_auth_methods_supported: methods
                .map(|methods| methods.iter().map(|method| (*method).to_owned()).collect()),
            ..ServerMetadata::default()
        }
    }

    #[test]
    fn r_auth_01_the_method_follows_what_the_authorization_server_lists() {
        let register = |methods| method_to_register(&with_methods(methods));
        assert_eq!(register(None), "none");
        assert_eq!(register(Some(&["client_secret_post", "none"])), "none");
        assert_eq!(
            register(Some(&["client_secret_post"])),
            "client_secret_post"
        );
        assert_eq!(
            register(Some(&["client_secret_basic", "client_secret_post"])),
            "client_secret_basic"
        );
        let configured = |methods| secret_method(&with_methods(methods));
        assert_eq!(configured(None), AuthMethod::Basic);
        assert_eq!(configured(Some(&["client_secret_post"])), AuthMethod::Post);
    }
}
