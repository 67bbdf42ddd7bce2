//! Adding a server.

use std::collections::BTreeMap;

use axum::extract::State;
use pegboard_hub::RefreshScope;
use pegboard_model::{Reason, ServerName, ToolError};
use serde::Deserialize;
use utoipa::ToSchema;

use super::refresh::discover;
use super::server_changes::{ChangedServer, change_response, record_change};
use crate::config_admin::{NewServer, NewTransport};
use crate::error::{ApiError, ApiResult, ErrorBody};
use crate::extract::Json;
use crate::response::Created;
use crate::role::Admin;
use crate::state::WebState;

/// A server to add: `command` for a local program, or `url` for a remote server.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AddServerRequest {
    /// The name, in `snake_case`.
    #[schema(example = "github")]
    name: String,
    /// The program to start.
    command: Option<String>,
    /// The arguments; no shell is involved.
    #[serde(default)]
    args: Vec<String>,
    /// The URL of a remote server.
    url: Option<String>,
    /// Environment variables of a local server; values may be `${NAME}` or `${secret:NAME}`.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// Headers of a remote server.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// The bearer token of a remote server.
    bearer: Option<String>,
    /// The working directory of a local server.
    cwd: Option<String>,
    /// A description.
    description: Option<String>,
    /// The category of its tools.
    category: Option<String>,
    /// Whether its tools are offered; `true` by default.
    enabled: Option<bool>,
}

/// Adds a server and discovers it at once. A server that cannot be reached is kept, with its error.
#[utoipa::path(
    post,
    operation_id = "addServer",
    path = "/servers",
    tag = "servers",
    security(("admin" = [])),
    request_body = AddServerRequest,
    responses(
        (status = 201, description = "It was added; `discovery` says whether the discovery succeeded", body = ChangedServer),
        (status = 400, description = "The definition is invalid", body = ErrorBody),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
        (status = 403, description = "The admin token is required", body = ErrorBody),
        (status = 408, description = "The body did not arrive in time", body = ErrorBody),
        (status = 409, description = "A server of this name already exists", body = ErrorBody),
        (status = 413, description = "The body is too large", body = ErrorBody),
        (status = 415, description = "The body is not declared as JSON", body = ErrorBody),
    )
)]
pub(super) async fn add(
    admin: Admin,
    State(state): State<WebState>,
    Json(body): Json<AddServerRequest>,
) -> ApiResult<Created<ChangedServer>> {
    let server = validate(body)?;
    let name = server.name.clone();
    if state.hub().catalog().server(&name).is_some() {
        let message = format!("server `{name}` already exists");
        let error = ToolError::new(Reason::ConfigDuplicate, message)
            .at_server(&name)
            .at_field("name");
        let remedy = "Choose another name, or change the server with `PATCH`.";
        return Err(error.with_remedy(remedy).into());
    }
    let is_enabled = server.enabled;
    state.config_admin().add_server(server).await?;
    record_change(&state, &admin, &name, "added");
    let discovery = match is_enabled {
        true => Some(discover(&state, RefreshScope::One(name.clone()), true).await?),
        false => None,
    };
    let discovery = discovery.and_then(|found| found.into_iter().next());
    Ok(Created(change_response(&state, admin, &name, discovery)?))
}

fn validate(body: AddServerRequest) -> ApiResult<NewServer> {
    let name = ServerName::parse(&body.name).map_err(|bad| {
        let reason = match ServerName::is_reserved(&body.name) {
            true => Reason::ConfigNameReserved,
            false => Reason::ConfigName,
        };
        ToolError::new(reason, bad.to_string()).at_field("name")
    })?;
    let transport = match (body.command, body.url) {
        (Some(command), None) if !command.trim().is_empty() => NewTransport::Stdio {
            command,
            args: body.args,
        },
        (None, Some(url)) => NewTransport::Http { url },
        (Some(_), Some(_)) => {
            return Err(ApiError::at_field(
                "url",
                "a server has a `command` or a `url`, not both",
            ));
        }
        _ => {
            return Err(ApiError::at_field(
                "command",
                "a server needs a `command` or a `url`",
            ));
        }
    };
    Ok(NewServer {
        env: body.env.into_iter().collect(),
        headers: body.headers.into_iter().collect(),
        bearer: body.bearer,
        cwd: body.cwd,
        description: body.description,
        category: body.category,
        enabled: body.enabled.unwrap_or(true),
        ..NewServer::new(name, transport)
    })
}
