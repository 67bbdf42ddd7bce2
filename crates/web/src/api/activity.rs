//! What was done.

use axum::extract::State;
use pegboard_model::Activity;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::tool_list::limit;
use crate::error::{ApiResult, ErrorBody};
use crate::extract::Query;
use crate::response::NoStoreJson;
use crate::role::Authorized;
use crate::state::WebState;

/// Lines when nothing is said.
const DEFAULT_LINES: usize = 100;
/// Lines at the most.
const MAX_LINES: usize = 1_000;

/// Which lines are wanted.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ActivityQuery {
    /// How many lines at the most; 100 when left out.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// `next` of the page before.
    before: Option<u64>,
}

/// A page of what was done.
#[derive(Serialize, ToSchema)]
pub(super) struct ActivityPage {
    /// The lines, the newest first.
    activity: Vec<ActivityEntry>,
    /// What gives the next page as `before`, when there may be one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<u64>,
}

/// One thing that was done: names, codes and times, never arguments or results.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ActivityEntry {
    /// Its place in the log.
    id: u64,
    /// When it ended, in milliseconds since 1970.
    at: u64,
    /// `call`, `request`, `discovery`, `approval` or `config`.
    kind: &'static str,
    /// The session that wanted it.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// The tool, the method of a request, or what of the configuration changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    /// The server.
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    /// `ok`, an error code, or a word such as `added`.
    outcome: String,
    /// How long it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
    /// The trace that it belongs to.
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
            tool: line.tool,
            server: line.server.map(|server| server.to_string()),
            outcome: line.outcome.into_owned(),
            duration_ms: line.duration_ms,
            trace: line.trace.map(|trace| trace.to_string()),
        }
    }
}

/// Lists what was done: calls, discoveries, answers of people, changes of the configuration.
#[utoipa::path(
    get,
    operation_id = "listActivity",
    path = "/activity",
    tag = "state",
    params(ActivityQuery),
    responses(
        (status = 200, description = "A page of what was done", body = ActivityPage),
        (status = 400, description = "A value of the query is wrong", body = ErrorBody),
        (status = 401, description = "The token is missing or wrong", body = ErrorBody),
        (status = 503, description = "The store could not be read", body = ErrorBody),
    )
)]
pub(super) async fn list(
    _: Authorized,
    State(state): State<WebState>,
    Query(query): Query<ActivityQuery>,
) -> ApiResult<NoStoreJson<ActivityPage>> {
    let most = limit(query.limit, DEFAULT_LINES, MAX_LINES)?;
    let lines = state.hub().activity(most, query.before).await?;
    let is_full = lines.len() == most;
    let activity: Vec<ActivityEntry> = lines.into_iter().map(ActivityEntry::from).collect();
    let next = activity.last().filter(|_| is_full).map(|line| line.id);
    Ok(NoStoreJson(ActivityPage { activity, next }))
}
