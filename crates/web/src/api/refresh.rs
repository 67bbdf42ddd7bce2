//! Refreshing servers.

use axum::extract::State;
use pegboard_catalog::Delta;
use pegboard_hub::{DiscoverySource, RefreshOutcome, RefreshScope};
use pegboard_model::ErrorSummary;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::server_view::ServerErrorView;
use crate::error::{ApiResult, ErrorBody};
use crate::extract::{OptionalJson, PathServer};
use crate::response::NoStore;
use crate::role::Authorized;
use crate::state::WebState;

/// Options of a refresh.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RefreshRequest {
    /// Whether to ask even if the list is fresh or the last attempt failed recently; `true` by default for one server.
    force: Option<bool>,
}

/// The result of a discovery.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct DiscoveryResult {
    /// The server.
    server: String,
    /// `success` or `failed`.
    status: &'static str,
    /// The number of tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<usize>,
    /// The changes: `added`, `removed`, `changed` and `unchanged`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    delta: Option<Delta>,
    /// Why it failed; the known tools stay in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ServerErrorView>,
    /// Why the list was not stored; it is lost when Pegboard exits.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_stored: Option<ServerErrorView>,
    /// `discovered`, `shared` with another process, or `fresh` if no request was needed.
    #[schema(value_type = String, example = "discovered")]
    source: DiscoverySource,
    /// The duration.
    duration_ms: u64,
}

/// The results of a refresh.
#[derive(Serialize, ToSchema)]
pub(super) struct RefreshResponse {
    /// The results by server, sorted by name.
    servers: Vec<DiscoveryResult>,
}

impl DiscoveryResult {
    fn of(outcome: &RefreshOutcome) -> Self {
        let result = outcome.result.as_ref();
        Self {
            server: outcome.server.to_string(),
            status: match &result {
                Ok(_) => "success",
                Err(_) => "failed",
            },
            tools: result.ok().map(|refreshed| refreshed.tools),
            delta: result.ok().map(|refreshed| refreshed.delta.clone()),
            error: result
                .err()
                .map(|error| ServerErrorView::of(&ErrorSummary::from(error))),
            not_stored: outcome
                .not_stored
                .as_ref()
                .map(|error| ServerErrorView::of(&ErrorSummary::from(error))),
            source: outcome.source,
            duration_ms: outcome.duration_ms,
        }
    }
}

/// Refreshes servers; a failure is reported in the result of its server.
pub(super) async fn discover(
    state: &WebState,
    which: RefreshScope,
    force: bool,
) -> ApiResult<Vec<DiscoveryResult>> {
    let outcomes = state.hub().refresh(which, force).await?;
    Ok(outcomes.iter().map(DiscoveryResult::of).collect())
}

/// Refreshes one server, starting it if necessary, and returns what changed.
#[utoipa::path(
    post,
    operation_id = "refreshServer",
    path = "/servers/{name}/refresh",
    tag = "servers",
    params(("name" = String, Path, description = "The server")),
    request_body = Option<RefreshRequest>,
    responses(
        (status = 200, description = "The result; `status` says whether it succeeded", body = DiscoveryResult),
        (status = 400, description = "The request is invalid", body = ErrorBody),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
        (status = 403, description = "The server is disabled or not trusted", body = ErrorBody),
        (status = 404, description = "No such server is configured", body = ErrorBody),
        (status = 408, description = "The body did not arrive in time", body = ErrorBody),
        (status = 413, description = "The body is too large", body = ErrorBody),
        (status = 415, description = "The body is not declared as JSON", body = ErrorBody),
        (status = 503, description = "Pegboard is stopping", body = ErrorBody),
    )
)]
pub(super) async fn one(
    _: Authorized,
    State(state): State<WebState>,
    PathServer(name): PathServer,
    OptionalJson(request): OptionalJson<RefreshRequest>,
) -> ApiResult<NoStore<DiscoveryResult>> {
    let force = request.force.unwrap_or(true);
    let results = discover(&state, RefreshScope::One(name.clone()), force).await?;
    let result = results.into_iter().next();
    result
        .map(NoStore)
        .ok_or_else(|| crate::extract::unknown_server(name.as_str()))
}

/// Refreshes all enabled servers concurrently, and returns what changed.
#[utoipa::path(
    post,
    operation_id = "refreshServers",
    path = "/refresh",
    tag = "servers",
    request_body = Option<RefreshRequest>,
    responses(
        (status = 200, description = "The result of each server", body = RefreshResponse),
        (status = 400, description = "The request is invalid", body = ErrorBody),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
        (status = 408, description = "The body did not arrive in time", body = ErrorBody),
        (status = 413, description = "The body is too large", body = ErrorBody),
        (status = 415, description = "The body is not declared as JSON", body = ErrorBody),
        (status = 503, description = "Pegboard is stopping", body = ErrorBody),
    )
)]
pub(super) async fn all(
    _: Authorized,
    State(state): State<WebState>,
    OptionalJson(request): OptionalJson<RefreshRequest>,
) -> ApiResult<NoStore<RefreshResponse>> {
    let force = request.force.unwrap_or(false);
    let servers = discover(&state, RefreshScope::All, force).await?;
    Ok(NoStore(RefreshResponse { servers }))
}
