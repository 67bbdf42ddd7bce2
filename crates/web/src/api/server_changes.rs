//! Changing servers: what gets started is changed here and nowhere else, by whoever holds the admin token.

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
use crate::response::NoStoreJson;
use crate::role::{Admin, Authorized};
use crate::state::WebState;

/// Characters of a command that the activity log keeps.
const COMMAND_CHARACTERS: usize = 1_000;

/// A server after a change, and what asking it for its tools gave.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ChangedServer {
    /// The command or address that is used from now on. Secrets that are written in it are masked.
    command: String,
    /// The server.
    server: ServerDetails,
    /// How its discovery went, when it was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    discovery: Option<DiscoveryResult>,
}

/// Changes keys of a server; `null` takes a key out. A server that is reached in another way than before is asked
/// for its tools at once.
#[utoipa::path(
    patch,
    operation_id = "changeServer",
    path = "/servers/{name}",
    tag = "servers",
    security(("admin" = [])),
    params(("name" = String, Path, description = "The server")),
    request_body(content = Object, description = "Keys of the configuration, with their new values"),
    responses(
        (status = 200, description = "It was changed", body = ChangedServer),
        (status = 400, description = "A key or value is wrong", body = ErrorBody),
        (status = 401, description = "The token is missing or wrong", body = ErrorBody),
        (status = 403, description = "The admin token is needed", body = ErrorBody),
        (status = 404, description = "No such server is configured", body = ErrorBody),
        (status = 408, description = "The body did not come in time", body = ErrorBody),
        (status = 413, description = "The body is too large", body = ErrorBody),
        (status = 415, description = "The body is not declared as JSON", body = ErrorBody),
    )
)]
pub(super) async fn change(
    admin: Admin,
    State(state): State<WebState>,
    PathServer(name): PathServer,
    Json(changes): Json<Map<String, Value>>,
) -> ApiResult<NoStoreJson<ChangedServer>> {
    let is_editable = |key: &str| editable_server_keys().any(|editable| editable == key);
    if let Some(key) = changes.keys().find(|key| !is_editable(key)) {
        let keys: Vec<&str> = editable_server_keys().collect();
        let message = format!(
            "this key cannot be changed here; use one of `{}`",
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
    Ok(NoStoreJson(change_response(
        &state, admin, &name, discovery,
    )?))
}

/// Takes a server out of the configuration.
#[utoipa::path(
    delete,
    operation_id = "removeServer",
    path = "/servers/{name}",
    tag = "servers",
    security(("admin" = [])),
    params(("name" = String, Path, description = "The server")),
    responses(
        (status = 204, description = "It is gone"),
        (status = 400, description = "It is defined by no file that can be changed", body = ErrorBody),
        (status = 401, description = "The token is missing or wrong", body = ErrorBody),
        (status = 403, description = "The admin token is needed", body = ErrorBody),
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

/// The answer to a change.
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
        command: match entry.spec.approval {
            TrustState::Granted => masked_command_line(&entry.spec.transport),
            TrustState::Pending | TrustState::Changed => command_line(&entry.spec.transport),
        },
        server: ServerDetails::of(entry, state, &Authorized(admin.0)),
        discovery,
    })
}

/// Writes down who changed what gets started, with the command as everybody may see it.
pub(super) fn record_change(state: &WebState, admin: &Admin, name: &ServerName, what: &str) {
    let catalog = state.hub().catalog();
    let entry = catalog.server(name);
    let command = entry.map(|entry| masked_command_line(&entry.spec.transport));
    state.hub().record_activity(Activity {
        session: Some(admin.actor().to_owned()),
        server: Some(name.clone()),
        tool: command.map(|command| command.chars().take(COMMAND_CHARACTERS).collect()),
        ..Activity::new(state.clock().now(), ActivityKind::Config, what.to_owned())
    });
}
