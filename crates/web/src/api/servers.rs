//! Servers: the list, one of them, how it is doing, and what it wrote.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::listed::limit;
use super::server_view::{Health, ListedServer, WholeServer};
use crate::answer::{Fresh, tagged};
use crate::fault::{Answered, ErrorBody};
use crate::input::{OfServer, Query, no_server};
use crate::role::Anybody;
use crate::state::WebState;

/// Lines of a log when nothing is said.
const USUAL_LINES: usize = 200;
/// Lines of a log at the most; more are not kept either.
const MOST_LINES: usize = 10_000;

/// Every configured server.
#[derive(Serialize, ToSchema)]
pub(super) struct Servers {
    /// The servers, sorted by name.
    servers: Vec<ListedServer>,
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
    _: Anybody,
    State(state): State<WebState>,
    headers: HeaderMap,
) -> Response {
    let catalog = state.hub().catalog();
    let servers = catalog
        .servers()
        .map(|entry| ListedServer::of(entry, &state));
    let servers = servers.collect();
    tagged(&headers, &Servers { servers })
}

/// Tells everything about one server. Nothing is started.
#[utoipa::path(
    get,
    operation_id = "getServer",
    path = "/servers/{name}",
    tag = "servers",
    params(("name" = String, Path, description = "The server")),
    responses(
        (status = 200, description = "The server", body = WholeServer),
        (status = 304, description = "Nothing changed since the answer with this `ETag`"),
        (status = 401, description = "The token is missing or wrong", body = ErrorBody),
        (status = 404, description = "No such server is configured", body = ErrorBody),
    )
)]
pub(super) async fn one(
    who: Anybody,
    State(state): State<WebState>,
    OfServer(name): OfServer,
    headers: HeaderMap,
) -> Answered<Response> {
    let catalog = state.hub().catalog();
    let entry = catalog
        .server(&name)
        .ok_or_else(|| no_server(name.as_str()))?;
    Ok(tagged(&headers, &WholeServer::of(entry, &state, &who)))
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
    _: Anybody,
    State(state): State<WebState>,
    OfServer(name): OfServer,
) -> Answered<Fresh<Health>> {
    let catalog = state.hub().catalog();
    let entry = catalog
        .server(&name)
        .ok_or_else(|| no_server(name.as_str()))?;
    Ok(Fresh(Health::of(state.hub().health_of(entry), entry)))
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
pub(super) struct Log {
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
        (status = 200, description = "The last lines", body = Log),
        (status = 400, description = "A value of the query is wrong", body = ErrorBody),
        (status = 401, description = "The token is missing or wrong", body = ErrorBody),
        (status = 404, description = "No such server is configured", body = ErrorBody),
        (status = 503, description = "The log could not be read", body = ErrorBody),
    )
)]
pub(super) async fn logs(
    _: Anybody,
    State(state): State<WebState>,
    OfServer(name): OfServer,
    Query(query): Query<LogQuery>,
) -> Answered<Fresh<Log>> {
    let most = limit(query.tail, USUAL_LINES, MOST_LINES).map_err(|_| {
        crate::fault::Fault::at_field("tail", format!("`tail` is not between 1 and {MOST_LINES}"))
    })?;
    let text = state.household().logs(&name).await?;
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(most);
    let lines = lines.get(from..).unwrap_or_default();
    Ok(Fresh(Log {
        server: name.to_string(),
        lines: lines.iter().map(|line| (*line).to_owned()).collect(),
    }))
}
