//! A test collector that stores requests and sends canned responses.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Response};
use axum::response::IntoResponse;
use pegboard_testkit::wait_until;
use prost::Message;
use tokio::net::TcpListener;

use crate::otlp::{ExportTraceServiceRequest, Span};

/// The CI machine is slow.
pub(crate) const LONG: Duration = Duration::from_secs(30);

/// A response other than a plain success.
#[derive(Clone)]
pub(crate) struct CannedResponse {
    pub(crate) status: u16,
    pub(crate) retry_after: Option<&'static str>,
    pub(crate) body: Vec<u8>,
}

impl CannedResponse {
    pub(crate) fn status(status: u16) -> Self {
        Self {
            status,
            retry_after: None,
            body: Vec::new(),
        }
    }
}

/// A received request.
#[derive(Clone)]
pub(crate) struct ReceivedRequest {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl ReceivedRequest {
    pub(crate) fn request(&self) -> ExportTraceServiceRequest {
        ExportTraceServiceRequest::decode(self.body.as_slice()).expect("the body is OTLP")
    }
}

#[derive(Clone, Default)]
struct Shared {
    seen: Arc<Mutex<Vec<ReceivedRequest>>>,
    answers: Arc<Mutex<VecDeque<CannedResponse>>>,
}

pub(crate) struct Collector {
    pub(crate) url: String,
    shared: Shared,
    serving: tokio::task::JoinHandle<()>,
}

impl Collector {
    pub(crate) async fn start() -> Self {
        Self::answering([]).await
    }

    /// Sends these responses first, then successes.
    pub(crate) async fn answering(answers: impl IntoIterator<Item = CannedResponse>) -> Self {
        let shared = Shared::default();
        shared.answers.lock().unwrap().extend(answers);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = axum::Router::new()
            .fallback(take)
            .with_state(shared.clone());
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self {
            url,
            shared,
            serving,
        }
    }

    pub(crate) fn seen(&self) -> Vec<ReceivedRequest> {
        self.shared.seen.lock().unwrap().clone()
    }

    pub(crate) fn spans(&self) -> Vec<Span> {
        let requests = self
            .seen()
            .into_iter()
            .flat_map(|seen| seen.request().resource_spans);
        let scopes = requests.flat_map(|resource| resource.scope_spans);
        scopes.flat_map(|scope| scope.spans).collect()
    }

    pub(crate) async fn wait_for_requests(&self, count: usize) {
        wait_until("requests arrive", LONG, || self.seen().len() >= count).await;
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn take(State(shared): State<Shared>, request: Request) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, 64 << 20).await.unwrap();
    shared.seen.lock().unwrap().push(ReceivedRequest {
        path: parts.uri.to_string(),
        headers: parts.headers,
        body: body.to_vec(),
    });
    let answer = shared.answers.lock().unwrap().pop_front();
    let answer = answer.unwrap_or_else(|| CannedResponse::status(200));
    let mut response = Response::builder().status(answer.status);
    if let Some(seconds) = answer.retry_after {
        response = response.header("retry-after", seconds);
    }
    response
        .body(Body::from(answer.body))
        .unwrap()
        .into_response()
}

/// Accepts connections and never responds.
pub(crate) async fn hanging() -> (String, tokio::task::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let holding = tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            held.push(stream);
        }
    });
    (url, holding)
}

/// A URL on which nothing listens.
pub(crate) async fn closed_port() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}
