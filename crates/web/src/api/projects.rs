//! Projects: directories with a configuration, and their known tools.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use pegboard_catalog::{Catalog, ToolView};
use pegboard_model::{Reason, UntrustedText};
use serde::Serialize;
use utoipa::ToSchema;

use super::configuration_view::{AvailableTool, ConfigurationView};
use super::server_view::ServerSummary;
use super::tool_list::{PageQuery, ToolSummary};
use crate::config_admin::Project;
use crate::error::{ApiError, ApiResult, ErrorBody};
use crate::extract::{PathParam, Query};
use crate::response::with_etag;
use crate::role::Authorized;
use crate::state::WebState;

/// All known projects.
#[derive(Serialize, ToSchema)]
pub(super) struct Projects {
    /// The projects; the user's own configuration is `default`.
    projects: Vec<ProjectInfo>,
}

/// A project.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ProjectInfo {
    /// The id.
    #[schema(example = "default")]
    id: String,
    /// The display name.
    name: String,
    /// Its directory; absent for the user's own configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    folder: Option<String>,
    /// Whether this Pegboard serves it.
    is_running: bool,
    /// When it was last opened, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_used: Option<u64>,
}

impl From<Project> for ProjectInfo {
    fn from(project: Project) -> Self {
        Self {
            id: project.id,
            name: project.name,
            folder: project.folder.map(|folder| folder.display().to_string()),
            is_running: project.is_running,
            last_used: project.last_used.map(|at| at.0),
        }
    }
}

/// Lists projects.
#[utoipa::path(
    get,
    operation_id = "listProjects",
    path = "/projects",
    tag = "projects",
    responses(
        (status = 200, description = "All known projects", body = Projects),
        (status = 304, description = "Unchanged since the response with this `ETag`"),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
    )
)]
pub(super) async fn list(
    _: Authorized,
    State(state): State<WebState>,
    headers: HeaderMap,
) -> Response {
    let projects = state.config_admin().projects().into_iter();
    let projects = projects.map(ProjectInfo::from).collect();
    with_etag(&headers, &Projects { projects })
}

/// A project's configuration with all its tools.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ProjectConfiguration {
    /// The project.
    project: ProjectInfo,
    /// The tools of this page in the shape of a configuration screen, with fewer details.
    configuration: ConfigurationView,
    /// The known tools of the host program and of servers, sorted by name.
    available_tools: Vec<ToolSummary>,
    /// The number of tools on all pages.
    total: usize,
    /// The cursor of the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    /// The configured servers.
    servers: Vec<ServerSummary>,
    /// The configuration files.
    files: Vec<String>,
    /// Problems in the files.
    problems: Vec<String>,
}

/// Returns a project's configuration with its known tools. Nothing is started.
#[utoipa::path(
    get,
    operation_id = "getProjectConfiguration",
    path = "/projects/{id}/configuration",
    tag = "projects",
    params(("id" = String, Path, description = "The project; `default` is the user's own configuration"), PageQuery),
    responses(
        (status = 200, description = "The configuration", body = ProjectConfiguration),
        (status = 304, description = "Unchanged since the response with this `ETag`"),
        (status = 400, description = "A query parameter is invalid", body = ErrorBody),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
        (status = 404, description = "The project is unknown", body = ErrorBody),
    )
)]
pub(super) async fn configuration(
    _: Authorized,
    State(state): State<WebState>,
    PathParam(id): PathParam,
    Query(query): Query<PageQuery>,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let view = state.config_admin().project(&id).ok_or_else(|| {
        let id = UntrustedText::new(&id).shortened(60);
        ApiError::new(Reason::ProjectUnknown, format!("project `{id}` is unknown"))
    })?;
    let both = |tool: &ToolView<'_>| (AvailableTool::of(tool), ToolSummary::of(tool));
    let page = query.page_of(&view.catalog, |tool| !tool.is_internal(), both)?;
    let (wrapped, tools) = page.tools.into_iter().unzip();
    let files = view.files.iter().map(|file| file.display().to_string());
    let response = ProjectConfiguration {
        project: view.project.into(),
        configuration: ConfigurationView {
            mode: None,
            available_tools: wrapped,
        },
        available_tools: tools,
        total: page.total,
        next_cursor: page.next,
        servers: servers(&view.catalog, &state),
        files: files.collect(),
        problems: view.problems,
    };
    Ok(with_etag(&headers, &response))
}

fn servers(catalog: &Catalog, state: &WebState) -> Vec<ServerSummary> {
    catalog
        .servers()
        .map(|entry| ServerSummary::of(entry, state))
        .collect()
}
