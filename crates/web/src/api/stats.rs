//! Statistics: the catalog, the cache, and the tokens with and without Pegboard.

use axum::extract::State;
use pegboard_catalog::{CacheStatistics, Statistics};
use pegboard_gateway::fixed_surface;
use pegboard_guard::estimate_tokens;
use serde::Serialize;
use utoipa::ToSchema;

use crate::error::ErrorBody;
use crate::response::NoStore;
use crate::role::Authorized;
use crate::state::WebState;

/// Statistics.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Stats {
    /// The program's version.
    version: String,
    /// The catalog: servers by state, tools, tokens.
    #[schema(value_type = Object)]
    catalog: Statistics,
    /// The catalog as a cache: hits, misses, and the age of each server's list.
    #[schema(value_type = Object)]
    cache: CacheStatistics,
    /// The tokens that tools cost a model.
    tokens: TokenCosts,
    /// The number of connected sessions.
    sessions: usize,
    /// Activity entries that were dropped because they could not be written fast enough.
    activity_dropped: u64,
}

/// Estimated tokens of the tools in a model's prompt.
#[derive(Serialize, ToSchema)]
pub(super) struct TokenCosts {
    /// With every definition in the prompt.
    without: u64,
    /// With Pegboard's meta tools instead.
    with: u64,
}

/// Returns statistics.
#[utoipa::path(
    get,
    operation_id = "getStats",
    path = "/stats",
    tag = "state",
    responses(
        (status = 200, description = "Statistics", body = Stats),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
    )
)]
pub(super) async fn show(_: Authorized, State(state): State<WebState>) -> NoStore<Stats> {
    let hub = state.hub();
    let catalog = hub.catalog().statistics();
    NoStore(Stats {
        version: state.version().to_owned(),
        tokens: TokenCosts {
            without: catalog.tokens,
            with: u64::from(estimate_tokens(&fixed_surface())),
        },
        catalog,
        cache: hub.stats(),
        sessions: hub.sessions().len(),
        activity_dropped: hub.activity_dropped(),
    })
}
