//! An in-memory server and a client, for tests above the transport.

use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use async_trait::async_trait;
use pegboard_jsonrpc::RpcResponse;
use pegboard_model::{ConfigHash, Limits, RpcError, ServerName, ToolResult};
use serde_json::value::RawValue;
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};

use crate::capabilities::ClientCapabilities;
use crate::contract::{Caller, Handshake, Listener, LogSink, NoLogs};
use crate::dialect::ClientInfo;
use crate::errors::ErrorContext;
use crate::handshake::{ParsedHandshake, parse_discover, parse_initialize};
use crate::inbound::Inbound;
use crate::redact::Redactor;
use crate::session::{Session, SessionConfig};
use crate::stdio_rpc::{ReaderHandle, StdioRpc};
use crate::subscriptions::Subscriptions;
use crate::transport::{CallOrigin, RpcRequest, RpcTransport};

/// The server's end.
pub(crate) struct Peer {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    sink: WriteHalf<DuplexStream>,
}

impl Peer {
    /// Returns the next line that was sent to the server.
    pub(crate) async fn line(&mut self) -> String {
        self.lines
            .next_line()
            .await
            .unwrap()
            .expect("the client closed the stream")
    }

    /// Returns the id and method of the next request.
    pub(crate) async fn request(&mut self) -> (u64, String) {
        let line = self.line().await;
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        (
            value["id"].as_u64().expect("a request"),
            value["method"].as_str().unwrap().to_owned(),
        )
    }

    /// Returns the next message as JSON.
    pub(crate) async fn json(&mut self) -> serde_json::Value {
        serde_json::from_str(&self.line().await).unwrap()
    }

    pub(crate) async fn write(&mut self, text: &str) {
        self.write_bytes(text.as_bytes()).await;
    }

    /// Writes as long as the other side reads.
    pub(crate) async fn write_bytes(&mut self, bytes: &[u8]) {
        let _ = self.sink.write_all(bytes).await;
    }

    pub(crate) async fn result(&mut self, id: u64, result: &str) {
        self.write(&format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n"
        ))
        .await;
    }

    pub(crate) async fn error(&mut self, id: u64, error: &str) {
        self.write(&format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}\n"
        ))
        .await;
    }
}

pub(crate) fn errors() -> ErrorContext {
    ErrorContext {
        server: ServerName::parse("tested").unwrap(),
        redactor: Arc::new(Redactor::default()),
        text_bytes: 2_000,
    }
}

pub(crate) fn logs() -> Arc<dyn LogSink> {
    Arc::new(NoLogs)
}

pub(crate) fn pair() -> (Arc<StdioRpc>, ReaderHandle, Peer) {
    pair_with(&Limits::default())
}

pub(crate) fn pair_with(limits: &Limits) -> (Arc<StdioRpc>, ReaderHandle, Peer) {
    let (near, far) = tokio::io::duplex(64 * 1024);
    let (source, sink) = tokio::io::split(near);
    let inbound = Arc::new(Inbound::new(errors(), logs()));
    let (rpc, reading) = StdioRpc::start(source, sink, inbound, errors(), limits);
    let (source, sink) = tokio::io::split(far);
    (
        rpc,
        reading,
        Peer {
            lines: BufReader::new(source).lines(),
            sink,
        },
    )
}

/// A client that records what it receives.
pub(crate) struct Client {
    session: &'static str,
    this: Weak<Self>,
    capabilities: ClientCapabilities,
    response: ClientAnswer,
    received: Mutex<Vec<String>>,
}

#[derive(Clone, Copy)]
pub(crate) enum ClientAnswer {
    Result(&'static str),
    Refusal(i64),
    Never,
}

impl Client {
    pub(crate) fn new(session: &'static str, response: ClientAnswer) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            session,
            this: this.clone(),
            capabilities: ClientCapabilities::parse(r#"{"elicitation":{},"roots":{}}"#),
            response,
            received: Mutex::default(),
        })
    }

    /// Returns what was received since the last call.
    pub(crate) fn received(&self) -> Vec<String> {
        std::mem::take(&mut self.received.lock().unwrap())
    }

    fn record(&self, what: String) {
        self.received.lock().unwrap().push(what);
    }
}

struct Later(&'static str, Weak<Client>);

impl Listener for Later {
    fn session(&self) -> &str {
        self.0
    }

    fn is_connected(&self) -> bool {
        self.1.strong_count() > 0
    }

    fn message(&self, params: &RawValue) {
        if let Some(client) = self.1.upgrade() {
            client.record(format!("later {params}"));
        }
    }
}

#[async_trait]
impl Caller for Client {
    fn session(&self) -> &str {
        self.session
    }

    fn capabilities(&self) -> &ClientCapabilities {
        &self.capabilities
    }

    fn wants_progress(&self) -> bool {
        true
    }

    fn progress(&self, params: &RawValue) {
        self.record(format!("progress {params}"));
    }

    fn message(&self, params: &RawValue) {
        self.record(format!("message {params}"));
    }

    fn listener(&self) -> Option<Arc<dyn Listener>> {
        let this = self.this.clone();
        Some(Arc::new(Later(self.session, this)))
    }

    async fn send_request(
        &self,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<Box<RawValue>, RpcError> {
        let params = params.map(RawValue::get).unwrap_or_default();
        self.record(format!("ask {method} {params}").trim_end().to_owned());
        match self.response {
            ClientAnswer::Result(text) => Ok(RawValue::from_string(text.to_owned()).unwrap()),
            ClientAnswer::Refusal(code) => Err(RpcError {
                code,
                message: "no".into(),
                data: Some("{\"why\":1.50}".into()),
            }),
            ClientAnswer::Never => std::future::pending().await,
        }
    }
}

/// A transport over streams; the flag says whether first calls settle the roots.
pub(crate) struct Memory(pub(crate) Arc<StdioRpc>, pub(crate) bool);

impl RpcTransport for Memory {
    async fn prepare(&self, origin: CallOrigin<'_>) {
        if self.1 {
            self.0.settle_roots(origin).await;
        }
    }

    async fn send(&self, request: RpcRequest<'_>) -> ToolResult<RpcResponse> {
        let id = self.0.new_id();
        let callers = &self.0.inbound.callers;
        let _running = request.origin.map(|origin| callers.begin_call(id, origin));
        let frame = request.frame(id);
        self.0.request(id, frame, request.size, true).await
    }

    async fn detect_era(&self) -> ToolResult<Handshake> {
        Err(errors().error(pegboard_model::Reason::HandshakeFailed, "was not asked"))
    }

    fn generation(&self) -> u64 {
        0
    }

    fn stderr(&self) -> String {
        String::new()
    }
}

/// Creates a session with an in-memory server that declared these capabilities.
pub(crate) fn session(is_modern: bool, capabilities: &str) -> (Arc<Session<Memory>>, Peer) {
    session_with_roots(is_modern, capabilities, false)
}

/// The same, with or without settling the roots before the first call.
pub(crate) fn session_with_roots(
    is_modern: bool,
    capabilities: &str,
    settles_roots: bool,
) -> (Arc<Session<Memory>>, Peer) {
    let limits = Limits {
        subscriptions_per_server: 2,
        ..Limits::default()
    };
    let (rpc, _, peer) = pair_with(&limits);
    rpc.modern
        .store(is_modern, std::sync::atomic::Ordering::Relaxed);
    let raw = |text: String| RawValue::from_string(text).unwrap();
    let opening = if is_modern {
        let response =
            format!(r#"{{"supportedVersions":["2026-07-28"],"capabilities":{capabilities}}}"#);
        parse_discover(&raw(response), &limits)
    } else {
        let response =
            format!(r#"{{"protocolVersion":"2025-11-25","capabilities":{capabilities}}}"#);
        parse_initialize(&raw(response), &limits)
    };
    let ParsedHandshake::Negotiated(handshake) = opening else {
        panic!("{capabilities}")
    };
    let subscriptions = Arc::new(Subscriptions::new(limits.subscriptions_per_server));
    let setup = SessionConfig {
        errors: errors(),
        limits,
        client: ClientInfo {
            name: "pegboard".into(),
            version: "0".into(),
        },
        list_time: Duration::from_secs(60),
        hash: ConfigHash([0; 32]),
        era_retries: Arc::default(),
    };
    (
        Arc::new(Session::new(
            Memory(rpc, settles_roots),
            setup,
            handshake,
            subscriptions,
        )),
        peer,
    )
}
