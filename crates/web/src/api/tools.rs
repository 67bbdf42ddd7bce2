//! Tools: list, details and provider formats.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use pegboard_catalog::{Catalog, Description, ToolView, describe};
use pegboard_formats::Format;
use pegboard_model::{Reason, ServerName, ToolError};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::tool_list::{PageQuery, ToolSummary};
use crate::error::{ApiError, ApiResult, ErrorBody};
use crate::extract::{PathParam, Query};
use crate::provider_format::convert_tool;
use crate::response::{NoStore, with_etag};
use crate::role::Authorized;
use crate::state::WebState;

/// Selects tools.
#[derive(Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ToolsQuery {
    /// Only tools of this server.
    server: Option<String>,
    /// Only tools of this category and those below it; `github` includes `github/issues`.
    category: Option<String>,
    /// Only tools whose name or summary contains this text.
    q: Option<String>,
    /// Includes tools that are not offered.
    #[serde(default)]
    all: bool,
    /// Maximum number of tools; 200 by default.
    #[param(minimum = 1, maximum = 5000)]
    limit: Option<usize>,
    /// `nextCursor` of the previous page.
    cursor: Option<String>,
}

/// A page of tools.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Tools {
    /// The tools, sorted by name.
    tools: Vec<ToolSummary>,
    /// The number of tools on all pages.
    total: usize,
    /// The cursor of the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// Lists tools.
#[utoipa::path(
    get,
    operation_id = "listTools",
    path = "/tools",
    tag = "tools",
    params(ToolsQuery),
    responses(
        (status = 200, description = "A page of tools", body = Tools),
        (status = 304, description = "Unchanged since the response with this `ETag`"),
        (status = 400, description = "A query parameter is invalid", body = ErrorBody),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
    )
)]
pub(super) async fn list(
    _: Authorized,
    State(state): State<WebState>,
    Query(query): Query<ToolsQuery>,
    headers: HeaderMap,
) -> ApiResult<Response> {
    state.hub().discover_unknown_in_background();
    let catalog = state.hub().catalog();
    let server = query.server.as_deref();
    let text = query.q.as_deref().map(str::to_lowercase);
    let matches = |view: &ToolView<'_>| {
        (query.all || view.enabled())
            && !view.is_internal()
            && server.is_none_or(|server| view.server().map(ServerName::as_str) == Some(server))
            && is_in_category(view, query.category.as_deref())
            && text.as_deref().is_none_or(|text| matches_text(view, text))
    };
    let page_query = PageQuery {
        limit: query.limit,
        cursor: query.cursor.clone(),
    };
    let page = page_query.page(&catalog, matches)?;
    let response = Tools {
        tools: page.tools,
        total: page.total,
        next_cursor: page.next,
    };
    Ok(with_etag(&headers, &response))
}

fn is_in_category(view: &ToolView<'_>, category: Option<&str>) -> bool {
    category.is_none_or(|category| {
        let rest = view.category().strip_prefix(category);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

fn matches_text(view: &ToolView<'_>, text: &str) -> bool {
    view.exposed().as_str().to_lowercase().contains(text)
        || view.name().to_lowercase().contains(text)
        || view.summary().to_lowercase().contains(text)
}

/// Finds a known tool, including disabled ones.
pub(super) fn find<'a>(catalog: &'a Catalog, name: &str) -> ApiResult<ToolView<'a>> {
    catalog.find(name).or_else(|error| {
        let disabled = catalog
            .all_tools()
            .find(|view| view.exposed().as_str() == name);
        disabled.ok_or_else(|| error.into())
    })
}

/// All details of a tool.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolDetails {
    #[serde(flatten)]
    listed: ToolSummary,
    /// The server's title for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// The signature in one line.
    signature: String,
    /// The parameters, each with `name`, `type`, `required` and further properties.
    #[schema(value_type = Vec<Object>)]
    parameters: Value,
    /// Example calls, each with `arguments`.
    #[schema(value_type = Vec<Object>)]
    examples: Value,
    /// Related tools.
    related: Vec<String>,
    /// The server's annotations.
    #[schema(value_type = Object)]
    annotations: Value,
    /// The server's definition, verbatim.
    #[schema(value_type = Object)]
    definition: Box<serde_json::value::RawValue>,
    /// The provider formats, available under `formats/NAME`.
    formats: Vec<&'static str>,
}

impl ToolDetails {
    fn of(view: &ToolView<'_>) -> Self {
        let described: Description = describe(view);
        let value = |value: Result<Value, serde_json::Error>| value.unwrap_or_default();
        Self {
            listed: ToolSummary::of(view),
            title: described.title,
            signature: described.signature,
            parameters: value(serde_json::to_value(&described.parameters)),
            examples: value(serde_json::to_value(&described.examples)),
            related: described.related,
            annotations: value(serde_json::to_value(described.annotations)),
            definition: described.definition,
            formats: Format::all().map(Format::name).to_vec(),
        }
    }
}

/// Returns all details of one tool.
#[utoipa::path(
    get,
    operation_id = "getTool",
    path = "/tools/{name}",
    tag = "tools",
    params(("name" = String, Path, description = "The tool, as `server__tool`")),
    responses(
        (status = 200, description = "The tool", body = ToolDetails),
        (status = 304, description = "Unchanged since the response with this `ETag`"),
        (status = 400, description = "The name is invalid or ambiguous", body = ErrorBody),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
        (status = 404, description = "The tool is unknown", body = ErrorBody),
    )
)]
pub(super) async fn one(
    _: Authorized,
    State(state): State<WebState>,
    PathParam(name): PathParam,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let catalog = state.hub().catalog();
    Ok(with_etag(
        &headers,
        &ToolDetails::of(&find(&catalog, &name)?),
    ))
}

/// A tool in the format of a model provider.
#[derive(Serialize, ToSchema)]
pub(super) struct ProviderTool {
    /// The format.
    format: &'static str,
    /// The name in the request to the provider.
    name: String,
    /// One entry of the request's `tools`.
    #[schema(value_type = Object)]
    definition: Value,
    /// Losses of the conversion, each with `path`, `kind` and `detail`.
    #[schema(value_type = Vec<Object>)]
    losses: Value,
}

/// Returns a tool's definition in the format of a model provider.
#[utoipa::path(
    get,
    operation_id = "getToolFormat",
    path = "/tools/{name}/formats/{format}",
    tag = "tools",
    params(
        ("name" = String, Path, description = "The tool, as `server__tool`"),
        ("format" = String, Path, description = "The format, as in `formats` of the tool"),
    ),
    responses(
        (status = 200, description = "The definition", body = ProviderTool),
        (status = 400, description = "The name or the format is invalid", body = ErrorBody),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
        (status = 404, description = "The tool is unknown", body = ErrorBody),
    )
)]
pub(super) async fn format(
    _: Authorized,
    State(state): State<WebState>,
    path: Result<axum::extract::Path<(String, String)>, axum::extract::rejection::PathRejection>,
) -> ApiResult<NoStore<ProviderTool>> {
    let axum::extract::Path((name, format)) =
        path.map_err(|_| ApiError::of(Reason::RequestInvalid))?;
    let format: Format = format
        .parse()
        .map_err(|unknown: pegboard_formats::UnknownFormat| {
            let error = ToolError::new(Reason::RequestInvalid, unknown.to_string());
            ApiError::from(error.at_field("format"))
        })?;
    let catalog = state.hub().catalog();
    let view = find(&catalog, &name)?;
    let converted = convert_tool(&view, format);
    Ok(NoStore(ProviderTool {
        format: format.name(),
        name: converted.name,
        definition: converted.definition,
        losses: serde_json::to_value(&converted.losses).unwrap_or_default(),
    }))
}
