//! The tool definitions for a request to a model, and the execution of the model's calls.

use std::sync::Arc;

use axum::extract::State;
use pegboard_agent::{Content, Definitions, ExecutedCall, Loading, ToolOutputBody};
use pegboard_agent::{ToolUse, ToolUseKind};
use pegboard_formats::Format;
use pegboard_model::Reason;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use crate::error::{ApiError, ApiResult, ErrorBody};
use crate::extract::{Json, Query};
use crate::response::NoStore;
use crate::role::Authorized;
use crate::session::CallSession;
use crate::state::WebState;

/// Which tools a request to a model contains.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum ToolLoading {
    /// The meta tools, which find and call all others.
    #[default]
    Meta,
    /// All tools.
    All,
}

impl From<ToolLoading> for Loading {
    fn from(loading: ToolLoading) -> Self {
        match loading {
            ToolLoading::Meta => Self::Meta,
            ToolLoading::All => Self::All,
        }
    }
}

/// Selects definitions.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct DefinitionsQuery {
    /// The provider's format: `anthropic`, `openai-responses`, `openai-chat`, `gemini` or `bedrock`.
    #[param(example = "anthropic")]
    format: String,
    /// `meta` for the meta tools (the default), `all` for all tools.
    #[serde(default)]
    #[param(inline)]
    loading: ToolLoading,
}

/// Definitions for a request to a model.
#[derive(Serialize, ToSchema)]
pub(super) struct DefinitionsResponse {
    /// The format.
    format: &'static str,
    /// Which tools these are.
    loading: ToolLoading,
    /// The value of the request's `tools`; for Bedrock, of `toolConfig.tools`.
    #[schema(value_type = Vec<Object>)]
    tools: Value,
}

/// Returns the tool definitions for a request to a model. Nothing is started.
#[utoipa::path(
    get,
    operation_id = "getDefinitions",
    path = "/definitions",
    tag = "models",
    params(DefinitionsQuery),
    responses(
        (status = 200, description = "The definitions", body = DefinitionsResponse),
        (status = 400, description = "A query parameter is invalid", body = ErrorBody),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
    )
)]
pub(super) async fn show(
    _: Authorized,
    State(state): State<WebState>,
    Query(query): Query<DefinitionsQuery>,
) -> ApiResult<NoStore<DefinitionsResponse>> {
    let format = format(&query.format)?;
    state.hub().discover_unknown_in_background();
    let definitions = definitions(&state, format, query.loading).await?;
    Ok(NoStore(DefinitionsResponse {
        format: format.name(),
        loading: query.loading,
        tools: definitions.document().clone(),
    }))
}

/// A call that a model made with definitions of this API.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ModelCallRequest {
    /// The format of the definitions that the model got.
    #[schema(example = "anthropic")]
    format: String,
    /// Which definitions the model got.
    #[serde(default)]
    #[schema(inline)]
    loading: ToolLoading,
    /// The name that the model wrote.
    #[schema(example = "search_tools")]
    name: String,
    /// The arguments that the model wrote: an object, or a text that contains one.
    #[serde(default)]
    #[schema(value_type = Object, required = false)]
    arguments: Value,
}

/// The result of a model's call.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ModelCallResponse {
    /// Whether the call failed; `content` is then a text for the model.
    is_error: bool,
    /// `ok` or an error code; absent for searches and other lookups.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<String>,
    /// The parts for the model.
    content: Vec<ModelContent>,
    /// The tool that was called; absent for searches and other lookups.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    /// Its server.
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
}

/// A part of a result for a model.
#[derive(Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum ModelContent {
    /// A text.
    Text {
        /// The text.
        text: String,
    },
    /// An image.
    Image {
        /// A MIME type that models support.
        #[serde(rename = "mimeType")]
        mime_type: String,
        /// The image in base64.
        data: String,
    },
}

/// Runs a call of a model: a meta tool, or a tool by its name in the definitions. Names and arguments are converted
/// back to the tool's own. An error of the call is a result with a text that the model can read.
#[utoipa::path(
    post,
    operation_id = "runModelCall",
    path = "/model-calls",
    tag = "models",
    params(
        ("Pegboard-Session" = Option<String>, Header, description = "A random value of 16 to 128 characters that only this caller knows"),
    ),
    request_body = ModelCallRequest,
    responses(
        (status = 200, description = "The result, or the error as a text for the model", body = ModelCallResponse),
        (status = 400, description = "The request is invalid", body = ErrorBody),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
        (status = 408, description = "The body did not arrive in time", body = ErrorBody),
        (status = 413, description = "The body is too large", body = ErrorBody),
        (status = 415, description = "The body is not declared as JSON", body = ErrorBody),
    )
)]
pub(super) async fn run(
    session: CallSession,
    State(state): State<WebState>,
    Json(request): Json<ModelCallRequest>,
) -> ApiResult<NoStore<ModelCallResponse>> {
    let format = format(&request.format)?;
    let definitions = definitions(&state, format, request.loading).await?;
    let toolbox = state.toolbox();
    let toolbox = toolbox.for_session(session.id, session.client.into(), session.is_lasting);
    let call = ToolUse {
        id: String::new(),
        name: request.name,
        arguments: pegboard_agent::parse_arguments(request.arguments),
        kind: ToolUseKind::Call,
    };
    let executed = toolbox.run(&definitions, &call).await;
    Ok(NoStore(ModelCallResponse::of(executed)))
}

impl ModelCallResponse {
    fn of(executed: ExecutedCall) -> Self {
        let used = executed.used;
        let content = match executed.output.body {
            ToolOutputBody::Content(parts) => parts,
            // Only a provider's own search has other bodies, and the definitions contain none.
            _ => Vec::new(),
        };
        let content = content.into_iter().filter_map(|part| match part {
            Content::Text(text) => Some(ModelContent::Text { text }),
            Content::Image { mime, data } => Some(ModelContent::Image {
                mime_type: mime,
                data,
            }),
            _ => None,
        });
        Self {
            is_error: executed.output.is_error,
            content: content.collect(),
            outcome: used.as_ref().map(|used| used.outcome.clone()),
            server: used
                .as_ref()
                .and_then(|used| used.server.as_ref())
                .map(ToString::to_string),
            tool: used.map(|used| used.tool),
        }
    }
}

/// Parses a format. Formats for a provider's own tool search are excluded: their searches have no result here.
fn format(name: &str) -> ApiResult<Format> {
    let format: Result<Format, _> = name.parse();
    let format = format.map_err(|unknown: pegboard_formats::UnknownFormat| {
        ApiError::at_field("format", unknown.to_string())
    })?;
    if format.is_deferred() {
        let message = format!("`{}` is not available here", format.name());
        let error = ApiError::at_field("format", message);
        return Err(error.with_remedy("Use `anthropic` or `openai-responses`."));
    }
    Ok(format)
}

async fn definitions(
    state: &WebState,
    format: Format,
    loading: ToolLoading,
) -> ApiResult<Arc<Definitions>> {
    let state = state.clone();
    // Rendering thousands of tools takes longer than other requests should wait.
    let rendered = tokio::task::spawn_blocking(move || {
        let catalog = state.hub().catalog();
        state.definitions().of(&catalog, format, loading.into())
    });
    rendered.await.map_err(|_| ApiError::of(Reason::Internal))
}
