//! Discovery of servers without a stored list.

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::error::ErrorBody;
use crate::response::NoStore;
use crate::role::Authorized;
use crate::state::WebState;

/// The result of a discovery.
#[derive(Serialize, ToSchema)]
pub(super) struct DiscoverResponse {
    /// Servers that are still being discovered; their tools are missing until then.
    discovering: Vec<String>,
}

/// Discovers the servers that were never tried, and waits for at most `answer_deadline`. Known servers are not started.
#[utoipa::path(
    post,
    operation_id = "discoverServers",
    path = "/discover",
    tag = "servers",
    responses(
        (status = 200, description = "The servers that did not respond in time", body = DiscoverResponse),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
    )
)]
pub(super) async fn run(_: Authorized, State(state): State<WebState>) -> NoStore<DiscoverResponse> {
    let pending = state.hub().ensure_known().await;
    state.hub().refresh_stale_in_background();
    let discovering = pending.discovering.iter();
    NoStore(DiscoverResponse {
        discovering: discovering.map(ToString::to_string).collect(),
    })
}
