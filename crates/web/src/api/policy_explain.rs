//! Explains which rule decides for a tool.

use axum::extract::State;
use pegboard_model::Policy;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::error::{ApiResult, ErrorBody};
use crate::extract::Query;
use crate::response::NoStore;
use crate::role::Authorized;
use crate::state::WebState;

/// Identifies a tool.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ExplainQuery {
    /// The tool, as `server__tool` or `server/tool`.
    tool: String,
}

/// The policy of a tool with the rules behind it.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct PolicyExplanation {
    /// The tool's exposed name.
    tool: String,
    /// The effective policy.
    #[schema(value_type = String, example = "ask")]
    policy: Policy,
    /// Whether it asks if a person can be asked, although the policy is `allow`.
    asks_if_possible: bool,
    /// All matching rules, the deciding one first.
    rules: Vec<MatchingRule>,
}

/// A rule that matches a tool.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct MatchingRule {
    /// The rule as written in the configuration.
    rule: String,
    /// Its policy.
    #[schema(value_type = String, example = "allow")]
    policy: Policy,
    /// Whether it decides.
    decides: bool,
    /// Why it lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    lost_because: Option<String>,
    /// The file.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// The line.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
}

/// Explains which rule decides for a tool, and why the others lost.
#[utoipa::path(
    get,
    operation_id = "explainPolicy",
    path = "/policies/explain",
    tag = "policies",
    params(ExplainQuery),
    responses(
        (status = 200, description = "The policy and its rules", body = PolicyExplanation),
        (status = 400, description = "A query parameter is invalid", body = ErrorBody),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
        (status = 404, description = "The tool is unknown", body = ErrorBody),
    )
)]
pub(super) async fn explain(
    _: Authorized,
    State(state): State<WebState>,
    Query(query): Query<ExplainQuery>,
) -> ApiResult<NoStore<PolicyExplanation>> {
    let (tool, weighed) = state.hub().explain_policy(&query.tool)?;
    let rules = weighed.rules.iter().map(|rule| {
        let origin = rule.origin.as_ref();
        let file = origin.and_then(|origin| origin.file.as_ref());
        MatchingRule {
            rule: rule.rule.clone(),
            policy: rule.policy,
            decides: rule.lost_because.is_none(),
            lost_because: rule.lost_because.clone(),
            file: file.map(|file| file.display().to_string()),
            line: origin.and_then(|origin| origin.line),
        }
    });
    Ok(NoStore(PolicyExplanation {
        tool,
        policy: weighed.decision.policy,
        asks_if_possible: weighed.decision.asks_if_possible,
        rules: rules.collect(),
    }))
}
