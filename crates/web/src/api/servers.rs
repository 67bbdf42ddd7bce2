//! Servers: the list, one of them, how it is doing, and what it wrote.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::server_view::{Health, ServerDetails, ServerSummary};
use super::tool_list::limit;
use crate::error::{ApiResult, ErrorBody};
use crate::extract::{PathServer, Query, unknown_server};
use crate::response::{NoStoreJson, json_with_etag};
use crate::role::Authorized;
use crate::state::WebState;

/// Lines of a log when nothing is said.
const DEFAULT_LINES: usize = 200;
/// Lines of a log at the most; more are not kept either.
const MAX_LINES: usize = 10_000;

/// Every configured server.
#[derive(Serialize, ToSchema)]
pub(super) struct Servers {
    /// The servers, sorted by name.
    servers: Vec<ServerSummary>,
}

/// Lists servers with their health. Nothing is started.
#[utoipa::path(
    get,
    operation_id = "listServers",
    path = "/servers",
    tag = "servers",
    responses(
        (status = 200, description = "Every configured server", body = Servers),
        (status = 304, description = "Nothing changed since the answer with this `ETag`"),
        (status = 401, description = "The token is missing or wrong", body = ErrorBody),
    )
)]
pub(super) async fn list(
    _: Authorized,
    State(state): State<WebState>,
    headers: HeaderMap,
) -> Response {
    let catalog = state.hub().catalog();
    let servers = catalog
        .servers()
        .map(|entry| ServerSummary::of(entry, &state));
    let servers = servers.collect();
    json_with_etag(&headers, &Servers { servers })
}

/// Tells everything about one server. Nothing is started.
#[utoipa::path(
    get,
    operation_id = "getServer",
    path = "/servers/{name}",
    tag = "servers",
    params(("name" = String, Path, description = "The server")),
    responses(
        (status = 200, description = "The server", body = ServerDetails),
        (status = 304, description = "Nothing changed since the answer with this `ETag`"),
        (status = 401, description = "The token is missing or wrong", body = ErrorBody),
        (status = 404, description = "No such server is configured", body = ErrorBody),
    )
)]
pub(super) async fn one(
    who: Authorized,
    State(state): State<WebState>,
    PathServer(name): PathServer,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let catalog = state.hub().catalog();
    let entry = catalog
        .server(&name)
        .ok_or_else(|| unknown_server(name.as_str()))?;
    Ok(json_with_etag(
        &headers,
        &ServerDetails::of(entry, &state, &who),
    ))
}

/// Tells how one server is doing. Nothing is started or asked.
#[utoipa::path(
    get,
    operation_id = "getServerHealth",
    path = "/servers/{name}/health",
    tag = "servers",
    params(("name" = String, Path, description = "The server")),
    responses(
        (status = 200, description = "Its health", body = Health),
        (status = 401, description = "The token is missing or wrong", body = ErrorBody),
        (status = 404, description = "No such server is configured", body = ErrorBody),
    )
)]
pub(super) async fn health(
    _: Authorized,
    State(state): State<WebState>,
    PathServer(name): PathServer,
) -> ApiResult<NoStoreJson<Health>> {
    let catalog = state.hub().catalog();
    let entry = catalog
        .server(&name)
        .ok_or_else(|| unknown_server(name.as_str()))?;
    Ok(NoStoreJson(Health::of(state.hub().health_of(entry), entry)))
}

/// Which lines are wanted.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct LogQuery {
    /// How many lines at the most, the last ones; 200 when left out.
    #[param(minimum = 1, maximum = 10000)]
    tail: Option<usize>,
}

/// What a server wrote.
#[derive(Serialize, ToSchema)]
pub(super) struct ServerLog {
    /// The server.
    server: String,
    /// The lines, the oldest first; foreign text.
    lines: Vec<String>,
}

/// Gives the end of what a server wrote to its standard error.
#[utoipa::path(
    get,
    operation_id = "getServerLogs",
    path = "/servers/{name}/logs",
    tag = "servers",
    params(("name" = String, Path, description = "The server"), LogQuery),
    responses(
        (status = 200, description = "The last lines", body = ServerLog),
        (status = 400, description = "A value of the query is wrong", body = ErrorBody),
        (status = 401, description = "The token is missing or wrong", body = ErrorBody),
        (status = 404, description = "No such server is configured", body = ErrorBody),
        (status = 503, description = "The log could not be read", body = ErrorBody),
    )
)]
pub(super) async fn logs(
    _: Authorized,
    State(state): State<WebState>,
    PathServer(name): PathServer,
    Query(query): Query<LogQuery>,
) -> ApiResult<NoStoreJson<ServerLog>> {
    let most = limit(query.tail, DEFAULT_LINES, MAX_LINES).map_err(|_| {
        crate::error::ApiError::at_field("tail", format!("`tail` is not between 1 and {MAX_LINES}"))
    })?;
    let text = state.config_admin().logs(&name).await?;
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(most);
    let lines = lines.get(from..).unwrap_or_default();
    Ok(NoStoreJson(ServerLog {
        server: name.to_string(),
        lines: lines.iter().map(|line| (*line).to_owned()).collect(),
    }))
}
