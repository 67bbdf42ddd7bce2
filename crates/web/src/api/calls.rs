//! Calling a tool, through the one gate that every call passes.

use axum::extract::State;
use pegboard_hub::{CallRequest, OutcomeKind};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::error::{ApiError, ApiResult, ErrorBody};
use crate::extract::{Json, PathParam};
use crate::response::NoStoreJson;
use crate::session::CallSession;
use crate::state::WebState;

/// A call.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CallToolRequest {
    /// The arguments; none when left out.
    #[serde(default = "empty_object")]
    #[schema(value_type = Object, required = false)]
    arguments: Box<RawValue>,
}

fn empty_object() -> Box<RawValue> {
    RawValue::from_string("{}".to_owned()).unwrap_or_default()
}

impl CallToolRequest {
    /// The arguments as they were written: a parser would round long numbers. It only says whether they are an object
    /// that is not nested too deeply.
    fn arguments(self) -> ApiResult<Box<RawValue>> {
        match serde_json::from_str::<Map<String, Value>>(self.arguments.get()) {
            Ok(_) => Ok(self.arguments),
            Err(error) => {
                let message = format!("the arguments are not as they should be: {error}");
                Err(ApiError::at_field("arguments", message))
            }
        }
    }
}

/// How a call ended.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct CallToolResponse {
    /// Whether the tool says that it failed.
    is_error: bool,
    /// `complete`, `task`, or `input_required` when the tool wants more from a client that can be asked.
    outcome: &'static str,
    /// The result as the server wrote it.
    #[schema(value_type = Object)]
    result: Box<RawValue>,
}

/// Calls a tool. Its server is started if it has to be; policies hold as for every call. Calls with the same
/// `Pegboard-Session` are one session, for which a person can allow a tool; a call without one is allowed once or for
/// good.
#[utoipa::path(
    post,
    operation_id = "callTool",
    path = "/tools/{name}/call",
    tag = "tools",
    params(
        ("name" = String, Path, description = "The tool, as `server__tool`"),
        ("Pegboard-Session" = Option<String>, Header, description = "A random text of 16 to 128 characters that only this caller knows"),
    ),
    request_body = CallToolRequest,
    responses(
        (status = 200, description = "The tool answered", body = CallToolResponse),
        (status = 400, description = "The request or the arguments are wrong", body = ErrorBody),
        (status = 401, description = "The token is missing or wrong", body = ErrorBody),
        (status = 403, description = "A policy or a person does not allow it", body = ErrorBody),
        (status = 404, description = "No such tool is known, or it is disabled", body = ErrorBody),
        (status = 408, description = "The body did not come in time", body = ErrorBody),
        (status = 409, description = "The tool changed while somebody was asked", body = ErrorBody),
        (status = 413, description = "The body is too large", body = ErrorBody),
        (status = 415, description = "The body is not declared as JSON", body = ErrorBody),
        (status = 501, description = "Nothing is there to run the tool", body = ErrorBody),
        (status = 502, description = "The server could not be reached or failed", body = ErrorBody),
        (status = 503, description = "Too many calls wait", body = ErrorBody),
        (status = 504, description = "The server did not answer in time", body = ErrorBody),
    )
)]
pub(super) async fn call(
    session: CallSession,
    State(state): State<WebState>,
    PathParam(name): PathParam,
    Json(call): Json<CallToolRequest>,
) -> ApiResult<NoStoreJson<CallToolResponse>> {
    let arguments = call.arguments()?;
    let mut request = CallRequest::new(session.id, name, arguments);
    request.client = Some(session.client.into());
    request.is_lasting = session.is_lasting;
    let outcome = state.hub().call(&request).await?;
    Ok(NoStoreJson(CallToolResponse {
        is_error: outcome.is_error,
        outcome: match outcome.kind {
            OutcomeKind::Complete => "complete",
            OutcomeKind::InputRequired => "input_required",
            OutcomeKind::Task => "task",
        },
        result: outcome.result,
    }))
}
