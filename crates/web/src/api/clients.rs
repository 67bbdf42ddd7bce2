//! Other MCP clients on this machine, and their connection to Pegboard.

use axum::extract::State;
use pegboard_model::{Activity, ActivityKind, Reason, UntrustedText};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::client_admin::{ClientInfo, ConnectionChange, ConnectionPreview};
use crate::error::{ApiError, ApiResult, ErrorBody};
use crate::extract::{Json, OptionalJson, PathParam, Query};
use crate::response::NoStore;
use crate::role::Admin;
use crate::state::WebState;

/// All clients.
#[derive(Serialize, ToSchema)]
pub(super) struct Clients {
    /// The clients that Pegboard knows, whether they are installed or not.
    clients: Vec<ClientInfo>,
}

/// Lists the MCP clients on this machine: how each reaches its servers, and what can be imported from it.
#[utoipa::path(
    get,
    operation_id = "listClients",
    path = "/clients",
    tag = "clients",
    security(("admin" = [])),
    responses(
        (status = 200, description = "The clients", body = Clients),
        (status = 400, description = "The record of connections is damaged", body = ErrorBody),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
        (status = 403, description = "The admin token is required", body = ErrorBody),
    )
)]
pub(super) async fn list(_: Admin, State(state): State<WebState>) -> ApiResult<NoStore<Clients>> {
    let clients = state.config_admin().clients().await?;
    Ok(NoStore(Clients { clients }))
}

/// What to do.
#[derive(Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum ConnectionAction {
    /// Add Pegboard to the client's file.
    #[default]
    Connect,
    /// Take back what connecting has changed.
    Disconnect,
}

/// The change to plan.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct ConnectionPlanRequest {
    /// `connect` by default.
    #[serde(default)]
    action: ConnectionAction,
    /// Whether the client's servers that Pegboard has are taken out of its file.
    #[serde(default)]
    take_over: bool,
}

/// Shows what connecting or disconnecting a client would write. Nothing is written.
#[utoipa::path(
    post,
    operation_id = "planClientConnection",
    path = "/clients/{client}/connection/plan",
    tag = "clients",
    security(("admin" = [])),
    params(("client" = String, Path, description = "The client's key, such as `claude-code`")),
    request_body = ConnectionPlanRequest,
    responses(
        (status = 200, description = "The changes", body = ConnectionPreview),
        (status = 400, description = "The request is invalid, or the client's file cannot be changed", body = ErrorBody),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
        (status = 403, description = "The admin token is required", body = ErrorBody),
        (status = 404, description = "The client is unknown", body = ErrorBody),
        (status = 408, description = "The body did not arrive in time", body = ErrorBody),
        (status = 409, description = "The file has an entry for Pegboard that Pegboard did not write", body = ErrorBody),
        (status = 413, description = "The body is too large", body = ErrorBody),
        (status = 415, description = "The body is not declared as JSON", body = ErrorBody),
    )
)]
pub(super) async fn plan(
    _: Admin,
    State(state): State<WebState>,
    PathParam(client): PathParam,
    OptionalJson(request): OptionalJson<ConnectionPlanRequest>,
) -> ApiResult<NoStore<ConnectionPreview>> {
    let key = known_client(&client)?;
    let change = match request.action {
        ConnectionAction::Connect => ConnectionChange::Connect {
            take_over: request.take_over,
        },
        ConnectionAction::Disconnect => ConnectionChange::Disconnect,
    };
    let preview = state.config_admin().connection_plan(key, change).await?;
    Ok(NoStore(preview))
}

/// The reviewed change.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct ConnectRequest {
    /// `planHash` of the plan that was reviewed.
    plan_hash: String,
    /// `takeOver` of that plan.
    #[serde(default)]
    take_over: bool,
}

/// Connects a client: adds Pegboard to its file, as a reviewed plan shows. The client uses it after a restart.
#[utoipa::path(
    put,
    operation_id = "connectClient",
    path = "/clients/{client}/connection",
    tag = "clients",
    security(("admin" = [])),
    params(("client" = String, Path, description = "The client's key, such as `claude-code`")),
    request_body = ConnectRequest,
    responses(
        (status = 200, description = "What was written", body = ConnectionPreview),
        (status = 400, description = "The request is invalid, or the file cannot be changed", body = ErrorBody),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
        (status = 403, description = "The admin token is required", body = ErrorBody),
        (status = 404, description = "The client is unknown", body = ErrorBody),
        (status = 408, description = "The body did not arrive in time", body = ErrorBody),
        (status = 409, description = "The file has changed since the plan was made; nothing was written", body = ErrorBody),
        (status = 413, description = "The body is too large", body = ErrorBody),
        (status = 415, description = "The body is not declared as JSON", body = ErrorBody),
    )
)]
pub(super) async fn connect(
    admin: Admin,
    State(state): State<WebState>,
    PathParam(client): PathParam,
    Json(request): Json<ConnectRequest>,
) -> ApiResult<NoStore<ConnectionPreview>> {
    let change = ConnectionChange::Connect {
        take_over: request.take_over,
    };
    write(&state, &admin, &client, change, &request.plan_hash).await
}

/// The reviewed change.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub(super) struct DisconnectQuery {
    /// `planHash` of the plan that was reviewed.
    plan_hash: String,
}

/// Disconnects a client: takes back what connecting has changed, as a reviewed plan shows.
#[utoipa::path(
    delete,
    operation_id = "disconnectClient",
    path = "/clients/{client}/connection",
    tag = "clients",
    security(("admin" = [])),
    params(("client" = String, Path, description = "The client's key, such as `claude-code`"), DisconnectQuery),
    responses(
        (status = 200, description = "What was written", body = ConnectionPreview),
        (status = 400, description = "The request is invalid, or the file cannot be changed", body = ErrorBody),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
        (status = 403, description = "The admin token is required", body = ErrorBody),
        (status = 404, description = "The client is unknown", body = ErrorBody),
        (status = 409, description = "The file has changed since the plan was made; nothing was written", body = ErrorBody),
    )
)]
pub(super) async fn disconnect(
    admin: Admin,
    State(state): State<WebState>,
    PathParam(client): PathParam,
    Query(query): Query<DisconnectQuery>,
) -> ApiResult<NoStore<ConnectionPreview>> {
    let change = ConnectionChange::Disconnect;
    write(&state, &admin, &client, change, &query.plan_hash).await
}

async fn write(
    state: &WebState,
    admin: &Admin,
    client: &str,
    change: ConnectionChange,
    plan_hash: &str,
) -> ApiResult<NoStore<ConnectionPreview>> {
    let key = known_client(client)?;
    let config_admin = state.config_admin();
    let written = config_admin
        .change_connection(key, change, plan_hash)
        .await?;
    let what = match change {
        ConnectionChange::Connect { .. } => "connected",
        ConnectionChange::Disconnect => "disconnected",
    };
    state.hub().record_activity(Activity {
        session: Some(admin.actor().to_owned()),
        client: Some(admin.actor().to_owned()),
        tool: Some(key.to_owned()),
        ..Activity::new(state.clock().now(), ActivityKind::Config, what.to_owned())
    });
    Ok(NoStore(written))
}

/// Returns the key of a client in the table.
pub(super) fn known_client(key: &str) -> ApiResult<&'static str> {
    let client = pegboard_config::clients::client(key);
    client.map(|client| client.key).ok_or_else(|| {
        let key = UntrustedText::new(key).shortened(60);
        ApiError::new(Reason::ClientUnknown, format!("no client `{key}` is known"))
    })
}
