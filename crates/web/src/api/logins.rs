//! One-time logins for the dashboard.

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::error::{ApiResult, ErrorBody};
use crate::logins::LOGIN_CODE_LIFETIME;
use crate::response::{Created, NoStore};
use crate::role::Admin;
use crate::state::WebState;

/// A one-time login link.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct OneTimeLogin {
    /// The URL that logs one browser in.
    url: String,
    /// Validity in seconds.
    expires_in: u64,
}

/// Creates a one-time login link for the dashboard.
#[utoipa::path(
    post,
    operation_id = "makeLogin",
    path = "/logins",
    tag = "dashboard",
    security(("admin" = [])),
    responses(
        (status = 201, description = "A new login link", body = OneTimeLogin),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
        (status = 403, description = "The admin token is required", body = ErrorBody),
    )
)]
pub(super) async fn mint(_: Admin, State(state): State<WebState>) -> Created<OneTimeLogin> {
    let path = state.logins().login_path();
    Created(OneTimeLogin {
        url: format!("{}{}", state.url(), path.reveal()),
        expires_in: LOGIN_CODE_LIFETIME.as_secs(),
    })
}

/// The token of MCP clients.
#[derive(Serialize, ToSchema)]
pub(super) struct CallToken {
    /// The token; absent if none is required.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
}

/// Returns the token for the configuration of MCP clients.
#[utoipa::path(
    get,
    operation_id = "getCallToken",
    path = "/call-token",
    tag = "dashboard",
    security(("admin" = [])),
    responses(
        (status = 200, description = "The token", body = CallToken),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
        (status = 403, description = "The admin token is required", body = ErrorBody),
        (status = 503, description = "The token could not be read", body = ErrorBody),
    )
)]
pub(super) async fn call_token(
    _: Admin,
    State(state): State<WebState>,
) -> ApiResult<NoStore<CallToken>> {
    let token = state.config_admin().call_token()?;
    let token = token.map(|token| token.reveal().to_owned());
    Ok(NoStore(CallToken { token }))
}
