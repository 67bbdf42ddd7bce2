//! Tool calls. They pass the same policy gate as every other call.

use axum::extract::State;
use pegboard_hub::CallRequest;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::error::{ApiError, ApiResult, ErrorBody};
use crate::extract::{Json, PathParam};
use crate::response::NoStore;
use crate::session::CallSession;
use crate::state::WebState;

/// The arguments of a call.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CallToolRequest {
    /// The arguments; `{}` by default.
    #[serde(default = "empty_object")]
    #[schema(value_type = Object, required = false)]
    arguments: Box<RawValue>,
}

fn empty_object() -> Box<RawValue> {
    RawValue::from_string("{}".to_owned()).unwrap_or_default()
}

impl CallToolRequest {
    /// The arguments verbatim, because parsing would round long numbers. Fails unless they are an object within the
    /// nesting limit.
    fn arguments(self) -> ApiResult<Box<RawValue>> {
        match serde_json::from_str::<Map<String, Value>>(self.arguments.get()) {
            Ok(_) => Ok(self.arguments),
            Err(error) => {
                let message = format!("invalid arguments: {error}");
                Err(ApiError::at_field("arguments", message))
            }
        }
    }
}

/// The outcome of a call.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct CallToolResponse {
    /// Whether the tool reported a failure.
    is_error: bool,
    /// `complete`, `task`, or `input_required` if the tool requests input from the client.
    outcome: &'static str,
    /// The server's result, verbatim.
    #[schema(value_type = Object)]
    result: Box<RawValue>,
}

/// Calls a tool. Its server is started if necessary; policies apply as for every call. Calls with the same
/// `Pegboard-Session` form one session, for which a tool can be allowed; a call without one can be allowed once or
/// always.
#[utoipa::path(
    post,
    operation_id = "callTool",
    path = "/tools/{name}/call",
    tag = "tools",
    params(
        ("name" = String, Path, description = "The tool, as `server__tool`"),
        ("Pegboard-Session" = Option<String>, Header, description = "A random value of 16 to 128 characters that only this caller knows"),
    ),
    request_body = CallToolRequest,
    responses(
        (status = 200, description = "The tool responded", body = CallToolResponse),
        (status = 400, description = "The request or the arguments are invalid", body = ErrorBody),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
        (status = 403, description = "A policy or a person denied it", body = ErrorBody),
        (status = 404, description = "The tool is unknown or disabled", body = ErrorBody),
        (status = 408, description = "The body did not arrive in time", body = ErrorBody),
        (status = 409, description = "The tool changed during the approval", body = ErrorBody),
        (status = 413, description = "The body is too large", body = ErrorBody),
        (status = 415, description = "The body is not declared as JSON", body = ErrorBody),
        (status = 501, description = "The tool has no handler", body = ErrorBody),
        (status = 502, description = "The server could not be reached or failed", body = ErrorBody),
        (status = 503, description = "Too many calls are waiting", body = ErrorBody),
        (status = 504, description = "The server did not respond in time", body = ErrorBody),
    )
)]
pub(super) async fn call(
    session: CallSession,
    State(state): State<WebState>,
    PathParam(name): PathParam,
    Json(call): Json<CallToolRequest>,
) -> ApiResult<NoStore<CallToolResponse>> {
    let arguments = call.arguments()?;
    let mut request = CallRequest::new(session.id, name, arguments);
    request.client = Some(session.client.into());
    request.is_lasting = session.is_lasting;
    let outcome = state.hub().call(&request).await?;
    Ok(NoStore(CallToolResponse {
        is_error: outcome.is_error,
        outcome: outcome.kind.as_str(),
        result: outcome.result,
    }))
}
