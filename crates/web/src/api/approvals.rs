//! Calls that wait for a person, and the person's answers.

use axum::extract::State;
use pegboard_model::{ApprovalDecision, ApprovalRequest};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::error::{ApiError, ApiResult, ErrorBody};
use crate::extract::{Json, PathParam};
use crate::response::NoStoreJson;
use crate::role::Admin;
use crate::state::WebState;

/// The inbox.
#[derive(Serialize, ToSchema)]
pub(super) struct Approvals {
    /// The calls that wait, the oldest first.
    approvals: Vec<PendingApproval>,
}

/// A call that waits for a person.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct PendingApproval {
    /// Its number.
    id: String,
    /// The session that calls.
    session: String,
    /// What the client calls itself; foreign text.
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<String>,
    /// The tool's exposed name.
    tool: String,
    /// The server that has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    /// The tool's definition; foreign text.
    definition: String,
    /// The exact arguments as JSON text, complete.
    arguments: String,
    /// The rule that asks.
    rule: String,
    /// Where the tool differs from the version that was allowed before.
    changed: Vec<String>,
    /// Whether `session` is a possible decision: the call belongs to a session whose later calls it would cover.
    offers_session: bool,
    /// When it was asked, in milliseconds since 1970.
    asked_at: u64,
    /// From when on no answer counts any more.
    expires_at: u64,
}

impl From<ApprovalRequest> for PendingApproval {
    fn from(request: ApprovalRequest) -> Self {
        Self {
            id: request.id,
            session: request.session,
            client: request.client,
            tool: request.tool,
            server: request.version.server.map(|server| server.to_string()),
            definition: request.definition,
            arguments: request.arguments,
            rule: request.rule,
            changed: request.changed,
            offers_session: request.offers_session,
            asked_at: request.asked_at.0,
            expires_at: request.expires_at.0,
        }
    }
}

/// Lists the calls that wait for a person, with their arguments.
#[utoipa::path(
    get,
    operation_id = "listApprovals",
    path = "/approvals",
    tag = "policies",
    security(("admin" = [])),
    responses(
        (status = 200, description = "The calls that wait", body = Approvals),
        (status = 401, description = "The token is missing or wrong", body = ErrorBody),
        (status = 403, description = "The admin token is needed", body = ErrorBody),
        (status = 503, description = "The store could not be read", body = ErrorBody),
    )
)]
pub(super) async fn list(
    _: Admin,
    State(state): State<WebState>,
) -> ApiResult<NoStoreJson<Approvals>> {
    let waiting = state.hub().approvals().await?;
    let approvals = waiting.into_iter().map(PendingApproval::from).collect();
    Ok(NoStoreJson(Approvals { approvals }))
}

/// A person's answer.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DecisionRequest {
    /// `once`, `session`, `always` or `refuse`.
    #[schema(example = "once")]
    decision: String,
}

/// Answers a call that waits. An answer is good for exactly the tool and the arguments that were shown.
#[utoipa::path(
    post,
    operation_id = "decideApproval",
    path = "/approvals/{id}",
    tag = "policies",
    security(("admin" = [])),
    params(("id" = String, Path, description = "The number of the call")),
    request_body = DecisionRequest,
    responses(
        (status = 200, description = "What was answered", body = PendingApproval),
        (status = 400, description = "This is no answer", body = ErrorBody),
        (status = 401, description = "The token is missing or wrong", body = ErrorBody),
        (status = 403, description = "The admin token is needed", body = ErrorBody),
        (status = 404, description = "No such call waits", body = ErrorBody),
        (status = 408, description = "The body did not come in time", body = ErrorBody),
        (status = 413, description = "The body is too large", body = ErrorBody),
        (status = 415, description = "The body is not declared as JSON", body = ErrorBody),
        (status = 503, description = "The store could not be written", body = ErrorBody),
    )
)]
pub(super) async fn decide(
    admin: Admin,
    State(state): State<WebState>,
    PathParam(id): PathParam,
    Json(answer): Json<DecisionRequest>,
) -> ApiResult<NoStoreJson<PendingApproval>> {
    let Some(decision) = decision(&answer.decision) else {
        let message = "`decision` is none of `once`, `session`, `always` and `refuse`";
        return Err(ApiError::at_field("decision", message));
    };
    let answered = state
        .hub()
        .decide_approval(&id, decision, admin.actor())
        .await?;
    Ok(NoStoreJson(answered.into()))
}

fn decision(word: &str) -> Option<ApprovalDecision> {
    match word {
        "deny" => Some(ApprovalDecision::Refuse),
        _ => ApprovalDecision::parse(word),
    }
}
