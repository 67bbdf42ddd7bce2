//! The rules of the policies, and which of them decides.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use pegboard_model::{
    Activity, ActivityKind, AskDestructive, Layer, Origin, Policy, Reason, ServerName, ServerSpec,
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::error::{ApiError, ApiResult, ErrorBody};
use crate::extract::{Json, Query, unknown_server};
use crate::response::json_with_etag;
use crate::role::{Admin, Authorized};
use crate::state::WebState;

/// Characters of a pattern at the most.
const PATTERN_CHARACTERS: usize = 300;

/// Every rule.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Rules {
    /// The rules, those for all servers first.
    rules: Vec<Rule>,
    /// When a tool that is annotated as destructive asks without a rule: `never`, `when_possible` or `always`.
    #[schema(value_type = String, example = "when_possible")]
    ask_destructive: AskDestructive,
}

/// One rule.
#[derive(Serialize, ToSchema)]
pub(super) struct Rule {
    /// A tool's name, a pattern with `*` and `?`, or an annotation such as `@destructive`.
    pattern: String,
    /// `allow`, `ask`, `deny` or `disable`.
    #[schema(value_type = String, example = "ask")]
    policy: Policy,
    /// The server whose tools it is for; left out for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    /// The layer that it stands in.
    #[schema(value_type = String, example = "user")]
    layer: Layer,
    /// The file that it stands in.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// The line in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
}

impl Rule {
    fn new(pattern: &str, policy: Policy, server: Option<&ServerName>, origin: &Origin) -> Self {
        let file = origin.file.as_ref();
        Self {
            pattern: pattern.to_owned(),
            policy,
            server: server.map(ToString::to_string),
            layer: origin.layer,
            file: file.map(|file| file.display().to_string()),
            line: origin.line,
        }
    }
}

/// Lists every rule.
#[utoipa::path(
    get,
    operation_id = "listPolicies",
    path = "/policies",
    tag = "policies",
    responses(
        (status = 200, description = "Every rule", body = Rules),
        (status = 304, description = "Nothing changed since the answer with this `ETag`"),
        (status = 401, description = "The token is missing or wrong", body = ErrorBody),
    )
)]
pub(super) async fn list(
    _: Authorized,
    State(state): State<WebState>,
    headers: HeaderMap,
) -> Response {
    let global = state.hub().rules();
    let all = global.rules.iter();
    let mut rules: Vec<Rule> = all
        .map(|rule| Rule::new(&rule.pattern, rule.policy, None, &rule.origin))
        .collect();
    let catalog = state.hub().catalog();
    for entry in catalog.servers() {
        rules.extend(server_rules(&entry.spec));
    }
    let answer = Rules {
        rules,
        ask_destructive: global.ask_destructive,
    };
    json_with_etag(&headers, &answer)
}

fn server_rules(spec: &ServerSpec) -> Vec<Rule> {
    let at = |key: String| Origin {
        line: spec.rules.lines.get(&key).copied().or(spec.origin.line),
        ..spec.origin.clone()
    };
    let name = Some(&spec.name);
    let whole = spec.policy.iter();
    let whole = whole.map(|policy| Rule::new("*", *policy, name, &at("policy".to_owned())));
    let single = spec.policies.iter().map(|(pattern, policy)| {
        Rule::new(pattern, *policy, name, &at(format!("policies.{pattern}")))
    });
    let off = spec
        .tools
        .iter()
        .filter(|(_, tool)| tool.enabled == Some(false));
    let off = off.map(|(tool, _)| {
        Rule::new(
            tool,
            Policy::Disable,
            name,
            &at(format!("tools.{tool}.enabled")),
        )
    });
    let kept = spec.rules.user_rules.iter();
    let kept = kept.map(|rule| Rule::new(&rule.pattern, rule.policy, name, &rule.origin));
    whole.chain(single).chain(off).chain(kept).collect()
}

/// A rule to be set.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SetRuleRequest {
    /// A tool's name, a pattern with `*` and `?`, or an annotation such as `@destructive`.
    #[schema(example = "delete_*", max_length = 300)]
    pattern: String,
    /// `allow`, `ask`, `deny` or `disable`.
    #[schema(value_type = String, example = "ask")]
    policy: Policy,
    /// The server whose tools it is for; left out for all.
    server: Option<String>,
}

/// Which rule is meant.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct RuleQuery {
    /// The pattern as it stands in the file.
    pattern: String,
    /// The server in whose table it stands; left out for the table for all.
    server: Option<String>,
}

/// Sets a rule in the user's file, or in the file of the server.
#[utoipa::path(
    put,
    operation_id = "setPolicy",
    path = "/policies",
    tag = "policies",
    security(("admin" = [])),
    request_body = SetRuleRequest,
    responses(
        (status = 204, description = "It holds from now on"),
        (status = 400, description = "The rule is wrong", body = ErrorBody),
        (status = 401, description = "The token is missing or wrong", body = ErrorBody),
        (status = 403, description = "The admin token is needed", body = ErrorBody),
        (status = 404, description = "No such server is configured", body = ErrorBody),
        (status = 408, description = "The body did not come in time", body = ErrorBody),
        (status = 413, description = "The body is too large", body = ErrorBody),
        (status = 415, description = "The body is not declared as JSON", body = ErrorBody),
    )
)]
pub(super) async fn set(
    admin: Admin,
    State(state): State<WebState>,
    Json(rule): Json<SetRuleRequest>,
) -> ApiResult<StatusCode> {
    let server = server(&state, rule.server.as_deref())?;
    let pattern = pattern(&rule.pattern)?;
    state
        .config_admin()
        .set_rule(server.as_ref(), pattern, Some(rule.policy))
        .await?;
    record_change(&state, &admin, server, pattern, rule.policy.as_str());
    Ok(StatusCode::NO_CONTENT)
}

/// Takes a rule out.
#[utoipa::path(
    delete,
    operation_id = "unsetPolicy",
    path = "/policies",
    tag = "policies",
    security(("admin" = [])),
    params(RuleQuery),
    responses(
        (status = 204, description = "It is gone"),
        (status = 400, description = "The query is wrong", body = ErrorBody),
        (status = 401, description = "The token is missing or wrong", body = ErrorBody),
        (status = 403, description = "The admin token is needed", body = ErrorBody),
        (status = 404, description = "No such rule or server is there", body = ErrorBody),
    )
)]
pub(super) async fn unset(
    admin: Admin,
    State(state): State<WebState>,
    Query(query): Query<RuleQuery>,
) -> ApiResult<StatusCode> {
    let server = server(&state, query.server.as_deref())?;
    let pattern = pattern(&query.pattern)?;
    match state
        .config_admin()
        .set_rule(server.as_ref(), pattern, None)
        .await?
    {
        true => {
            record_change(&state, &admin, server, pattern, "unset");
            Ok(StatusCode::NO_CONTENT)
        }
        false => Err(ApiError::of(Reason::RuleUnknown)),
    }
}

fn server(state: &WebState, name: Option<&str>) -> ApiResult<Option<ServerName>> {
    let Some(name) = name else {
        return Ok(None);
    };
    let catalog = state.hub().catalog();
    match ServerName::parse(name) {
        Ok(name) if catalog.server(&name).is_some() => Ok(Some(name)),
        _ => Err(unknown_server(name)),
    }
}

fn pattern(pattern: &str) -> ApiResult<&str> {
    let is_good = !pattern.trim().is_empty()
        && pattern.chars().count() <= PATTERN_CHARACTERS
        && !pattern.chars().any(char::is_control);
    match is_good {
        true => Ok(pattern),
        false => Err(ApiError::at_field(
            "pattern",
            "this is no tool's name and no pattern",
        )),
    }
}

fn record_change(
    state: &WebState,
    admin: &Admin,
    server: Option<ServerName>,
    pattern: &str,
    what: &str,
) {
    state.hub().record_activity(Activity {
        session: Some(admin.actor().to_owned()),
        server,
        tool: Some(pattern.to_owned()),
        ..Activity::new(
            state.clock().now(),
            ActivityKind::Config,
            format!("policy {what}"),
        )
    });
}
