//! Deleting the known tools of servers.

use axum::extract::State;
use pegboard_model::{Activity, ActivityKind};
use serde::Serialize;
use utoipa::ToSchema;

use super::server_changes::record_change;
use crate::error::{ApiResult, ErrorBody};
use crate::extract::{PathServer, unknown_server};
use crate::response::NoStore;
use crate::role::Admin;
use crate::state::WebState;

/// The number of deleted lists.
#[derive(Serialize, ToSchema)]
pub(super) struct ClearResponse {
    /// How many stored tool lists were deleted.
    cleared: usize,
}

/// Deletes the known tools of one server. They are discovered again when they are needed.
#[utoipa::path(
    post,
    operation_id = "clearServer",
    path = "/servers/{name}/clear",
    tag = "servers",
    security(("admin" = [])),
    params(("name" = String, Path, description = "The server")),
    responses(
        (status = 200, description = "Its tools were deleted", body = ClearResponse),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
        (status = 403, description = "The admin token is required", body = ErrorBody),
        (status = 404, description = "No such server is configured", body = ErrorBody),
        (status = 503, description = "The store could not be changed", body = ErrorBody),
    )
)]
pub(super) async fn one(
    admin: Admin,
    State(state): State<WebState>,
    PathServer(name): PathServer,
) -> ApiResult<NoStore<ClearResponse>> {
    if state.hub().catalog().server(&name).is_none() {
        return Err(unknown_server(name.as_str()));
    }
    let was_stored = state.hub().invalidate(&name).await?;
    record_change(&state, &admin, &name, "cleared");
    Ok(NoStore(ClearResponse {
        cleared: usize::from(was_stored),
    }))
}

/// Deletes the known tools of every server, including servers of other projects. They are discovered again when they
/// are needed.
#[utoipa::path(
    post,
    operation_id = "clearServers",
    path = "/clear",
    tag = "servers",
    security(("admin" = [])),
    responses(
        (status = 200, description = "The tools of all servers were deleted", body = ClearResponse),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
        (status = 403, description = "The admin token is required", body = ErrorBody),
        (status = 503, description = "The store could not be changed", body = ErrorBody),
    )
)]
pub(super) async fn all(
    admin: Admin,
    State(state): State<WebState>,
) -> ApiResult<NoStore<ClearResponse>> {
    let cleared = state.hub().clear().await?;
    state.hub().record_activity(Activity {
        session: Some(admin.actor().to_owned()),
        client: Some(admin.actor().to_owned()),
        ..Activity::new(state.clock().now(), ActivityKind::Config, "cleared")
    });
    Ok(NoStore(ClearResponse { cleared }))
}
