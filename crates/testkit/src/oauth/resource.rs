//! The protected side: who may send what to the MCP server.

use axum::response::Response;
use serde_json::{Value, json};

use super::behaviour::{Challenge, Refusal, Resource};
use super::metadata::resource_path;
use super::seen::SeenRequest;
use super::state::{Shared, lock};
use super::{mcp, reply};

/// Checks the token, then answers.
pub(super) fn respond(shared: &Shared, seen: &SeenRequest) -> Response {
    let rules = shared.behaviour().resource;
    if seen.method != "POST" {
        return reply::text(405, "text/plain", String::new());
    }
    let message = seen.json();
    let is_call = message["method"] == "tools/call";
    let tool = message["params"]["name"].as_str().unwrap_or_default();
    if is_call || !rules.only_calls {
        let scopes = match scopes_of(shared, &rules, seen) {
            Ok(scopes) => scopes,
            Err(had_token) => return refuse(shared, &rules, &message, had_token),
        };
        if is_call && rules.forbidden.iter().any(|known| known == tool) {
            return reply::text(403, "text/plain", "not for this account".to_owned());
        }
        let needed = rules.step_up.iter().find(|(known, _)| known == tool);
        if let Some((_, scope)) = needed.filter(|_| is_call)
            && !scopes.split(' ').any(|known| known == scope)
        {
            let error = format!("error=\"insufficient_scope\", scope=\"{scope}\"");
            let header = challenge(shared, &rules, &error);
            let refused = reply::text(403, "application/json", String::new());
            return reply::with_header(refused, "www-authenticate", &header);
        }
    }
    if is_call {
        lock(&shared.state).tools_run.push(tool.to_owned());
    }
    mcp::respond(&message)
}

/// The scopes of a valid token; otherwise whether there was any token.
fn scopes_of(shared: &Shared, rules: &Resource, seen: &SeenRequest) -> Result<String, bool> {
    let header = seen.header("authorization").ok_or(false)?;
    let token = header.strip_prefix("Bearer ").ok_or(true)?;
    let state = lock(&shared.state);
    let known = state.access.get(token).ok_or(true)?;
    let is_granted = state
        .grants
        .get(known.grant)
        .is_some_and(|grant| !grant.is_revoked);
    let origin = &shared.resource_origin;
    // A request without `resource` gets a token for whatever the server has.
    let is_ours = known
        .audience
        .as_ref()
        .is_none_or(|audience| audience.starts_with(origin));
    let is_valid = is_granted && known.expires > state.now();
    if is_valid && (is_ours || rules.accepts_any_audience) {
        Ok(known.scope.clone())
    } else {
        Err(true)
    }
}

fn refuse(shared: &Shared, rules: &Resource, message: &Value, had_token: bool) -> Response {
    let error = if had_token {
        "error=\"invalid_token\""
    } else {
        ""
    };
    let challenged = |status: u16| {
        let body = reply::json(status, &json!({"error": "invalid_token"}));
        let header = challenge(shared, rules, error);
        match rules.challenge {
            Challenge::Missing => body,
            Challenge::TwoHeaders => reply::with_header(
                reply::with_header(body, "www-authenticate", "Basic realm=\"other\""),
                "www-authenticate",
                &header,
            ),
            _ => reply::with_header(body, "www-authenticate", &header),
        }
    };
    let id = &message["id"];
    match rules.refusal {
        Refusal::Unauthorized => challenged(401),
        Refusal::Forbidden => challenged(403),
        Refusal::NotFound => reply::text(404, "text/plain", "not here".to_owned()),
        Refusal::ErrorInOk => reply::json(
            200,
            &json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32001, "message": "Unauthorized: token invalid"}}),
        ),
        Refusal::ToolErrorInOk => reply::json(
            200,
            &json!({"jsonrpc": "2.0", "id": id, "result": {"isError": true, "content": [{"type": "text", "text": "401 token invalid"}]}}),
        ),
    }
}

/// The value of `WWW-Authenticate`.
fn challenge(shared: &Shared, rules: &Resource, error: &str) -> String {
    let url = rules.challenge_metadata_url.clone().or_else(|| {
        let path = resource_path(shared)?;
        Some(format!("{}{path}", shared.resource_origin))
    });
    let mut parameters: Vec<String> = Vec::new();
    if !error.is_empty() {
        parameters.push(error.to_owned());
    }
    // The scope of a step-up is the one that counts.
    if let Some(scope) = &rules.challenge_scope
        && !error.contains("scope=")
    {
        parameters.push(format!("scope=\"{scope}\""));
    }
    if let Some(url) = url {
        parameters.push(format!("resource_metadata=\"{url}\""));
    }
    let all = parameters.join(", ");
    match rules.challenge {
        Challenge::Quoted | Challenge::TwoHeaders | Challenge::Missing => format!("Bearer {all}"),
        // A URL has characters that a token may not have, but servers send it without quotes all the same.
        Challenge::Unquoted => format!("BEARER {}", all.replace('"', "")),
        Challenge::Several => {
            format!("Digest realm=\"a, Bearer b\", nonce=\"x\\\"y\", Bearer {all}")
        }
        Challenge::Bare => "Bearer".to_owned(),
        Challenge::Malformed => "\", =, Bearer resource_metadata=\"http://".to_owned(),
    }
}
