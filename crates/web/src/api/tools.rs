//! Tools: the list, one of them, and what providers take of it.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use pegboard_catalog::{Catalog, Description, ToolView, describe};
use pegboard_formats::{Format, SourceTool, convert};
use pegboard_model::{Reason, ServerName, ToolError};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::tool_list::{PageQuery, ToolSummary};
use crate::error::{ApiError, ApiResult, ErrorBody};
use crate::extract::{PathParam, Query};
use crate::response::{NoStoreJson, json_with_etag};
use crate::role::Authorized;
use crate::state::WebState;

/// Which tools are wanted.
#[derive(Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ToolsQuery {
    /// Only those of one server.
    server: Option<String>,
    /// Only those of one category; `github` holds `github/issues` too.
    category: Option<String>,
    /// Only those whose name or summary holds this text.
    q: Option<String>,
    /// Also those that are not offered.
    #[serde(default)]
    all: bool,
    /// How many tools at the most; 200 when left out.
    #[param(minimum = 1, maximum = 5000)]
    limit: Option<usize>,
    /// `nextCursor` of the page before.
    cursor: Option<String>,
}

/// A page of tools.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Tools {
    /// The tools, sorted by name.
    tools: Vec<ToolSummary>,
    /// How many tools there are on all pages.
    total: usize,
    /// What gives the next page, when there is one.
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
        (status = 304, description = "Nothing changed since the answer with this `ETag`"),
        (status = 400, description = "A value of the query is wrong", body = ErrorBody),
        (status = 401, description = "The token is missing or wrong", body = ErrorBody),
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
    let is_wanted = |view: &ToolView<'_>| {
        (query.all || view.enabled())
            && !view.is_internal()
            && server.is_none_or(|server| view.server().map(ServerName::as_str) == Some(server))
            && is_in_category(view, query.category.as_deref())
            && text.as_deref().is_none_or(|text| matches_text(view, text))
    };
    let wanted = PageQuery {
        limit: query.limit,
        cursor: query.cursor.clone(),
    };
    let page = wanted.page(&catalog, is_wanted)?;
    let answer = Tools {
        tools: page.tools,
        total: page.total,
        next_cursor: page.next,
    };
    Ok(json_with_etag(&headers, &answer))
}

fn is_in_category(view: &ToolView<'_>, wanted: Option<&str>) -> bool {
    wanted.is_none_or(|wanted| {
        let rest = view.category().strip_prefix(wanted);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

fn matches_text(view: &ToolView<'_>, text: &str) -> bool {
    view.exposed().as_str().to_lowercase().contains(text)
        || view.name().to_lowercase().contains(text)
        || view.summary().to_lowercase().contains(text)
}

/// A tool that is known, also a disabled one.
pub(super) fn find<'a>(catalog: &'a Catalog, name: &str) -> ApiResult<ToolView<'a>> {
    catalog.find(name).or_else(|error| {
        let disabled = catalog
            .all_tools()
            .find(|view| view.exposed().as_str() == name);
        disabled.ok_or_else(|| error.into())
    })
}

/// Everything about one tool.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolDetails {
    #[serde(flatten)]
    listed: ToolSummary,
    /// The server's title for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// Its arguments in one line.
    signature: String,
    /// Its arguments: each with `name`, `type`, `required`, and what else is known.
    #[schema(value_type = Vec<Object>)]
    parameters: Value,
    /// Examples of calls: each with `arguments`.
    #[schema(value_type = Vec<Object>)]
    examples: Value,
    /// Tools that work on the same things.
    related: Vec<String>,
    /// The server's hints.
    #[schema(value_type = Object)]
    annotations: Value,
    /// The definition as its server wrote it.
    #[schema(value_type = Object)]
    definition: Box<serde_json::value::RawValue>,
    /// The formats of model providers that it can be had in, under `formats/NAME`.
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

/// Tells everything about one tool.
#[utoipa::path(
    get,
    operation_id = "getTool",
    path = "/tools/{name}",
    tag = "tools",
    params(("name" = String, Path, description = "The tool, as `server__tool`")),
    responses(
        (status = 200, description = "The tool", body = ToolDetails),
        (status = 304, description = "Nothing changed since the answer with this `ETag`"),
        (status = 400, description = "This is no tool's name, or one of several tools", body = ErrorBody),
        (status = 401, description = "The token is missing or wrong", body = ErrorBody),
        (status = 404, description = "No such tool is known", body = ErrorBody),
    )
)]
pub(super) async fn one(
    _: Authorized,
    State(state): State<WebState>,
    PathParam(name): PathParam,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let catalog = state.hub().catalog();
    Ok(json_with_etag(
        &headers,
        &ToolDetails::of(&find(&catalog, &name)?),
    ))
}

/// A tool as a model provider takes it.
#[derive(Serialize, ToSchema)]
pub(super) struct ProviderTool {
    /// The format.
    format: &'static str,
    /// The name under which the provider knows it.
    name: String,
    /// One entry of the request's `tools`.
    #[schema(value_type = Object)]
    definition: Value,
    /// What is different from what the server wrote: each with `path`, `kind` and `detail`.
    #[schema(value_type = Vec<Object>)]
    losses: Value,
}

/// Gives a tool's definition in the form that a model provider takes.
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
        (status = 400, description = "This is no tool's name, or no format", body = ErrorBody),
        (status = 401, description = "The token is missing or wrong", body = ErrorBody),
        (status = 404, description = "No such tool is known", body = ErrorBody),
    )
)]
pub(super) async fn format(
    _: Authorized,
    State(state): State<WebState>,
    path: Result<axum::extract::Path<(String, String)>, axum::extract::rejection::PathRejection>,
) -> ApiResult<NoStoreJson<ProviderTool>> {
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
    let description = view.description();
    let about = view
        .entry()
        .map(|entry| entry.description())
        .unwrap_or_default();
    let examples = view.user_override().map(|words| words.examples.as_slice());
    let examples = examples.unwrap_or_default().iter();
    let converted = convert(
        &SourceTool {
            name: view.exposed().as_str(),
            server: view.server().map(ServerName::as_str),
            server_description: Some(&*about).filter(|text| !text.is_empty()),
            description: Some(&description),
            input_schema: view.input_schema(),
            examples: examples.map(|example| example.arguments.clone()).collect(),
        },
        format,
    );
    Ok(NoStoreJson(ProviderTool {
        format: format.name(),
        name: converted.name,
        definition: converted.definition,
        losses: serde_json::to_value(&converted.losses).unwrap_or_default(),
    }))
}
