//! Servers: list, details, health and logs.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::server_view::{Health, ServerDetails, ServerSummary};
use super::tool_list::limit;
use crate::error::{ApiResult, ErrorBody};
use crate::extract::{PathServer, Query, unknown_server};
use crate::response::{NoStore, with_etag};
use crate::role::Authorized;
use crate::state::WebState;

/// Default number of log lines.
const DEFAULT_LINES: usize = 200;
/// Largest number of log lines; logs are not longer.
const MAX_LINES: usize = 10_000;

/// The configured servers.
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
        (status = 200, description = "The configured servers", body = Servers),
        (status = 304, description = "Unchanged since the response with this `ETag`"),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
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
    with_etag(&headers, &Servers { servers })
}

/// Returns all details of one server. Nothing is started.
#[utoipa::path(
    get,
    operation_id = "getServer",
    path = "/servers/{name}",
    tag = "servers",
    params(("name" = String, Path, description = "The server")),
    responses(
        (status = 200, description = "The server", body = ServerDetails),
        (status = 304, description = "Unchanged since the response with this `ETag`"),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
        (status = 404, description = "No such server is configured", body = ErrorBody),
    )
)]
pub(super) async fn one(
    client: Authorized,
    State(state): State<WebState>,
    PathServer(name): PathServer,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let catalog = state.hub().catalog();
    let entry = catalog
        .server(&name)
        .ok_or_else(|| unknown_server(name.as_str()))?;
    Ok(with_etag(
        &headers,
        &ServerDetails::of(entry, &state, &client),
    ))
}

/// Returns the health of one server. No server is started or contacted.
#[utoipa::path(
    get,
    operation_id = "getServerHealth",
    path = "/servers/{name}/health",
    tag = "servers",
    params(("name" = String, Path, description = "The server")),
    responses(
        (status = 200, description = "Its health", body = Health),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
        (status = 404, description = "No such server is configured", body = ErrorBody),
    )
)]
pub(super) async fn health(
    _: Authorized,
    State(state): State<WebState>,
    PathServer(name): PathServer,
) -> ApiResult<NoStore<Health>> {
    let catalog = state.hub().catalog();
    let entry = catalog
        .server(&name)
        .ok_or_else(|| unknown_server(name.as_str()))?;
    Ok(NoStore(Health::of(state.hub().health_of(entry), entry)))
}

/// Selects log lines.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct LogQuery {
    /// Maximum number of last lines; 200 by default.
    #[param(minimum = 1, maximum = 10000)]
    tail: Option<usize>,
}

/// The log of a server.
#[derive(Serialize, ToSchema)]
pub(super) struct ServerLog {
    /// The server.
    server: String,
    /// The lines, oldest first; untrusted text.
    lines: Vec<String>,
}

/// Returns the end of a server's standard error.
#[utoipa::path(
    get,
    operation_id = "getServerLogs",
    path = "/servers/{name}/logs",
    tag = "servers",
    params(("name" = String, Path, description = "The server"), LogQuery),
    responses(
        (status = 200, description = "The last lines", body = ServerLog),
        (status = 400, description = "A query parameter is invalid", body = ErrorBody),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
        (status = 404, description = "No such server is configured", body = ErrorBody),
        (status = 503, description = "The log could not be read", body = ErrorBody),
    )
)]
pub(super) async fn logs(
    _: Authorized,
    State(state): State<WebState>,
    PathServer(name): PathServer,
    Query(query): Query<LogQuery>,
) -> ApiResult<NoStore<ServerLog>> {
    let max = limit(query.tail, DEFAULT_LINES, MAX_LINES).map_err(|_| {
        crate::error::ApiError::at_field(
            "tail",
            format!("`tail` must be between 1 and {MAX_LINES}"),
        )
    })?;
    let text = state.config_admin().logs(&name).await?;
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(max);
    let lines = lines.get(from..).unwrap_or_default();
    Ok(NoStore(ServerLog {
        server: name.to_string(),
        lines: lines.iter().map(|line| (*line).to_owned()).collect(),
    }))
}
