//! Changing and removing servers. Only this module changes what runs, and only with the admin token.

use axum::extract::State;
use axum::http::StatusCode;
use pegboard_config::{command_line, editable_server_keys, masked_command_line};
use pegboard_hub::RefreshScope;
use pegboard_model::{Activity, ActivityKind, ServerName, TrustState};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::refresh::{DiscoveryResult, discover};
use super::server_view::ServerDetails;
use crate::error::{ApiError, ApiResult, ErrorBody};
use crate::extract::{Json, PathServer, unknown_server};
use crate::response::NoStore;
use crate::role::{Admin, Authorized};
use crate::state::WebState;

/// Largest length of a command in the activity log.
const COMMAND_CHARACTERS: usize = 1_000;

/// A server after a change, with the result of its discovery.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ChangedServer {
    /// The new command or URL, with secrets masked.
    command: String,
    /// The server.
    server: ServerDetails,
    /// The result of the discovery, if it was discovered.
    #[serde(skip_serializing_if = "Option::is_none")]
    discovery: Option<DiscoveryResult>,
}

/// Changes keys of a server; `null` removes a key. If the change affects how the server is reached, it is discovered
/// at once.
#[utoipa::path(
    patch,
    operation_id = "changeServer",
    path = "/servers/{name}",
    tag = "servers",
    security(("admin" = [])),
    params(("name" = String, Path, description = "The server")),
    request_body(content = Object, description = "Keys of the configuration with their new values"),
    responses(
        (status = 200, description = "It was changed", body = ChangedServer),
        (status = 400, description = "A key or value is invalid", body = ErrorBody),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
        (status = 403, description = "The admin token is required", body = ErrorBody),
        (status = 404, description = "No such server is configured", body = ErrorBody),
        (status = 408, description = "The body did not arrive in time", body = ErrorBody),
        (status = 413, description = "The body is too large", body = ErrorBody),
        (status = 415, description = "The body is not declared as JSON", body = ErrorBody),
    )
)]
pub(super) async fn change(
    admin: Admin,
    State(state): State<WebState>,
    PathServer(name): PathServer,
    Json(changes): Json<Map<String, Value>>,
) -> ApiResult<NoStore<ChangedServer>> {
    let is_editable = |key: &str| editable_server_keys().any(|editable| editable == key);
    if let Some(key) = changes.keys().find(|key| !is_editable(key)) {
        let keys: Vec<&str> = editable_server_keys().collect();
        let message = format!(
            "this key cannot be changed here; changeable keys are `{}`",
            keys.join("`, `")
        );
        return Err(ApiError::at_field(key, message));
    }
    let hash = |state: &WebState| {
        state
            .hub()
            .catalog()
            .server(&name)
            .map(|entry| entry.spec.hash)
    };
    let before = hash(&state);
    state.config_admin().change_server(&name, changes).await?;
    record_change(&state, &admin, &name, "changed");
    let discovery = match hash(&state) == before {
        true => None,
        false => discover(&state, RefreshScope::One(name.clone()), true)
            .await?
            .into_iter()
            .next(),
    };
    Ok(NoStore(change_response(&state, admin, &name, discovery)?))
}

/// Removes a server from the configuration.
#[utoipa::path(
    delete,
    operation_id = "removeServer",
    path = "/servers/{name}",
    tag = "servers",
    security(("admin" = [])),
    params(("name" = String, Path, description = "The server")),
    responses(
        (status = 204, description = "It was removed"),
        (status = 400, description = "No writable file defines it", body = ErrorBody),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
        (status = 403, description = "The admin token is required", body = ErrorBody),
        (status = 404, description = "No such server is configured", body = ErrorBody),
    )
)]
pub(super) async fn remove(
    admin: Admin,
    State(state): State<WebState>,
    PathServer(name): PathServer,
) -> ApiResult<StatusCode> {
    state.config_admin().remove_server(&name).await?;
    record_change(&state, &admin, &name, "removed");
    Ok(StatusCode::NO_CONTENT)
}

/// The response to a change.
pub(super) fn change_response(
    state: &WebState,
    admin: Admin,
    name: &ServerName,
    discovery: Option<DiscoveryResult>,
) -> ApiResult<ChangedServer> {
    let catalog = state.hub().catalog();
    let entry = catalog
        .server(name)
        .ok_or_else(|| unknown_server(name.as_str()))?;
    Ok(ChangedServer {
        command: match entry.spec.trust_state {
            TrustState::Granted => masked_command_line(&entry.spec.transport),
            TrustState::Pending | TrustState::Changed => command_line(&entry.spec.transport),
        },
        server: ServerDetails::of(entry, state, &Authorized(admin.0)),
        discovery,
    })
}

/// Records a change in the activity log, with the command masked.
pub(super) fn record_change(state: &WebState, admin: &Admin, name: &ServerName, change: &str) {
    let catalog = state.hub().catalog();
    let entry = catalog.server(name);
    let command = entry.map(|entry| masked_command_line(&entry.spec.transport));
    state.hub().record_activity(Activity {
        session: Some(admin.actor().to_owned()),
        client: Some(admin.actor().to_owned()),
        server: Some(name.clone()),
        tool: command.map(|command| command.chars().take(COMMAND_CHARACTERS).collect()),
        ..Activity::new(state.clock().now(), ActivityKind::Config, change.to_owned())
    });
}
