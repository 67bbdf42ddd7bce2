//! One-time logins for the dashboard.

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::answer::Made;
use crate::fault::ErrorBody;
use crate::role::Admin;
use crate::state::WebState;
use crate::visitors::ONE_TIME_LOGIN;

/// A one-time login.
#[derive(Serialize, ToSchema)]
pub(super) struct OneTimeLogin {
    /// The address that logs one browser in.
    url: String,
    /// How many seconds it is good for.
    expires_in: u64,
}

/// Makes a one-time login for the dashboard.
#[utoipa::path(
    post,
    path = "/logins",
    tag = "dashboard",
    security(("admin" = [])),
    responses(
        (status = 201, description = "A new login", body = OneTimeLogin),
        (status = 401, description = "The token is missing or wrong", body = ErrorBody),
        (status = 403, description = "The admin token is needed", body = ErrorBody),
    )
)]
pub(super) async fn mint(_: Admin, State(state): State<WebState>) -> Made<OneTimeLogin> {
    let path = state.logins().login_path();
    Made(OneTimeLogin {
        url: format!("{}{}", state.url(), path.reveal()),
        expires_in: ONE_TIME_LOGIN.as_secs(),
    })
}
