//! The activity log.

use axum::extract::State;
use pegboard_model::Activity;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::tool_list::limit;
use crate::error::{ApiResult, ErrorBody};
use crate::extract::Query;
use crate::response::NoStore;
use crate::role::Authorized;
use crate::state::WebState;

/// Default number of entries.
const DEFAULT_LINES: usize = 100;
/// Largest number of entries in a page.
const MAX_LINES: usize = 1_000;

/// Selects entries of the log.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ActivityQuery {
    /// Maximum number of entries; 100 by default.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// `next` of the previous page.
    before: Option<u64>,
}

/// A page of the activity log.
#[derive(Serialize, ToSchema)]
pub(super) struct ActivityPage {
    /// The entries, newest first.
    activity: Vec<ActivityEntry>,
    /// The value of `before` for the next page, if there may be one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<u64>,
}

/// One entry: names, codes and times, never arguments or results.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ActivityEntry {
    /// The position in the log.
    id: u64,
    /// When it ended, in milliseconds since 1970.
    at: u64,
    /// `call`, `request`, `discovery`, `approval` or `config`.
    kind: &'static str,
    /// The session that caused it.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// The client's own name and version (untrusted text), or `cli`, `dashboard`, `api` or `agent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<String>,
    /// The tool, the method of a request, or the changed part of the configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    /// The server.
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    /// `ok`, an error code, or a state such as `added`.
    outcome: String,
    /// The duration.
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
    /// The trace id.
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<String>,
}

impl From<Activity> for ActivityEntry {
    fn from(line: Activity) -> Self {
        Self {
            id: line.id,
            at: line.at.0,
            kind: line.kind.as_str(),
            session: line.session,
            client: line.client,
            tool: line.tool,
            server: line.server.map(|server| server.to_string()),
            outcome: line.outcome.into_owned(),
            duration_ms: line.duration_ms,
            trace: line.trace.map(|trace| trace.to_string()),
        }
    }
}

/// Lists the activity: calls, discoveries, decisions and configuration changes.
#[utoipa::path(
    get,
    operation_id = "listActivity",
    path = "/activity",
    tag = "state",
    params(ActivityQuery),
    responses(
        (status = 200, description = "A page of the activity log", body = ActivityPage),
        (status = 400, description = "A query parameter is invalid", body = ErrorBody),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
        (status = 503, description = "The store could not be read", body = ErrorBody),
    )
)]
pub(super) async fn list(
    _: Authorized,
    State(state): State<WebState>,
    Query(query): Query<ActivityQuery>,
) -> ApiResult<NoStore<ActivityPage>> {
    let most = limit(query.limit, DEFAULT_LINES, MAX_LINES)?;
    let lines = state.hub().activity(most, query.before).await?;
    let is_full = lines.len() == most;
    let activity: Vec<ActivityEntry> = lines.into_iter().map(ActivityEntry::from).collect();
    let next = activity.last().filter(|_| is_full).map(|line| line.id);
    Ok(NoStore(ActivityPage { activity, next }))
}
