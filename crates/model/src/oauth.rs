//! How Pegboard logs in to a remote server, as configured.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{Template, Timestamp};

/// The grant by which a token is obtained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OAuthGrant {
    /// A person logs in with a browser.
    #[default]
    AuthorizationCode,
    /// The client logs in as itself, without a person.
    ClientCredentials,
}

/// The `oauth` table of a server. Only the user's own configuration can contain it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OAuthSettings {
    /// The grant.
    pub grant: OAuthGrant,
    /// The id of a client that was registered by hand.
    pub client_id: Option<Template>,
    /// The secret of that client.
    pub client_secret: Option<Template>,
    /// The private key (PKCS #8, PEM) with which that client signs assertions instead of sending a secret.
    pub private_key: Option<Template>,
    /// The URL of a client id metadata document.
    pub client_metadata_url: Option<String>,
    /// The name under which Pegboard registers itself.
    pub client_name: Option<String>,
    /// The scopes to request instead of those that the server names.
    pub scopes: Option<Vec<String>>,
    /// The redirect URI that was registered for the client.
    pub redirect_uri: Option<String>,
    /// The issuer to use although the server names another one.
    pub issuer: Option<String>,
    /// Additional parameters of the authorization request.
    pub authorize_parameters: BTreeMap<String, String>,
    /// Whether to accept an authorization server that does not advertise PKCE.
    pub assume_pkce: bool,
    /// Whether to send the `resource` parameter.
    pub send_resource: bool,
}

impl Default for OAuthSettings {
    fn default() -> Self {
        Self {
            grant: OAuthGrant::default(),
            client_id: None,
            client_secret: None,
            private_key: None,
            client_metadata_url: None,
            client_name: None,
            scopes: None,
            redirect_uri: None,
            issuer: None,
            authorize_parameters: BTreeMap::new(),
            assume_pkce: false,
            send_resource: true,
        }
    }
}

/// The login of a server, as shown to people and programs. It contains no secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "state")]
#[non_exhaustive]
pub enum LoginState {
    /// The server requires a login, and there is none.
    Required,
    /// The login can be used.
    LoggedIn {
        /// The account, if the authorization server named it.
        #[serde(skip_serializing_if = "Option::is_none")]
        account: Option<String>,
        /// When the access token expires; `None` if that is unknown.
        #[serde(skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
        /// Whether the login is renewed without a person when the access token expires.
        renewable: bool,
        /// The granted scopes.
        scopes: Vec<String>,
        /// The authorization server.
        issuer: String,
    },
    /// The login ended: it was revoked, is too old, or was used elsewhere.
    Expired {
        /// The authorization server.
        issuer: String,
    },
    /// The server requires scopes that the login does not have.
    MoreRightsNeeded {
        /// The scopes that the server named.
        scopes: Vec<String>,
        /// The authorization server.
        issuer: String,
    },
}

impl LoginState {
    /// The state in a few words, without time or account: `login required`.
    pub fn words(&self) -> &'static str {
        match self {
            Self::Required => "login required",
            Self::LoggedIn { .. } => "logged in",
            Self::Expired { .. } => "login expired",
            Self::MoreRightsNeeded { .. } => "more rights needed",
        }
    }

    /// Whether a person must act before the server can be used completely.
    pub fn needs_person(&self) -> bool {
        !matches!(self, Self::LoggedIn { .. })
    }
}
