//! Changing servers: what gets started is changed here and nowhere else, by whoever holds the admin token.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::StatusCode;
use pegboard_config::{command_line, shown_command_line};
use pegboard_hub::Which;
use pegboard_model::{Activity, ActivityKind, Reason, ServerName, ToolError};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::refresh::{Discovery, discover};
use super::server_view::WholeServer;
use crate::answer::{Fresh, Made};
use crate::fault::{Answered, ErrorBody, Fault};
use crate::household::{NewServer, NewTransport};
use crate::input::{Json, OfServer, no_server};
use crate::role::{Admin, Anybody};
use crate::state::WebState;

/// Keys of a server that can be changed; the others belong to whoever edits the file.
const KEYS: &[&str] = &[
    "args",
    "bearer",
    "call_timeout",
    "category",
    "command",
    "connect_timeout",
    "cwd",
    "description",
    "discovery_timeout",
    "enabled",
    "env",
    "headers",
    "idle_timeout",
    "max_age",
    "policy",
    "ttl",
    "url",
];

/// Characters of a command that the activity log keeps.
const COMMAND_CHARACTERS: usize = 1_000;

/// A server to be added: `command` for a local program, or `url` for an address.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ServerToAdd {
    /// Its name, in `snake_case`.
    #[schema(example = "github")]
    name: String,
    /// The program to start.
    command: Option<String>,
    /// Its arguments; no shell is between.
    #[serde(default)]
    args: Vec<String>,
    /// The address of a remote server.
    url: Option<String>,
    /// Variables of a local server; values may be `${NAME}` or `${secret:NAME}`.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// Headers of a remote server.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// The token of a remote server.
    bearer: Option<String>,
    /// The folder that a local server runs in.
    cwd: Option<String>,
    /// What it is for.
    description: Option<String>,
    /// The category of its tools.
    category: Option<String>,
    /// Whether its tools are offered; yes when left out.
    enabled: Option<bool>,
}

/// A server after a change, and what asking it for its tools gave.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ChangedServer {
    /// The exact command or address that is used from now on.
    command: String,
    /// The server.
    server: WholeServer,
    /// How its discovery went, when it was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    discovery: Option<Discovery>,
}

/// Adds a server and asks it for its tools at once. A server that cannot be reached is kept, with its error.
#[utoipa::path(
    post,
    operation_id = "addServer",
    path = "/servers",
    tag = "servers",
    security(("admin" = [])),
    request_body = ServerToAdd,
    responses(
        (status = 201, description = "It was added; `discovery` says whether it answered", body = ChangedServer),
        (status = 400, description = "The definition is wrong", body = ErrorBody),
        (status = 401, description = "The token is missing or wrong", body = ErrorBody),
        (status = 403, description = "The admin token is needed", body = ErrorBody),
        (status = 408, description = "The body did not come in time", body = ErrorBody),
        (status = 409, description = "There is a server of this name already", body = ErrorBody),
        (status = 413, description = "The body is too large", body = ErrorBody),
        (status = 415, description = "The body is not declared as JSON", body = ErrorBody),
    )
)]
pub(super) async fn add(
    admin: Admin,
    State(state): State<WebState>,
    Json(body): Json<ServerToAdd>,
) -> Answered<Made<ChangedServer>> {
    let server = checked(body)?;
    let name = server.name.clone();
    if state.hub().catalog().server(&name).is_some() {
        let message = format!("there is a server `{name}` already");
        let error = ToolError::new(Reason::ConfigDuplicate, message)
            .at_server(&name)
            .at_field("name");
        let remedy = "Choose another name, or change the server with `PATCH`.";
        return Err(error.with_remedy(remedy).into());
    }
    let is_enabled = server.enabled;
    state.household().add_server(server).await?;
    note(&state, &admin, &name, "added");
    let discovery = match is_enabled {
        true => Some(discover(&state, Which::One(name.clone()), true).await?),
        false => None,
    };
    let discovery = discovery.and_then(|found| found.into_iter().next());
    Ok(Made(changed(&state, admin, &name, discovery)?))
}

fn checked(body: ServerToAdd) -> Answered<NewServer> {
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
            return Err(Fault::at_field(
                "url",
                "a server has a `command` or a `url`, not both",
            ));
        }
        _ => {
            return Err(Fault::at_field(
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
    OfServer(name): OfServer,
    Json(changes): Json<Map<String, Value>>,
) -> Answered<Fresh<ChangedServer>> {
    if let Some(key) = changes.keys().find(|key| !KEYS.contains(&key.as_str())) {
        let message = format!(
            "this key cannot be changed here; those that can are `{}`",
            KEYS.join("`, `")
        );
        return Err(Fault::at_field(key, message));
    }
    let hash = |state: &WebState| {
        state
            .hub()
            .catalog()
            .server(&name)
            .map(|entry| entry.spec.hash)
    };
    let before = hash(&state);
    state.household().change_server(&name, changes).await?;
    note(&state, &admin, &name, "changed");
    let discovery = match hash(&state) == before {
        true => None,
        false => discover(&state, Which::One(name.clone()), true)
            .await?
            .into_iter()
            .next(),
    };
    Ok(Fresh(changed(&state, admin, &name, discovery)?))
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
    OfServer(name): OfServer,
) -> Answered<StatusCode> {
    state.household().remove_server(&name).await?;
    note(&state, &admin, &name, "removed");
    Ok(StatusCode::NO_CONTENT)
}

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
    OfServer(name): OfServer,
) -> Answered<Fresh<ChangedServer>> {
    switch(admin, &state, &name, true).await
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
    OfServer(name): OfServer,
) -> Answered<Fresh<ChangedServer>> {
    switch(admin, &state, &name, false).await
}

async fn switch(
    admin: Admin,
    state: &WebState,
    name: &ServerName,
    enabled: bool,
) -> Answered<Fresh<ChangedServer>> {
    state.household().enable_server(name, enabled).await?;
    note(
        state,
        &admin,
        name,
        if enabled { "enabled" } else { "disabled" },
    );
    Ok(Fresh(changed(state, admin, name, None)?))
}

/// The definition that somebody looked at and agrees to.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Agreement {
    /// `definitionHash` of the server, as it was shown with the exact command.
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
    request_body = Agreement,
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
    OfServer(name): OfServer,
    Json(agreement): Json<Agreement>,
) -> Answered<Fresh<ChangedServer>> {
    state
        .household()
        .trust_server(&name, &agreement.definition_hash)
        .await?;
    note(&state, &admin, &name, "trusted");
    let discovery = discover(&state, Which::One(name.clone()), false).await?;
    Ok(Fresh(changed(
        &state,
        admin,
        &name,
        discovery.into_iter().next(),
    )?))
}

fn changed(
    state: &WebState,
    admin: Admin,
    name: &ServerName,
    discovery: Option<Discovery>,
) -> Answered<ChangedServer> {
    let catalog = state.hub().catalog();
    let entry = catalog
        .server(name)
        .ok_or_else(|| no_server(name.as_str()))?;
    Ok(ChangedServer {
        command: command_line(&entry.spec.transport),
        server: WholeServer::of(entry, state, &Anybody(admin.0)),
        discovery,
    })
}

/// Writes down who changed what gets started, with the command as everybody may see it: the exact one is in the
/// answer, for whoever may administer.
fn note(state: &WebState, admin: &Admin, name: &ServerName, what: &str) {
    let catalog = state.hub().catalog();
    let entry = catalog.server(name);
    let command = entry.map(|entry| shown_command_line(&entry.spec.transport));
    state.hub().record_activity(Activity {
        session: Some(admin.word().to_owned()),
        server: Some(name.clone()),
        tool: command.map(|command| command.chars().take(COMMAND_CHARACTERS).collect()),
        ..Activity::new(state.clock().now(), ActivityKind::Config, what)
    });
}
