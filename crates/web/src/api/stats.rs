//! Counts: the catalog, the cache, and what tools cost a model with and without Pegboard.

use axum::extract::State;
use pegboard_catalog::{CacheStatistics, Statistics};
use pegboard_gateway::fixed_surface;
use pegboard_guard::estimate_tokens;
use serde::Serialize;
use utoipa::ToSchema;

use crate::error::ErrorBody;
use crate::response::NoStoreJson;
use crate::role::Authorized;
use crate::state::WebState;

/// Counts.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Stats {
    /// The program's version.
    version: String,
    /// What the catalog holds: servers by how they stand, tools, tokens.
    #[schema(value_type = Object)]
    catalog: Statistics,
    /// How the catalog does as a cache: hits, misses, and the age of each server's list.
    #[schema(value_type = Object)]
    cache: CacheStatistics,
    /// What tools cost a model.
    tokens: TokenCosts,
    /// Sessions that are connected.
    sessions: usize,
    /// Lines of activity that were lost because they came faster than they could be written.
    activity_dropped: u64,
}

/// What tools cost a model before it does anything, about.
#[derive(Serialize, ToSchema)]
pub(super) struct TokenCosts {
    /// When every definition stands in the prompt.
    without: u64,
    /// With Pegboard's few tools in their place.
    with: u64,
}

/// Gives counts.
#[utoipa::path(
    get,
    operation_id = "getStats",
    path = "/stats",
    tag = "state",
    responses(
        (status = 200, description = "Counts", body = Stats),
        (status = 401, description = "The token is missing or wrong", body = ErrorBody),
    )
)]
pub(super) async fn show(_: Authorized, State(state): State<WebState>) -> NoStoreJson<Stats> {
    let hub = state.hub();
    let catalog = hub.catalog().statistics();
    NoStoreJson(Stats {
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
