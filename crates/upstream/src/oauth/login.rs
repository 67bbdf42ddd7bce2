//! A login as it is stored: what may be shown, and what is secret.

use pegboard_model::{LoginState, Secret, ServerName, Timestamp, ToolError, ToolResult};
use serde::{Deserialize, Serialize};

use super::client::AuthMethod;
use super::failure::LoginErrors;
use super::metadata::ServerMetadata;
use super::store::StoredLogin;

/// The format of stored logins. A login of another format counts as absent.
const FORMAT: u32 = 1;

/// Identifies a login: a server, and a hash of everything that the login is bound to. A server whose URL or `oauth`
/// table changes has another key, so it never gets the old token.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LoginKey {
    /// The server's name.
    pub server: ServerName,
    /// A hash of URL, `oauth` settings and principal, in hexadecimal digits.
    pub binding: String,
}

/// Whether a stored login can be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LoginStatus {
    Active,
    /// The authorization server or the server no longer accepts it.
    Lost,
    /// The server requires these scopes as well.
    MoreRights(Vec<String>),
}

/// How the client of a login came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ClientKind {
    /// The user registered it and configured its id.
    Configured,
    /// Its id is the URL of a metadata document.
    Document,
    /// Pegboard registered it.
    Registered,
}

/// What may be shown of a login.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LoginInfo {
    pub(crate) format: u32,
    pub(crate) server: ServerName,
    pub(crate) issuer: String,
    pub(crate) resource: String,
    pub(crate) client_id: String,
    pub(crate) client_kind: ClientKind,
    pub(crate) auth_method: AuthMethod,
    /// Whether the authorization server no longer knows the client.
    pub(crate) client_dead: bool,
    pub(crate) redirect_uri: Option<String>,
    /// The granted scopes.
    pub(crate) scopes: Vec<String>,
    pub(crate) account: Option<String>,
    pub(crate) obtained_at: Timestamp,
    pub(crate) expires_at: Option<Timestamp>,
    /// Whether there is a refresh token, or a grant that needs no person.
    pub(crate) renewable: bool,
    pub(crate) status: LoginStatus,
    pub(crate) metadata: ServerMetadata,
}

impl LoginInfo {
    pub(crate) fn format() -> u32 {
        FORMAT
    }

    /// The state for people and programs.
    pub(crate) fn state(&self, now: Timestamp) -> LoginState {
        let issuer = self.issuer.clone();
        match &self.status {
            LoginStatus::Lost => LoginState::Expired { issuer },
            LoginStatus::MoreRights(scopes) => LoginState::MoreRightsNeeded {
                scopes: scopes.clone(),
                issuer,
            },
            LoginStatus::Active
                if !self.renewable && self.expires_at.is_some_and(|until| until <= now) =>
            {
                LoginState::Expired { issuer }
            }
            LoginStatus::Active => LoginState::LoggedIn {
                account: self.account.clone(),
                until: self.expires_at,
                renewable: self.renewable,
                scopes: self.scopes.clone(),
                issuer,
            },
        }
    }
}

/// The secrets of a login.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LoginSecrets {
    pub(crate) access_token: Secret,
    pub(crate) refresh_token: Option<Secret>,
    pub(crate) client_secret: Option<Secret>,
}

/// A complete login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Login {
    pub(crate) info: LoginInfo,
    pub(crate) secrets: LoginSecrets,
}

/// The secrets as they are sealed. It exists only while they are written or read.
#[derive(Serialize, Deserialize)]
struct WrittenSecrets {
    access_token: String,
    refresh_token: Option<String>,
    client_secret: Option<String>,
}

impl Login {
    pub(crate) fn to_stored(&self, errors: &LoginErrors) -> ToolResult<StoredLogin> {
        let written = WrittenSecrets {
            access_token: self.secrets.access_token.reveal().to_owned(),
            refresh_token: revealed(self.secrets.refresh_token.as_ref()),
            client_secret: revealed(self.secrets.client_secret.as_ref()),
        };
        let failed = |_| errors.failed("the login cannot be written");
        Ok(StoredLogin {
            info: serde_json::to_string(&self.info).map_err(failed)?,
            secret: Secret::new(serde_json::to_string(&written).map_err(failed)?),
        })
    }

    /// Reads a stored login. One of another format counts as absent.
    pub(crate) fn from_stored(stored: &StoredLogin) -> Option<Self> {
        let info = read_info(&stored.info)?;
        let written: WrittenSecrets = serde_json::from_str(stored.secret.reveal()).ok()?;
        Some(Self {
            info,
            secrets: LoginSecrets {
                access_token: Secret::new(written.access_token),
                refresh_token: written.refresh_token.map(Secret::new),
                client_secret: written.client_secret.map(Secret::new),
            },
        })
    }
}

fn revealed(secret: Option<&Secret>) -> Option<String> {
    secret.map(|secret| secret.reveal().to_owned())
}

/// Reads the part of a stored login that may be shown.
pub(crate) fn read_info(text: &str) -> Option<LoginInfo> {
    let info: LoginInfo = serde_json::from_str(text).ok()?;
    (info.format == FORMAT).then_some(info)
}

/// The error of a request whose login is lost.
pub(crate) fn lost(errors: &LoginErrors) -> ToolError {
    errors.error(
        pegboard_model::Reason::LoginLost,
        "no longer accepts the login (it was revoked, is too old, or was used elsewhere)",
    )
}
