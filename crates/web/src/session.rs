//! The session of an API call: the scope of "allow for this session".
//!
//! A browser login is one session. A program names its session in a header; otherwise all holders of the token would
//! share an approval. The id that is shown and recorded is a hash of the name.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use pegboard_gateway::http::{Login, Role};
use pegboard_hub::SessionId;

use crate::error::ApiError;
use crate::role::Authorized;

/// The header in which a program names its session.
pub(crate) const SESSION_HEADER: &str = "pegboard-session";

/// Shorter names could be guessed.
const MIN_NAME_LEN: usize = 16;
const MAX_NAME_LEN: usize = 128;
/// Hex digits of a session's id.
const ID_LENGTH: usize = 12;

/// The caller and its session.
pub(crate) struct CallSession {
    pub(crate) id: SessionId,
    /// The name of the caller in the inbox.
    pub(crate) client: &'static str,
    /// Whether later calls can belong to the same session.
    pub(crate) is_lasting: bool,
}

impl CallSession {
    fn of(parts: &Parts) -> Result<Self, ApiError> {
        let Authorized(visitor) = Authorized::of(parts)?;
        if let Some(login) = &visitor.login {
            return Ok(Self {
                id: session_of(login),
                client: "dashboard",
                is_lasting: true,
            });
        }
        let mut named = parts.headers.get_all(SESSION_HEADER).iter();
        let (named, more) = (named.next(), named.next());
        let id = match named {
            None => "api".to_owned(),
            Some(name) if more.is_none() && is_name(name.as_bytes()) => {
                id_of(visitor.role, name.as_bytes())
            }
            Some(_) => {
                let message = format!(
                    "`Pegboard-Session` must be one value of {MIN_NAME_LEN} to {MAX_NAME_LEN} visible ASCII characters"
                );
                let error = ApiError::at_field("Pegboard-Session", message);
                return Err(error.with_remedy(
                    "Send a random value such as a UUID, the same for all calls of one session, or omit the header.",
                ));
            }
        };
        Ok(Self {
            id: SessionId(id),
            client: "api",
            is_lasting: named.is_some(),
        })
    }
}

/// The session of a browser login.
pub(crate) fn session_of(login: &Login) -> SessionId {
    SessionId(format!("dashboard-{}", login.id))
}

fn is_name(name: &[u8]) -> bool {
    (MIN_NAME_LEN..=MAX_NAME_LEN).contains(&name.len()) && name.iter().all(u8::is_ascii_graphic)
}

/// The role is part of the id, so holders of different tokens never share a session.
fn id_of(role: Role, name: &[u8]) -> String {
    let role: &[u8] = match role {
        Role::Admin => b"admin",
        Role::Caller | Role::Frame => b"caller",
    };
    let mut hasher = blake3::Hasher::new();
    hasher.update(role).update(b"\0").update(name);
    let hash = hasher.finalize().to_hex();
    let digits: String = hash.as_str().chars().take(ID_LENGTH).collect();
    format!("api-{digits}")
}

impl<S: Sync> FromRequestParts<S> for CallSession {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Response> {
        Self::of(parts).map_err(IntoResponse::into_response)
    }
}
