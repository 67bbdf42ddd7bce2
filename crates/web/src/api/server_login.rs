//! Logins to remote servers.

use axum::extract::State;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::server_view::ServerErrorView;
use crate::config_admin::LoginAttempt;
use crate::error::{ApiResult, ErrorBody};
use crate::extract::{PathServer, unknown_server};
use crate::response::NoStore;
use crate::role::{Admin, Authorized};
use crate::state::WebState;

/// A login that waits for the browser.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct LoginStart {
    /// The page of the authorization server. The person opens it in a browser on the machine of Pegboard.
    url: String,
    /// The authorization server.
    issuer: String,
    /// The requested scopes.
    scopes: Vec<String>,
    /// How long the login waits, in seconds.
    expires_in: u64,
}

/// The login of a server.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct LoginView {
    /// The server.
    server: String,
    /// The state: `state` is `required`, `logged_in`, `expired` or `more_rights_needed`; with `account`, `until`,
    /// `renewable`, `scopes` and `issuer` where known. Absent if the server requires no login, as far as is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    login: Option<Value>,
    /// Whether a login that was started here waits for the browser.
    is_waiting: bool,
    /// Why the last login that was started here failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ServerErrorView>,
}

/// What a logout did.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Logout {
    /// Whether there was a login.
    was_logged_in: bool,
    /// Whether the authorization server revoked the tokens; absent if it offers no revocation.
    #[serde(skip_serializing_if = "Option::is_none")]
    revoked: Option<bool>,
}

/// Starts a login to a server. Nothing is opened; the response contains the page for the browser.
#[utoipa::path(
    post,
    operation_id = "startServerLogin",
    path = "/servers/{name}/login",
    tag = "servers",
    security(("admin" = [])),
    params(("name" = String, Path, description = "The server")),
    responses(
        (status = 200, description = "The login waits for the browser", body = LoginStart),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
        (status = 403, description = "The admin token is required", body = ErrorBody),
        (status = 404, description = "No such server is configured", body = ErrorBody),
        (status = 409, description = "The server has no login that can be used", body = ErrorBody),
        (status = 502, description = "The server or its authorization server failed", body = ErrorBody),
        (status = 503, description = "The login cannot be stored", body = ErrorBody),
        (status = 504, description = "The server or its authorization server did not respond in time", body = ErrorBody),
    )
)]
pub(super) async fn start(
    _: Admin,
    State(state): State<WebState>,
    PathServer(name): PathServer,
) -> ApiResult<NoStore<LoginStart>> {
    let started = state.config_admin().begin_login(&name).await?;
    Ok(NoStore(LoginStart {
        url: started.url,
        issuer: started.issuer,
        scopes: started.scopes,
        expires_in: pegboard_upstream::LOGIN_TIME.as_secs(),
    }))
}

/// Returns the state of a server's login. Nothing is contacted.
#[utoipa::path(
    get,
    operation_id = "getServerLogin",
    path = "/servers/{name}/login",
    tag = "servers",
    params(("name" = String, Path, description = "The server")),
    responses(
        (status = 200, description = "The login", body = LoginView),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
        (status = 404, description = "No such server is configured", body = ErrorBody),
    )
)]
pub(super) async fn show(
    _: Authorized,
    State(state): State<WebState>,
    PathServer(name): PathServer,
) -> ApiResult<NoStore<LoginView>> {
    let catalog = state.hub().catalog();
    let entry = catalog
        .server(&name)
        .ok_or_else(|| unknown_server(name.as_str()))?;
    let login = state.hub().login_state(entry);
    let attempt = state.config_admin().login_attempt(&name);
    Ok(NoStore(LoginView {
        server: name.to_string(),
        login: login.and_then(|login| serde_json::to_value(login).ok()),
        is_waiting: matches!(attempt, Some(LoginAttempt::Waiting)),
        error: match &attempt {
            Some(LoginAttempt::Failed(error)) => Some(ServerErrorView::of(&error.into())),
            _ => None,
        },
    }))
}

/// Ends the login of a server: the tokens are revoked if possible, and removed.
#[utoipa::path(
    delete,
    operation_id = "endServerLogin",
    path = "/servers/{name}/login",
    tag = "servers",
    security(("admin" = [])),
    params(("name" = String, Path, description = "The server")),
    responses(
        (status = 200, description = "It was ended", body = Logout),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
        (status = 403, description = "The admin token is required", body = ErrorBody),
        (status = 404, description = "No such server is configured", body = ErrorBody),
        (status = 409, description = "The server has no login", body = ErrorBody),
        (status = 503, description = "The login could not be removed", body = ErrorBody),
    )
)]
pub(super) async fn end(
    _: Admin,
    State(state): State<WebState>,
    PathServer(name): PathServer,
) -> ApiResult<NoStore<Logout>> {
    let done = state.config_admin().logout(&name).await?;
    Ok(NoStore(Logout {
        was_logged_in: done.was_logged_in,
        revoked: done.revoked,
    }))
}
