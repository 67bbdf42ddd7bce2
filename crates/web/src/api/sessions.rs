//! Sessions: who is connected, and the tools that each really has.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use pegboard_catalog::ToolView;
use pegboard_gateway::Mode;
use pegboard_hub::SessionInfo;
use pegboard_model::{Reason, UntrustedText};
use serde::Serialize;
use utoipa::ToSchema;

use super::configuration_view::{AvailableTool, ConfigurationView};
use super::tool_list::{PageQuery, ToolSummary};
use crate::error::{ApiError, ApiResult, ErrorBody};
use crate::extract::{PathParam, Query};
use crate::response::{NoStoreJson, json_with_etag};
use crate::role::Authorized;
use crate::state::WebState;

/// Who is connected.
#[derive(Serialize, ToSchema)]
pub(super) struct Sessions {
    /// The sessions, the newest first.
    sessions: Vec<Session>,
}

/// A connected client or embedding program.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Session {
    /// Its id, as in the activity.
    id: String,
    /// How it reaches Pegboard: `stdio`, `http-legacy`, `http-modern` or `embedder`.
    face: &'static str,
    /// What the client calls itself; foreign text.
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<String>,
    /// The profile that it uses; left out for the one without a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<String>,
    /// When it began, in milliseconds since 1970.
    since: u64,
    /// When it last asked for something.
    last_seen: u64,
    /// How many tools it called.
    calls: u64,
}

impl From<&SessionInfo> for Session {
    fn from(info: &SessionInfo) -> Self {
        let profile = Some(&info.profile).filter(|profile| !profile.is_empty());
        Self {
            id: info.id.0.clone(),
            face: info.face.as_str(),
            client: info.client.as_deref().map(str::to_owned),
            profile: profile.cloned(),
            since: info.since.0,
            last_seen: info.last_seen.0,
            calls: info.calls,
        }
    }
}

/// Lists who is connected to this Pegboard.
#[utoipa::path(
    get,
    operation_id = "listSessions",
    path = "/sessions",
    tag = "sessions",
    responses(
        (status = 200, description = "Who is connected", body = Sessions),
        (status = 401, description = "The token is missing or wrong", body = ErrorBody),
    )
)]
pub(super) async fn list(_: Authorized, State(state): State<WebState>) -> NoStoreJson<Sessions> {
    let sessions = state.hub().sessions();
    let sessions = sessions.iter().map(Session::from).collect();
    NoStoreJson(Sessions { sessions })
}

/// What a session really has.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SessionConfiguration {
    /// The session.
    session: Session,
    /// How tools are shown to it: `lazy`, `direct` or `both`.
    mode: &'static str,
    /// The tools of this page in the shape of a configuration screen, with fewer details.
    configuration: ConfigurationView,
    /// The tools within its reach, sorted by name; those that are for Pegboard itself are left out.
    available_tools: Vec<ToolSummary>,
    /// How many tools there are on all pages.
    total: usize,
    /// What gives the next page, when there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// Gives the tools that a session really has: those of its profile and of the host program.
#[utoipa::path(
    get,
    operation_id = "getSessionConfiguration",
    path = "/sessions/{id}/configuration",
    tag = "sessions",
    params(("id" = String, Path, description = "The session"), PageQuery),
    responses(
        (status = 200, description = "What the session has", body = SessionConfiguration),
        (status = 304, description = "Nothing changed since the answer with this `ETag`"),
        (status = 400, description = "A value of the query is wrong", body = ErrorBody),
        (status = 401, description = "The token is missing or wrong", body = ErrorBody),
        (status = 404, description = "No such session is connected", body = ErrorBody),
    )
)]
pub(super) async fn configuration(
    _: Authorized,
    State(state): State<WebState>,
    PathParam(id): PathParam,
    Query(query): Query<PageQuery>,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let sessions = state.hub().sessions();
    let info = sessions
        .iter()
        .find(|info| info.id.0 == id)
        .ok_or_else(|| {
            let id = UntrustedText::new(&id).shortened(60);
            ApiError::new(
                Reason::SessionUnknown,
                format!("no session `{id}` is connected"),
            )
        })?;
    let offered = state.gateway().profile_catalog(&info.profile);
    // A profile that was taken out while its client is connected: what the project has is all that can be told.
    let catalog = match &offered {
        Some(offered) => offered.catalog.clone(),
        None => state.hub().catalog(),
    };
    let pairs = |tool: &ToolView<'_>| (AvailableTool::of(tool), ToolSummary::of(tool));
    let is_wanted = |tool: &ToolView<'_>| tool.enabled() && !tool.is_internal();
    let page = query.page_of(&catalog, is_wanted, pairs)?;
    let (wrapped, tools) = page.tools.into_iter().unzip();
    let mode = match offered.map_or(Mode::default(), |offered| offered.profile.mode) {
        Mode::Lazy => "lazy",
        Mode::Direct => "direct",
        Mode::Both => "both",
    };
    let answer = SessionConfiguration {
        session: info.into(),
        mode,
        configuration: ConfigurationView {
            mode: Some(mode),
            available_tools: wrapped,
        },
        available_tools: tools,
        total: page.total,
        next_cursor: page.next,
    };
    Ok(json_with_etag(&headers, &answer))
}
