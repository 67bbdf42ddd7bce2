//! A scripted model: speaks Anthropic Messages and OpenAI Responses as the real services do, with streaming, and
//! refuses what they would refuse. What it says stands in a script; what it was told is kept.

mod anthropic;
mod openai;
mod pairing;
mod script;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::post;
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use script::Breaking;
pub use script::{ModelScript, ModelTurn, ScriptedCall};

/// Bytes of one request.
const REQUEST_BYTES: usize = 64 * 1024 * 1024;

/// A scripted model's service on a free port; it ends with this value.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    turns: Mutex<VecDeque<ModelTurn>>,
    requests: Mutex<Vec<ModelRequest>>,
    complaints: Mutex<Vec<String>>,
}

/// What the service was sent.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    /// The path.
    pub path: &'static str,
    /// The body.
    pub body: Value,
}

impl ModelServer {
    /// Starts the service on a free port.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start(script: ModelScript) -> Self {
        let shared = Arc::new(Shared {
            turns: Mutex::new(script.turns.into()),
            requests: Mutex::default(),
            complaints: Mutex::default(),
        });
        let (stop, stopped) = oneshot::channel();
        let (told, address) = std::sync::mpsc::channel();
        let state = shared.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime for the scripted model");
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0))
                    .await
                    .expect("a port for the scripted model");
                let _ = told.send(listener.local_addr().expect("its own address"));
                let routes = Router::new()
                    .route("/v1/messages", post(messages))
                    .route("/v1/responses", post(responses))
                    .layer(axum::extract::DefaultBodyLimit::max(REQUEST_BYTES))
                    .with_state(state);
                tokio::select! {
                    _ = axum::serve(listener, routes) => {}
                    _ = stopped => {}
                }
            });
        });
        let address = address.recv().expect("the scripted model listens");
        Self {
            address,
            shared,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// The address for clients of Anthropic.
    pub fn anthropic_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The address for clients of OpenAI.
    pub fn openai_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Everything it was sent so far.
    pub fn requests(&self) -> Vec<ModelRequest> {
        lock(&self.shared.requests).clone()
    }

    /// What it refused, each with the rule that was broken.
    pub fn complaints(&self) -> Vec<String> {
        lock(&self.shared.complaints).clone()
    }

    /// How many turns of the script are left.
    pub fn turns_left(&self) -> usize {
        lock(&self.shared.turns).len()
    }

    /// Asserts that nothing had to be refused and that the script was played to its end.
    ///
    /// # Panics
    /// When that is not so.
    #[track_caller]
    pub fn assert_satisfied(&self) {
        assert_eq!(self.complaints(), Vec::<String>::new(), "broken rules");
        assert_eq!(self.turns_left(), 0, "turns that nobody asked for");
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn messages(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    // The service takes the key in either header; its own SDK sends the second.
    let has_key = headers.contains_key("x-api-key") || headers.contains_key("authorization");
    let is_whole = has_key && headers.contains_key("anthropic-version");
    let missing = (!is_whole).then(|| "a key or `anthropic-version` is missing".to_owned());
    answer(&shared, "/v1/messages", missing, &body)
}

async fn responses(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    let bearer = headers
        .get("authorization")
        .and_then(|value| value.to_str().ok());
    let has_bearer = bearer.is_some_and(|value| value.len() > "Bearer ".len());
    let missing = (!has_bearer).then(|| "a bearer is missing".to_owned());
    answer(&shared, "/v1/responses", missing, &body)
}

fn answer(shared: &Shared, path: &'static str, missing: Option<String>, body: &[u8]) -> Response {
    let is_anthropic = path == "/v1/messages";
    let document: Value = serde_json::from_slice(body).unwrap_or_default();
    lock(&shared.requests).push(ModelRequest {
        path,
        body: document.clone(),
    });
    let mut complaints: Vec<String> = missing.into_iter().collect();
    complaints.extend(match is_anthropic {
        true => pairing::anthropic(&document),
        false => pairing::openai(&document),
    });
    if !complaints.is_empty() {
        let text = complaints.join("; ");
        lock(&shared.complaints).extend(complaints);
        return refusal(400, "invalid_request_error", &text, None);
    }
    let Some(turn) = lock(&shared.turns).pop_front() else {
        let text = "the script is over";
        lock(&shared.complaints).push(text.to_owned());
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
    let events = match is_anthropic {
        true => anthropic::events(&turn, model),
        false => openai::events(&turn, model),
    };
    streamed(events, &turn)
}

/// The events in many small pieces, cut without regard to their ends, and broken off where the script says so.
fn streamed(events: Vec<Value>, turn: &ModelTurn) -> Response {
    let mut text = String::new();
    for event in &events {
        let name = event["type"].as_str().unwrap_or_default();
        text.push_str(&format!("event: {name}\ndata: {event}\n\n"));
    }
    let mut bytes = text.into_bytes();
    if turn.breaks.is_some() {
        // In the middle of an event, behind the half.
        bytes.truncate(bytes.len() * 3 / 5);
    }
    let pieces: Vec<_> = bytes.chunks(97).map(Bytes::copy_from_slice).collect();
    let pieces = stream::iter(pieces.into_iter().map(Ok::<_, std::io::Error>));
    let body = match turn.breaks {
        None | Some(Breaking::Eof) => Body::from_stream(pieces),
        Some(Breaking::Reset) => {
            let broken = stream::once(async { Err(std::io::Error::other("as the script says")) });
            Body::from_stream(pieces.chain(broken))
        }
        Some(Breaking::Hang) => Body::from_stream(pieces.chain(stream::pending())),
    };
    Response::builder()
        .status(StatusCode::OK)
        .header("content-type", "text/event-stream; charset=utf-8")
        .header("request-id", "req_scripted")
        .body(body)
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
