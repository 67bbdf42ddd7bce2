//! The routes: the stream, and the endpoint for messages.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::{get, post};
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::lock;
use super::script::{SseFault, SsePost, SseScript};

/// What all requests share.
pub(super) struct Shared {
    pub(super) script: Mutex<SseScript>,
    /// The open streams by session id.
    pub(super) sessions: Mutex<BTreeMap<String, UnboundedSender<String>>>,
    pub(super) opened: Mutex<Vec<String>>,
    pub(super) methods: Mutex<Vec<String>>,
    pub(super) tools_run: Mutex<Vec<String>>,
    pub(super) requests: Mutex<usize>,
}

impl Shared {
    pub(super) fn new(script: SseScript) -> Self {
        Self {
            script: Mutex::new(script),
            sessions: Mutex::default(),
            opened: Mutex::default(),
            methods: Mutex::default(),
            tools_run: Mutex::default(),
            requests: Mutex::default(),
        }
    }

    /// Counts a request; refuses one without the token.
    fn enter(&self, headers: &HeaderMap) -> Result<SseScript, Response> {
        *lock(&self.requests) += 1;
        let script = lock(&self.script).clone();
        let bearer = headers
            .get("authorization")
            .and_then(|value| value.to_str().ok());
        let wanted = script.token.as_ref().map(|token| format!("Bearer {token}"));
        match wanted.is_none() || bearer == wanted.as_deref() {
            true => Ok(script),
            false => Err(status(401)),
        }
    }
}

pub(super) fn routes(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/sse", get(open).post(detect))
        .route("/messages", post(message))
        .with_state(shared)
}

async fn open(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Response {
    let script = match shared.enter(&headers) {
        Ok(script) => script,
        Err(refused) => return refused,
    };
    match &script.fault {
        SseFault::StreamStatus(code) => return status(*code),
        SseFault::StreamRedirect(to) => {
            let redirect = Response::builder().status(307).header("location", to);
            return redirect.body(Body::empty()).expect("a redirect");
        }
        SseFault::NotAStream => return page("text/html", "<p>Welcome</p>"),
        _ => {}
    }
    new_stream(&shared, &script)
}

/// Opens a session and its stream.
fn new_stream(shared: &Shared, script: &SseScript) -> Response {
    let id = format!("sse-session-{:08x}", random());
    let (sender, receiver) = unbounded_channel();
    let send = |text: &str| drop(sender.send(text.to_owned()));
    let endpoint = match &script.fault {
        SseFault::Endpoint(other) => other.replace("SESSION", &id),
        _ => format!("/messages?session_id={id}"),
    };
    let event = format!("event: endpoint\ndata: {endpoint}\n\n");
    match script.fault {
        SseFault::NoEndpoint => send(": nothing to see\n\n"),
        SseFault::LateEndpoint => {
            (0..1000).for_each(|_| send("event: ping\ndata: 1\n\n"));
            send(&event);
        }
        SseFault::SameEndpointTwice => (0..2).for_each(|_| send(&event)),
        _ => send(&event),
    }
    if script.chatty {
        send(": a comment\n\nevent: ping\ndata: {}\n\ndata:\n\nretry: 10\n\n");
    }
    let ends = script.fault == SseFault::EndsAtOnce;
    let endless = script.fault == SseFault::EndlessEvent;
    lock(&shared.opened).push(id.clone());
    if !ends {
        lock(&shared.sessions).insert(id, sender);
    }
    let crlf = script.crlf;
    let begin = if ends { Vec::new() } else { vec![receiver] };
    let lines = stream::iter(begin).flat_map(move |receiver| {
        texts(receiver).map(move |text| {
            if crlf {
                text.replace('\n', "\r\n")
            } else {
                text
            }
        })
    });
    let lines = lines.map(|text| Ok::<_, Infallible>(Bytes::from(text)));
    if endless {
        let start = format!("event: endpoint\ndata: {endpoint}\n\ndata: ");
        let start = stream::once(async move { Ok::<_, Infallible>(Bytes::from(start)) });
        let rest = stream::repeat(Bytes::from("x".repeat(64 * 1024))).map(Ok);
        return streamed(Body::from_stream(start.chain(rest)));
    }
    streamed(Body::from_stream(lines))
}

fn texts(receiver: UnboundedReceiver<String>) -> impl stream::Stream<Item = String> + Send {
    stream::unfold(receiver, |mut receiver| async move {
        let text = receiver.recv().await?;
        Some((text, receiver))
    })
}

/// A POST at the URL of the stream, as clients of newer transports send it.
async fn detect(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    let script = match shared.enter(&headers) {
        Ok(script) => script,
        Err(refused) => return refused,
    };
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    match script.post {
        SsePost::MethodNotAllowed => status(405),
        SsePost::NotFound => status(404),
        SsePost::Gone => status(410),
        SsePost::Stream => new_stream(&shared, &script),
        SsePost::BadRequest => {
            let error = json!({"code": -32600, "message": "Bad Request"});
            let text = json!({"jsonrpc": "2.0", "id": message["id"], "error": error}).to_string();
            let mut response = page("application/json", &text);
            *response.status_mut() = axum::http::StatusCode::BAD_REQUEST;
            response
        }
    }
}

async fn message(
    State(shared): State<Arc<Shared>>,
    Query(query): Query<BTreeMap<String, String>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let script = match shared.enter(&headers) {
        Ok(script) => script,
        Err(refused) => return refused,
    };
    let id = query.get("session_id").cloned().unwrap_or_default();
    let Some(stream) = lock(&shared.sessions).get(&id).cloned() else {
        return page_with(404, &format!("Could not find session {id}"));
    };
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let method = message["method"].as_str().unwrap_or_default().to_owned();
    lock(&shared.methods).push(method.clone());
    let is_call = method == "tools/call";
    let tool = message["params"]["name"].as_str().unwrap_or_default();
    if is_call && !matches!(script.fault, SseFault::CallStatus(_)) {
        lock(&shared.tools_run).push(tool.to_owned());
    }
    match script.fault {
        SseFault::CallStatus(code) if is_call => return status(code),
        SseFault::DropsAtCall(times) if is_call && times > 0 => {
            lock(&shared.script).fault = SseFault::DropsAtCall(times - 1);
            lock(&shared.sessions).remove(&id);
            return status(202);
        }
        SseFault::SilentAtCall if is_call => return status(202),
        SseFault::SilentAtInitialize if method == "initialize" => return status(202),
        SseFault::OtherEndpointLater if method == "notifications/initialized" => {
            let _ = stream.send("event: endpoint\ndata: /elsewhere\n\n".to_owned());
        }
        _ => {}
    }
    if let Some(answer) = answer(&message, &script) {
        let _ = stream.send(answer);
    }
    if script.late_acknowledgement && is_call {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    status(202)
}

/// The event with the answer to a request.
fn answer(message: &Value, script: &SseScript) -> Option<String> {
    let id = &message["id"];
    let method = message["method"].as_str().filter(|_| !id.is_null())?;
    let result = match method {
        "initialize" => json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {"listChanged": true}},
            "serverInfo": {"name": "old", "version": "1"},
        }),
        "ping" => json!({}),
        "tools/list" => json!({"tools": [
            {"name": "look", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}},
            {"name": "write", "inputSchema": {"type": "object"}},
        ]}),
        "tools/call" => {
            let size = match script.fault {
                SseFault::LargeAnswer(bytes) => bytes,
                _ => 2,
            };
            json!({"content": [{"type": "text", "text": "k".repeat(size)}]})
        }
        _ => {
            let error = json!({"code": -32601, "message": "Method not found"});
            return Some(event(
                &json!({"jsonrpc": "2.0", "id": id, "error": error}),
                script,
            ));
        }
    };
    if script.fault == SseFault::DamagedAnswer && method == "tools/call" {
        return Some(format!(
            "event: message\ndata: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{]\n\n"
        ));
    }
    Some(event(
        &json!({"jsonrpc": "2.0", "id": id, "result": result}),
        script,
    ))
}

fn event(message: &Value, script: &SseScript) -> String {
    if !script.chatty {
        return format!("event: message\ndata: {message}\n\n");
    }
    let lines = serde_json::to_string_pretty(message).expect("a message");
    let lines: String = lines
        .lines()
        .map(|line| format!("data: {line}\n"))
        .collect();
    format!(": before\nevent: message\nid: 7\n{lines}\n: after\n\ndata: not a message\n\n")
}

fn random() -> u64 {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).expect("random bytes of the system");
    u64::from_le_bytes(bytes)
}

fn status(code: u16) -> Response {
    page_with(code, "")
}

fn page_with(code: u16, text: &str) -> Response {
    let response = Response::builder().status(code);
    response
        .body(Body::from(text.to_owned()))
        .expect("a status of the script")
}

fn page(kind: &str, text: &str) -> Response {
    let response = Response::builder().header("content-type", kind);
    response.body(Body::from(text.to_owned())).expect("a page")
}

fn streamed(body: Body) -> Response {
    let response = Response::builder().header("content-type", "text/event-stream; charset=utf-8");
    response.body(body).expect("a stream")
}
