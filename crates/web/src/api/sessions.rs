//! Connected sessions and their tools.

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
use crate::response::{NoStore, with_etag};
use crate::role::Authorized;
use crate::state::WebState;

/// The connected sessions.
#[derive(Serialize, ToSchema)]
pub(super) struct Sessions {
    /// The sessions, newest first.
    sessions: Vec<Session>,
}

/// A connected client or embedding program.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Session {
    /// The id, as in the activity log.
    id: String,
    /// How it is connected: `stdio`, `http-legacy`, `http-modern` or `embedder`.
    transport: &'static str,
    /// The client's own name; untrusted text.
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<String>,
    /// The profile; absent for the unnamed one.
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<String>,
    /// When it started, in milliseconds since 1970.
    since: u64,
    /// When it last sent a request.
    last_seen: u64,
    /// The number of tool calls.
    calls: u64,
}

impl From<&SessionInfo> for Session {
    fn from(info: &SessionInfo) -> Self {
        let profile = Some(&info.profile).filter(|profile| !profile.is_empty());
        Self {
            id: info.id.0.clone(),
            transport: info.transport.as_str(),
            client: info.client.as_deref().map(str::to_owned),
            profile: profile.cloned(),
            since: info.since.0,
            last_seen: info.last_seen.0,
            calls: info.calls,
        }
    }
}

/// Lists the sessions of this Pegboard.
#[utoipa::path(
    get,
    operation_id = "listSessions",
    path = "/sessions",
    tag = "sessions",
    responses(
        (status = 200, description = "The connected sessions", body = Sessions),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
    )
)]
pub(super) async fn list(_: Authorized, State(state): State<WebState>) -> NoStore<Sessions> {
    let sessions = state.hub().sessions();
    let sessions = sessions.iter().map(Session::from).collect();
    NoStore(Sessions { sessions })
}

/// The tools of a session.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SessionConfiguration {
    /// The session.
    session: Session,
    /// The mode of its profile: `lazy`, `direct` or `both`.
    mode: &'static str,
    /// The tools of this page in the shape of a configuration screen, with fewer details.
    configuration: ConfigurationView,
    /// The tools that it can use, sorted by name; internal tools are left out.
    available_tools: Vec<ToolSummary>,
    /// The number of tools on all pages.
    total: usize,
    /// The cursor of the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// Returns the tools that a session can use: those of its profile and of the host program.
#[utoipa::path(
    get,
    operation_id = "getSessionConfiguration",
    path = "/sessions/{id}/configuration",
    tag = "sessions",
    params(("id" = String, Path, description = "The session"), PageQuery),
    responses(
        (status = 200, description = "The tools of the session", body = SessionConfiguration),
        (status = 304, description = "Unchanged since the response with this `ETag`"),
        (status = 400, description = "A query parameter is invalid", body = ErrorBody),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
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
    // The profile was removed while its client is connected: show all tools of the project.
    let catalog = match &offered {
        Some(offered) => offered.catalog.clone(),
        None => state.hub().catalog(),
    };
    let both = |tool: &ToolView<'_>| (AvailableTool::of(tool), ToolSummary::of(tool));
    let is_offered = |tool: &ToolView<'_>| tool.enabled() && !tool.is_internal();
    let page = query.page_of(&catalog, is_offered, both)?;
    let (wrapped, tools) = page.tools.into_iter().unzip();
    let mode = match offered.map_or(Mode::default(), |offered| offered.profile.mode) {
        Mode::Lazy => "lazy",
        Mode::Direct => "direct",
        Mode::Both => "both",
    };
    let response = SessionConfiguration {
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
    Ok(with_etag(&headers, &response))
}
