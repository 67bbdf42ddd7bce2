//! Policy rules.

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
use crate::response::with_etag;
use crate::role::{Admin, Authorized};
use crate::state::WebState;

/// Largest length of a pattern.
const PATTERN_CHARACTERS: usize = 300;

/// All rules.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Rules {
    /// The rules; rules for all servers come first.
    rules: Vec<Rule>,
    /// When a tool that is annotated as destructive and has no rule asks: `never`, `when_possible` or `always`.
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
    /// The server whose tools it applies to; absent for all servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    /// The configuration layer.
    #[schema(value_type = String, example = "user")]
    layer: Layer,
    /// The file.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// The line.
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

/// Lists all rules.
#[utoipa::path(
    get,
    operation_id = "listPolicies",
    path = "/policies",
    tag = "policies",
    responses(
        (status = 200, description = "All rules", body = Rules),
        (status = 304, description = "Unchanged since the response with this `ETag`"),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
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
    let response = Rules {
        rules,
        ask_destructive: global.ask_destructive,
    };
    with_etag(&headers, &response)
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

/// A rule to set.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SetRuleRequest {
    /// A tool's name, a pattern with `*` and `?`, or an annotation such as `@destructive`.
    #[schema(example = "delete_*", max_length = 300)]
    pattern: String,
    /// `allow`, `ask`, `deny` or `disable`.
    #[schema(value_type = String, example = "ask")]
    policy: Policy,
    /// The server whose tools it applies to; absent for all servers.
    server: Option<String>,
}

/// Identifies a rule.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct RuleQuery {
    /// The pattern as written in the file.
    pattern: String,
    /// The server whose table contains it; absent for the table of all servers.
    server: Option<String>,
}

/// Sets a rule in the user's file, or in the server's file.
#[utoipa::path(
    put,
    operation_id = "setPolicy",
    path = "/policies",
    tag = "policies",
    security(("admin" = [])),
    request_body = SetRuleRequest,
    responses(
        (status = 204, description = "The rule was set"),
        (status = 400, description = "The rule is invalid", body = ErrorBody),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
        (status = 403, description = "The admin token is required", body = ErrorBody),
        (status = 404, description = "No such server is configured", body = ErrorBody),
        (status = 408, description = "The body did not arrive in time", body = ErrorBody),
        (status = 413, description = "The body is too large", body = ErrorBody),
        (status = 415, description = "The body is not declared as JSON", body = ErrorBody),
    )
)]
pub(super) async fn set(
    admin: Admin,
    State(state): State<WebState>,
    Json(rule): Json<SetRuleRequest>,
) -> ApiResult<StatusCode> {
    let server = find_server(&state, rule.server.as_deref())?;
    let pattern = check_pattern(&rule.pattern)?;
    state
        .config_admin()
        .set_rule(server.as_ref(), pattern, Some(rule.policy))
        .await?;
    record(&state, &admin, server, pattern, rule.policy.as_str());
    Ok(StatusCode::NO_CONTENT)
}

/// Removes a rule.
#[utoipa::path(
    delete,
    operation_id = "unsetPolicy",
    path = "/policies",
    tag = "policies",
    security(("admin" = [])),
    params(RuleQuery),
    responses(
        (status = 204, description = "The rule was removed"),
        (status = 400, description = "A query parameter is invalid", body = ErrorBody),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
        (status = 403, description = "The admin token is required", body = ErrorBody),
        (status = 404, description = "No such rule or server", body = ErrorBody),
    )
)]
pub(super) async fn unset(
    admin: Admin,
    State(state): State<WebState>,
    Query(query): Query<RuleQuery>,
) -> ApiResult<StatusCode> {
    let server = find_server(&state, query.server.as_deref())?;
    let pattern = check_pattern(&query.pattern)?;
    match state
        .config_admin()
        .set_rule(server.as_ref(), pattern, None)
        .await?
    {
        true => {
            record(&state, &admin, server, pattern, "unset");
            Ok(StatusCode::NO_CONTENT)
        }
        false => Err(ApiError::of(Reason::RuleUnknown)),
    }
}

fn find_server(state: &WebState, name: Option<&str>) -> ApiResult<Option<ServerName>> {
    let Some(name) = name else {
        return Ok(None);
    };
    let catalog = state.hub().catalog();
    match ServerName::parse(name) {
        Ok(name) if catalog.server(&name).is_some() => Ok(Some(name)),
        _ => Err(unknown_server(name)),
    }
}

fn check_pattern(pattern: &str) -> ApiResult<&str> {
    let is_valid = !pattern.trim().is_empty()
        && pattern.chars().count() <= PATTERN_CHARACTERS
        && !pattern.chars().any(char::is_control);
    match is_valid {
        true => Ok(pattern),
        false => Err(ApiError::at_field(
            "pattern",
            "a pattern must not be empty, longer than 300 characters or contain control characters",
        )),
    }
}

fn record(
    state: &WebState,
    admin: &Admin,
    server: Option<ServerName>,
    pattern: &str,
    change: &str,
) {
    state.hub().record_activity(Activity {
        session: Some(admin.actor().to_owned()),
        client: Some(admin.actor().to_owned()),
        server,
        tool: Some(pattern.to_owned()),
        ..Activity::new(
            state.clock().now(),
            ActivityKind::Config,
            format!("policy {change}"),
        )
    });
}
