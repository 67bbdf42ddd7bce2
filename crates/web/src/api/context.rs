//! What a model sees of the tools.

use axum::extract::State;
use pegboard_gateway::fixed_surface;
use pegboard_guard::estimate_tokens;
use pegboard_metatools::context_summary;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::error::ErrorBody;
use crate::response::NoStore;
use crate::role::Authorized;
use crate::state::WebState;

/// What a model sees of the tools.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Context {
    /// The summary for a system prompt.
    summary: CountedText,
    /// The instructions that every client gets.
    instructions: CountedText,
    /// The definitions of the meta tools, exactly as clients get them.
    #[schema(value_type = Vec<Object>)]
    meta_tools: Option<Box<RawValue>>,
    /// Estimated tokens of the definitions.
    meta_tools_tokens: u32,
}

/// A text with its estimated tokens.
#[derive(Serialize, ToSchema)]
pub(super) struct CountedText {
    /// The text.
    text: String,
    /// Estimated tokens.
    tokens: u32,
}

impl CountedText {
    fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        let tokens = estimate_tokens(&text);
        Self { text, tokens }
    }
}

/// Returns what a model sees of the tools.
#[utoipa::path(
    get,
    operation_id = "getContext",
    path = "/context",
    tag = "state",
    responses(
        (status = 200, description = "The summary and the fixed surface", body = Context),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
    )
)]
pub(super) async fn show(_: Authorized, State(state): State<WebState>) -> NoStore<Context> {
    state.hub().discover_unknown_in_background();
    let summary = context_summary(&state.hub().catalog(), &state.config_admin().essential());
    let surface = fixed_surface();
    let (tools, instructions) = surface.split_once('\n').unwrap_or((&surface, ""));
    NoStore(Context {
        summary: CountedText::new(summary),
        instructions: CountedText::new(instructions),
        meta_tools_tokens: estimate_tokens(tools),
        meta_tools: RawValue::from_string(tools.to_owned()).ok(),
    })
}
