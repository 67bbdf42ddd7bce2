//! The routes of the scripted model: one for each emulated service.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::post;
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};

use super::script::{ModelTurn, StreamBreak};
use super::{ModelRequest, Shared, anthropic, chat, gemini, lock, openai, request_rules};

/// Largest request.
const REQUEST_BYTES: usize = 64 * 1024 * 1024;

/// The routes of all services.
pub(super) fn routes(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/v1/messages", post(messages))
        .route("/v1/responses", post(responses))
        .route("/v1/chat/completions", post(completions))
        .route("/v1beta/models/{call}", post(generate))
        .layer(DefaultBodyLimit::max(REQUEST_BYTES))
        .with_state(shared)
}

/// An emulated service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Service {
    Anthropic,
    OpenAi,
    OpenAiChat,
    Gemini,
}

impl Service {
    fn path(self) -> &'static str {
        match self {
            Self::Anthropic => "/v1/messages",
            Self::OpenAi => "/v1/responses",
            Self::OpenAiChat => "/v1/chat/completions",
            Self::Gemini => "/v1beta/models",
        }
    }

    fn broken_rules(self, request: &Value) -> Vec<String> {
        match self {
            Self::Anthropic => request_rules::anthropic(request),
            Self::OpenAi => request_rules::openai(request),
            Self::OpenAiChat => request_rules::openai_chat(request),
            // Only clients of other programs use it, and their requests are not checked.
            Self::Gemini => Vec::new(),
        }
    }

    fn events(self, turn: &ModelTurn, model: &str) -> Vec<Value> {
        match self {
            Self::Anthropic => anthropic::events(turn, model),
            Self::OpenAi => openai::events(turn, model),
            Self::Gemini => vec![gemini::response(turn, model)],
            Self::OpenAiChat => Vec::new(),
        }
    }

    /// The response to a request without streaming. Gemini's requests always stream.
    fn whole(self, turn: &ModelTurn, model: &str) -> Option<Value> {
        match self {
            Self::Anthropic => Some(anthropic::message(turn, model)),
            Self::OpenAi => Some(openai::response(turn, model)),
            Self::OpenAiChat => Some(chat::completion(turn, model)),
            Self::Gemini => None,
        }
    }
}

async fn messages(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    // The service accepts the key in either header; its SDK sends the second.
    let has_key = headers.contains_key("x-api-key") || headers.contains_key("authorization");
    let is_whole = has_key && headers.contains_key("anthropic-version");
    let missing = (!is_whole).then(|| "a key or `anthropic-version` is missing".to_owned());
    respond(&shared, Service::Anthropic, missing, &body)
}

async fn responses(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    respond(&shared, Service::OpenAi, missing_bearer(&headers), &body)
}

async fn completions(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    respond(
        &shared,
        Service::OpenAiChat,
        missing_bearer(&headers),
        &body,
    )
}

fn missing_bearer(headers: &HeaderMap) -> Option<String> {
    let bearer = headers
        .get("authorization")
        .and_then(|value| value.to_str().ok());
    let has_bearer = bearer.is_some_and(|value| value.len() > "Bearer ".len());
    (!has_bearer).then(|| "a bearer token is missing".to_owned())
}

/// `call` is `MODEL:streamGenerateContent`.
async fn generate(
    State(shared): State<Arc<Shared>>,
    Path(call): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if !call.ends_with(":streamGenerateContent") {
        let text = format!("`{call}`: the scripted model only streams");
        lock(&shared.violations).push(text.clone());
        return refusal(404, "NOT_FOUND", &text, None);
    }
    let has_key = headers.contains_key("x-goog-api-key");
    let missing = (!has_key).then(|| "`x-goog-api-key` is missing".to_owned());
    respond(&shared, Service::Gemini, missing, &body)
}

fn respond(shared: &Shared, service: Service, missing: Option<String>, body: &[u8]) -> Response {
    let document: Value = serde_json::from_slice(body).unwrap_or_default();
    let main_tool = shared.main_tool.as_deref();
    let is_side = main_tool.is_some_and(|tool| !offers(&document["tools"], tool));
    lock(&shared.requests).push(ModelRequest {
        path: service.path(),
        body: document.clone(),
        is_side,
    });
    let mut violations: Vec<String> = missing.into_iter().collect();
    if main_tool.is_none() {
        violations.extend(service.broken_rules(&document));
    }
    if !violations.is_empty() {
        let text = violations.join("; ");
        lock(&shared.violations).extend(violations);
        return refusal(400, "invalid_request_error", &text, None);
    }
    let Some(turn) = next_turn(shared, is_side) else {
        let text = "the script is over";
        lock(&shared.violations).push(text.to_owned());
        return refusal(400, "invalid_request_error", text, None);
    };
    if let Some(status) = turn.status {
        let kind = turn.error.as_deref().unwrap_or("overloaded_error");
        return refusal(
            status,
            kind,
            "as the script says",
            turn.retry_after.as_deref(),
        );
    }
    let model = document["model"].as_str().unwrap_or_default();
    let is_whole = document["stream"] != true;
    if let Some(whole) = service.whole(&turn, model).filter(|_| is_whole) {
        return json_response(200, &whole);
    }
    streamed(service.events(&turn, model), &turn)
}

fn next_turn(shared: &Shared, is_side: bool) -> Option<ModelTurn> {
    if !is_side {
        return lock(&shared.turns).pop_front();
    }
    Some(ModelTurn {
        text: Some("A side request".to_owned()),
        ..ModelTurn::default()
    })
}

/// Whether the tools of a request include one whose name ends with this one, at any depth: OpenAI groups tools by
/// namespace, Gemini by kind.
fn offers(tools: &Value, name: &str) -> bool {
    match tools {
        Value::Array(entries) => entries.iter().any(|entry| offers(entry, name)),
        Value::Object(tool) => {
            let own = tool.get("name").and_then(Value::as_str);
            let groups = ["tools", "functionDeclarations"];
            own.is_some_and(|own| own.ends_with(name))
                || groups
                    .iter()
                    .filter_map(|group| tool.get(*group))
                    .any(|inner| offers(inner, name))
        }
        _ => false,
    }
}

/// The events in small pieces, split anywhere, and broken off if the script says so.
fn streamed(events: Vec<Value>, turn: &ModelTurn) -> Response {
    let mut text = String::new();
    for event in &events {
        // Gemini's events have no names.
        if let Some(name) = event["type"].as_str() {
            text.push_str(&format!("event: {name}\n"));
        }
        text.push_str(&format!("data: {event}\n\n"));
    }
    let mut bytes = text.into_bytes();
    if turn.breaks.is_some() {
        // In the middle of an event, in the second half of the stream.
        bytes.truncate(bytes.len() * 3 / 5);
    }
    let pieces: Vec<_> = bytes.chunks(97).map(Bytes::copy_from_slice).collect();
    let pieces = stream::iter(pieces.into_iter().map(Ok::<_, std::io::Error>));
    let body = match turn.breaks {
        None | Some(StreamBreak::Eof) => Body::from_stream(pieces),
        Some(StreamBreak::Reset) => {
            let broken = stream::once(async { Err(std::io::Error::other("as the script says")) });
            Body::from_stream(pieces.chain(broken))
        }
        Some(StreamBreak::Hang) => Body::from_stream(pieces.chain(stream::pending())),
    };
    Response::builder()
        .status(StatusCode::OK)
        .header("content-type", "text/event-stream; charset=utf-8")
        .header("request-id", "req_scripted")
        .body(body)
        .expect("a response of fixed headers")
}

fn json_response(status: u16, body: &Value) -> Response {
    Response::builder()
        .status(status)
        .header("content-type", "application/json")
        .body(Body::from(body.to_string()))
        .expect("a response of fixed headers")
}

fn refusal(status: u16, kind: &str, text: &str, retry_after: Option<&str>) -> Response {
    let body = json!({"type": "error", "error": {"type": kind, "message": text, "code": null, "param": null}});
    let mut response = Response::builder()
        .status(status)
        .header("content-type", "application/json");
    if let Some(seconds) = retry_after {
        response = response.header("retry-after", seconds);
    }
    response
        .body(Body::from(body.to_string()))
        .expect("a status of the script")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_main_tool_is_recognised_in_every_services_list() {
        let check = |tools: Value, expected: bool| {
            assert_eq!(offers(&tools, "search_tools"), expected, "{tools}");
        };
        check(json!([{"name": "mcp__pegboard__search_tools"}]), true);
        check(
            json!([{"type": "namespace", "name": "mcp__pegboard", "tools": [{"name": "search_tools"}]}]),
            true,
        );
        check(
            json!([{"functionDeclarations": [{"name": "mcp_pegboard_search_tools"}]}]),
            true,
        );
        check(json!([{"name": "bash"}, {"type": "web_search"}]), false);
        check(Value::Null, false);
    }
}
