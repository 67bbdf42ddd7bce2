//! Enabling, disabling and trusting servers.

use axum::extract::State;
use pegboard_hub::RefreshScope;
use pegboard_model::ServerName;
use serde::Deserialize;
use utoipa::ToSchema;

use super::refresh::discover;
use super::server_changes::{ChangedServer, change_response, record_change};
use crate::error::{ApiResult, ErrorBody};
use crate::extract::{Json, PathServer};
use crate::response::NoStore;
use crate::role::Admin;
use crate::state::WebState;

/// Enables a server.
#[utoipa::path(
    post,
    operation_id = "enableServer",
    path = "/servers/{name}/enable",
    tag = "servers",
    security(("admin" = [])),
    params(("name" = String, Path, description = "The server")),
    responses(
        (status = 200, description = "It was enabled", body = ChangedServer),
        (status = 400, description = "No writable file defines it", body = ErrorBody),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
        (status = 403, description = "The admin token is required", body = ErrorBody),
        (status = 404, description = "No such server is configured", body = ErrorBody),
    )
)]
pub(super) async fn enable(
    admin: Admin,
    State(state): State<WebState>,
    PathServer(name): PathServer,
) -> ApiResult<NoStore<ChangedServer>> {
    set_enabled(admin, &state, &name, true).await
}

/// Disables a server: its tools are no longer offered, and it is stopped.
#[utoipa::path(
    post,
    operation_id = "disableServer",
    path = "/servers/{name}/disable",
    tag = "servers",
    security(("admin" = [])),
    params(("name" = String, Path, description = "The server")),
    responses(
        (status = 200, description = "It was disabled", body = ChangedServer),
        (status = 400, description = "No writable file defines it", body = ErrorBody),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
        (status = 403, description = "The admin token is required", body = ErrorBody),
        (status = 404, description = "No such server is configured", body = ErrorBody),
    )
)]
pub(super) async fn disable(
    admin: Admin,
    State(state): State<WebState>,
    PathServer(name): PathServer,
) -> ApiResult<NoStore<ChangedServer>> {
    set_enabled(admin, &state, &name, false).await
}

async fn set_enabled(
    admin: Admin,
    state: &WebState,
    name: &ServerName,
    enabled: bool,
) -> ApiResult<NoStore<ChangedServer>> {
    state.config_admin().enable_server(name, enabled).await?;
    record_change(
        state,
        &admin,
        name,
        if enabled { "enabled" } else { "disabled" },
    );
    Ok(NoStore(change_response(state, admin, name, None)?))
}

/// The reviewed definition to trust.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct TrustRequest {
    /// `definitionHash` of the server when `trust` was reviewed.
    definition_hash: String,
}

/// Trusts a project's server with its current definition.
#[utoipa::path(
    post,
    operation_id = "trustServer",
    path = "/servers/{name}/trust",
    tag = "servers",
    security(("admin" = [])),
    params(("name" = String, Path, description = "The server")),
    request_body = TrustRequest,
    responses(
        (status = 200, description = "It is trusted", body = ChangedServer),
        (status = 400, description = "It needs no trust, or the request is invalid", body = ErrorBody),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
        (status = 403, description = "The admin token is required, or the definition changed", body = ErrorBody),
        (status = 404, description = "No such server is configured", body = ErrorBody),
        (status = 408, description = "The body did not arrive in time", body = ErrorBody),
        (status = 413, description = "The body is too large", body = ErrorBody),
        (status = 415, description = "The body is not declared as JSON", body = ErrorBody),
    )
)]
pub(super) async fn trust(
    admin: Admin,
    State(state): State<WebState>,
    PathServer(name): PathServer,
    Json(request): Json<TrustRequest>,
) -> ApiResult<NoStore<ChangedServer>> {
    state
        .config_admin()
        .trust_server(&name, &request.definition_hash)
        .await?;
    record_change(&state, &admin, &name, "trusted");
    let discovery = discover(&state, RefreshScope::One(name.clone()), false).await?;
    Ok(NoStore(change_response(
        &state,
        admin,
        &name,
        discovery.into_iter().next(),
    )?))
}
