//! Switching servers on and off, and agreeing to those that a project brings.

use axum::extract::State;
use pegboard_hub::RefreshScope;
use pegboard_model::ServerName;
use serde::Deserialize;
use utoipa::ToSchema;

use super::refresh::discover;
use super::server_changes::{ChangedServer, change_response, record_change};
use crate::error::{ApiResult, ErrorBody};
use crate::extract::{Json, PathServer};
use crate::response::NoStoreJson;
use crate::role::Admin;
use crate::state::WebState;

/// Switches a server on.
#[utoipa::path(
    post,
    operation_id = "enableServer",
    path = "/servers/{name}/enable",
    tag = "servers",
    security(("admin" = [])),
    params(("name" = String, Path, description = "The server")),
    responses(
        (status = 200, description = "It is on", body = ChangedServer),
        (status = 400, description = "It is defined by no file that can be changed", body = ErrorBody),
        (status = 401, description = "The token is missing or wrong", body = ErrorBody),
        (status = 403, description = "The admin token is needed", body = ErrorBody),
        (status = 404, description = "No such server is configured", body = ErrorBody),
    )
)]
pub(super) async fn enable(
    admin: Admin,
    State(state): State<WebState>,
    PathServer(name): PathServer,
) -> ApiResult<NoStoreJson<ChangedServer>> {
    set_enabled(admin, &state, &name, true).await
}

/// Switches a server off: its tools are no longer offered, and it is stopped.
#[utoipa::path(
    post,
    operation_id = "disableServer",
    path = "/servers/{name}/disable",
    tag = "servers",
    security(("admin" = [])),
    params(("name" = String, Path, description = "The server")),
    responses(
        (status = 200, description = "It is off", body = ChangedServer),
        (status = 400, description = "It is defined by no file that can be changed", body = ErrorBody),
        (status = 401, description = "The token is missing or wrong", body = ErrorBody),
        (status = 403, description = "The admin token is needed", body = ErrorBody),
        (status = 404, description = "No such server is configured", body = ErrorBody),
    )
)]
pub(super) async fn disable(
    admin: Admin,
    State(state): State<WebState>,
    PathServer(name): PathServer,
) -> ApiResult<NoStoreJson<ChangedServer>> {
    set_enabled(admin, &state, &name, false).await
}

async fn set_enabled(
    admin: Admin,
    state: &WebState,
    name: &ServerName,
    enabled: bool,
) -> ApiResult<NoStoreJson<ChangedServer>> {
    state.config_admin().enable_server(name, enabled).await?;
    record_change(
        state,
        &admin,
        name,
        if enabled { "enabled" } else { "disabled" },
    );
    Ok(NoStoreJson(change_response(state, admin, name, None)?))
}

/// The definition that somebody looked at and agrees to.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct TrustRequest {
    /// `definitionHash` of the server, as it was when `trust` was reviewed.
    definition_hash: String,
}

/// Agrees to start a server that a project's file brings, as it is now.
#[utoipa::path(
    post,
    operation_id = "trustServer",
    path = "/servers/{name}/trust",
    tag = "servers",
    security(("admin" = [])),
    params(("name" = String, Path, description = "The server")),
    request_body = TrustRequest,
    responses(
        (status = 200, description = "It may be started", body = ChangedServer),
        (status = 400, description = "It needs no agreement, or the request is wrong", body = ErrorBody),
        (status = 401, description = "The token is missing or wrong", body = ErrorBody),
        (status = 403, description = "The admin token is needed, or the definition is another", body = ErrorBody),
        (status = 404, description = "No such server is configured", body = ErrorBody),
        (status = 408, description = "The body did not come in time", body = ErrorBody),
        (status = 413, description = "The body is too large", body = ErrorBody),
        (status = 415, description = "The body is not declared as JSON", body = ErrorBody),
    )
)]
pub(super) async fn trust(
    admin: Admin,
    State(state): State<WebState>,
    PathServer(name): PathServer,
    Json(request): Json<TrustRequest>,
) -> ApiResult<NoStoreJson<ChangedServer>> {
    state
        .config_admin()
        .trust_server(&name, &request.definition_hash)
        .await?;
    record_change(&state, &admin, &name, "trusted");
    let discovery = discover(&state, RefreshScope::One(name.clone()), false).await?;
    Ok(NoStoreJson(change_response(
        &state,
        admin,
        &name,
        discovery.into_iter().next(),
    )?))
}
