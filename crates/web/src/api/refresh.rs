//! Asking servers for their tools, now.

use axum::extract::State;
use pegboard_catalog::Delta;
use pegboard_hub::{DiscoverySource, RefreshOutcome, RefreshScope};
use pegboard_model::ErrorSummary;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::server_view::ServerErrorView;
use crate::error::{ApiResult, ErrorBody};
use crate::extract::{OptionalJson, PathServer};
use crate::response::NoStoreJson;
use crate::role::Authorized;
use crate::state::WebState;

/// How a server is asked.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RefreshRequest {
    /// Whether it is asked although its list is fresh, or although it failed a moment ago; yes when left out.
    force: Option<bool>,
}

/// What asking a server for its tools gave.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct DiscoveryResult {
    /// The server.
    server: String,
    /// `success` or `failed`.
    status: &'static str,
    /// How many tools it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<usize>,
    /// What is different from before: `added`, `removed`, `changed` and `unchanged`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    delta: Option<Delta>,
    /// Why it failed; the tools known before stay in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ServerErrorView>,
    /// Why the list was not stored, so that it is lost when Pegboard ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_stored: Option<ServerErrorView>,
    /// `asked`, `shared` with another process, or `fresh` when nobody had to be asked.
    #[schema(value_type = String, example = "asked")]
    source: DiscoverySource,
    /// How long it took.
    duration_ms: u64,
}

/// What asking servers gave.
#[derive(Serialize, ToSchema)]
pub(super) struct RefreshResponse {
    /// Each server that was asked, sorted by name.
    servers: Vec<DiscoveryResult>,
}

impl DiscoveryResult {
    fn of(outcome: &RefreshOutcome) -> Self {
        let done = outcome.result.as_ref();
        Self {
            server: outcome.server.to_string(),
            status: match &done {
                Ok(_) => "success",
                Err(_) => "failed",
            },
            tools: done.ok().map(|done| done.tools),
            delta: done.ok().map(|done| done.delta.clone()),
            error: done
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

/// Asks servers for their tools; each failure is told with its server.
pub(super) async fn discover(
    state: &WebState,
    which: RefreshScope,
    force: bool,
) -> ApiResult<Vec<DiscoveryResult>> {
    let outcomes = state.hub().refresh(which, force).await?;
    Ok(outcomes.iter().map(DiscoveryResult::of).collect())
}

/// Asks one server for its tools, starting it if it has to be, and tells what changed.
#[utoipa::path(
    post,
    operation_id = "refreshServer",
    path = "/servers/{name}/refresh",
    tag = "servers",
    params(("name" = String, Path, description = "The server")),
    request_body = Option<RefreshRequest>,
    responses(
        (status = 200, description = "It was asked; `status` says whether it answered", body = DiscoveryResult),
        (status = 400, description = "The request is wrong", body = ErrorBody),
        (status = 401, description = "The token is missing or wrong", body = ErrorBody),
        (status = 403, description = "The server is disabled, or nobody agreed to it yet", body = ErrorBody),
        (status = 404, description = "No such server is configured", body = ErrorBody),
        (status = 408, description = "The body did not come in time", body = ErrorBody),
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
) -> ApiResult<NoStoreJson<DiscoveryResult>> {
    let force = request.force.unwrap_or(true);
    let found = discover(&state, RefreshScope::One(name.clone()), force).await?;
    let found = found.into_iter().next();
    found
        .map(NoStoreJson)
        .ok_or_else(|| crate::extract::unknown_server(name.as_str()))
}

/// Asks every enabled server for its tools, side by side, and tells what changed.
#[utoipa::path(
    post,
    operation_id = "refreshServers",
    path = "/refresh",
    tag = "servers",
    request_body = Option<RefreshRequest>,
    responses(
        (status = 200, description = "What each server answered", body = RefreshResponse),
        (status = 400, description = "The request is wrong", body = ErrorBody),
        (status = 401, description = "The token is missing or wrong", body = ErrorBody),
        (status = 408, description = "The body did not come in time", body = ErrorBody),
        (status = 413, description = "The body is too large", body = ErrorBody),
        (status = 415, description = "The body is not declared as JSON", body = ErrorBody),
        (status = 503, description = "Pegboard is stopping", body = ErrorBody),
    )
)]
pub(super) async fn all(
    _: Authorized,
    State(state): State<WebState>,
    OptionalJson(request): OptionalJson<RefreshRequest>,
) -> ApiResult<NoStoreJson<RefreshResponse>> {
    let force = request.force.unwrap_or(false);
    let servers = discover(&state, RefreshScope::All, force).await?;
    Ok(NoStoreJson(RefreshResponse { servers }))
}
