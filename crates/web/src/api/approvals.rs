//! Approval requests and decisions.

use axum::extract::State;
use pegboard_model::{ApprovalDecision, ApprovalRequest};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::error::{ApiError, ApiResult, ErrorBody};
use crate::extract::{Json, PathParam};
use crate::response::NoStore;
use crate::role::Admin;
use crate::state::WebState;

/// The approval inbox.
#[derive(Serialize, ToSchema)]
pub(super) struct Approvals {
    /// The approval requests, oldest first.
    approvals: Vec<PendingApproval>,
}

/// A call that waits for a decision.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct PendingApproval {
    /// The id of the request.
    id: String,
    /// The session of the caller.
    session: String,
    /// The client's own name; untrusted text.
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<String>,
    /// The tool's exposed name.
    tool: String,
    /// The server of the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    /// The tool's definition; untrusted text.
    definition: String,
    /// The exact arguments as JSON text, complete.
    arguments: String,
    /// The policy rule that requires the approval.
    rule: String,
    /// The parts of the definition that changed since it was allowed.
    changed: Vec<String>,
    /// Whether `session` is a valid decision: the call belongs to a session with later calls.
    offers_session: bool,
    /// When it was created, in milliseconds since 1970.
    asked_at: u64,
    /// When the request expires.
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

/// Lists the approval requests with their arguments.
#[utoipa::path(
    get,
    operation_id = "listApprovals",
    path = "/approvals",
    tag = "policies",
    security(("admin" = [])),
    responses(
        (status = 200, description = "The approval requests", body = Approvals),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
        (status = 403, description = "The admin token is required", body = ErrorBody),
        (status = 503, description = "The store could not be read", body = ErrorBody),
    )
)]
pub(super) async fn list(_: Admin, State(state): State<WebState>) -> ApiResult<NoStore<Approvals>> {
    let waiting = state.hub().approvals().await?;
    let approvals = waiting.into_iter().map(PendingApproval::from).collect();
    Ok(NoStore(Approvals { approvals }))
}

/// A decision.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DecisionRequest {
    /// `once`, `session`, `always` or `refuse`.
    #[schema(example = "once")]
    decision: String,
}

/// Decides an approval request. A decision applies to exactly the tool and the arguments that were shown.
#[utoipa::path(
    post,
    operation_id = "decideApproval",
    path = "/approvals/{id}",
    tag = "policies",
    security(("admin" = [])),
    params(("id" = String, Path, description = "The id of the approval request")),
    request_body = DecisionRequest,
    responses(
        (status = 200, description = "The decided request", body = PendingApproval),
        (status = 400, description = "The decision is invalid", body = ErrorBody),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
        (status = 403, description = "The admin token is required", body = ErrorBody),
        (status = 404, description = "No such request is waiting", body = ErrorBody),
        (status = 408, description = "The body did not arrive in time", body = ErrorBody),
        (status = 413, description = "The body is too large", body = ErrorBody),
        (status = 415, description = "The body is not declared as JSON", body = ErrorBody),
        (status = 503, description = "The store could not be written", body = ErrorBody),
    )
)]
pub(super) async fn decide(
    admin: Admin,
    State(state): State<WebState>,
    PathParam(id): PathParam,
    Json(request): Json<DecisionRequest>,
) -> ApiResult<NoStore<PendingApproval>> {
    let Some(decision) = decision(&request.decision) else {
        let message = "`decision` must be `once`, `session`, `always` or `refuse`";
        return Err(ApiError::at_field("decision", message));
    };
    let decided = state
        .hub()
        .decide_approval(&id, decision, admin.actor())
        .await?;
    Ok(NoStore(decided.into()))
}

fn decision(text: &str) -> Option<ApprovalDecision> {
    match text {
        "deny" => Some(ApprovalDecision::Refuse),
        _ => ApprovalDecision::parse(text),
    }
}
