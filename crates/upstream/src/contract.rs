//! What the rest of Pegboard sees of a server: a connection that lists, calls and ends.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pegboard_model::{
    Era, RpcError, ServerInfo, ServerName, ServerSpec, Timestamp, ToolError, ToolResult,
};
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::{broadcast, watch};

use crate::MachineLoad;

/// Opens conversations with servers; a trait so that tests can replace the servers.
#[async_trait]
pub trait Connect: Send + Sync {
    /// Starts or reaches a server and agrees on the protocol, within `budget`.
    ///
    /// When this fails, or its future is dropped, no process of the attempt is left.
    async fn connect(
        &self,
        spec: &ServerSpec,
        hint: &ConnectHint,
        budget: Duration,
    ) -> ToolResult<Arc<dyn Upstream>>;

    /// How busy the machine is on which servers are started.
    fn load(&self) -> MachineLoad {
        MachineLoad::Unknown
    }
}

/// What an earlier conversation with the same definition taught.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectHint {
    /// The era it spoke; `None` when it must be learnt.
    pub era: Option<Era>,
    /// The revision that was agreed on.
    pub protocol_version: Option<String>,
}

/// A conversation with one server.
#[async_trait]
pub trait Upstream: Send + Sync {
    /// What the opening of the conversation told.
    fn handshake(&self) -> &Handshake;

    /// All pages of the server's tools, each definition as the server wrote it.
    async fn list_tools(&self) -> ToolResult<ToolListing>;

    /// Calls a tool by the server's own name for it. Dropping the future cancels the call.
    async fn call(
        &self,
        tool: &str,
        arguments: &RawValue,
        options: CallOptions,
    ) -> ToolResult<CallOutcome>;

    /// Any other request, passed on: resources, prompts, completion. Dropping the future cancels it.
    async fn request(
        &self,
        request: ForwardedRequest<'_>,
        options: CallOptions,
    ) -> ToolResult<CallOutcome>;

    /// All pages of one of the server's other lists, each definition as the server wrote it. A server that
    /// does not know the method has none.
    async fn list_offers(&self, kind: OfferKind) -> ToolResult<Vec<Box<RawValue>>>;

    /// What the server announces from now on, beside changes of its tools.
    fn announcements(&self) -> broadcast::Receiver<Announcement>;

    /// Asks to be told about updates of one resource, or no longer. What was asked for is asked for again when
    /// a session or stream is renewed.
    async fn watch_resource(&self, uri: &str, watch: bool) -> ToolResult<()>;

    /// Counts the server's `tools/list_changed`. The first use subscribes where the protocol needs it.
    fn list_changed(&self) -> watch::Receiver<u64>;

    /// Whether requests can still be sent.
    fn is_alive(&self) -> bool;

    /// Resolves with the reason once the conversation ended: by itself, or `CANCELLED` after `close`.
    /// Any number of waiters may wait, and stop waiting at any time.
    async fn ended(&self) -> ToolError;

    /// How the conversation is doing.
    fn health(&self) -> Health;

    /// The newest part of the server's stderr, without secrets.
    fn recent_stderr(&self) -> String;

    /// Ends the conversation. When it returns, no process of this server is left. May be called again.
    async fn close(&self);
}

/// What the opening of a conversation told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handshake {
    /// The era that is spoken.
    pub era: Era,
    /// The revision that was agreed on.
    pub protocol_version: String,
    /// What the server says of itself; `None` when it was not asked or did not tell.
    pub info: Option<ServerInfo>,
    /// Its instructions for models, shortened to the limit.
    pub instructions: Option<String>,
    /// Whether it announces changes of its list.
    pub list_changed: bool,
    /// Whether it declares tools; `None` when it was not asked.
    pub declares_tools: Option<bool>,
    /// Its capabilities as JSON text; `None` when it was not asked.
    pub capabilities: Option<Arc<str>>,
    /// Lines of its stdout that were no protocol, seen until the handshake was done.
    pub noise: u64,
}

/// A server's whole list.
#[derive(Debug)]
pub struct ToolListing {
    /// Each definition, byte for byte.
    pub tools: Vec<Box<RawValue>>,
    /// How long the server says the list stays fresh; `None` without a usable hint.
    pub ttl_ms: Option<u64>,
    /// Whether the list is for one user only.
    pub private: bool,
    /// How many pages it took.
    pub pages: usize,
}

/// How a call is to be made.
#[derive(Clone, Default)]
pub struct CallOptions {
    /// How long the server may be silent: each progress notification starts it anew.
    pub timeout: Duration,
    /// How long the whole call may take, whatever progress it tells; zero means ten times `timeout`.
    pub max_duration: Duration,
    /// More members for the request's `_meta`, for example `traceparent`.
    pub meta: Option<serde_json::Map<String, serde_json::Value>>,
    /// Who made the call; without one the server can ask nobody.
    pub caller: Option<Arc<dyn Caller>>,
    /// The answers to what the server asked for in an earlier round of the same call.
    pub input: Option<InputResponses>,
    /// Arguments that a modern server on the network wants repeated as `Mcp-Param-…` headers: what follows the
    /// prefix, and the encoded value. [`mirrored_headers`](crate::mirrored_headers) finds them.
    pub headers: Vec<(String, String)>,
}

impl CallOptions {
    /// A plain call with a time-out.
    pub fn with_timeout(timeout: Duration) -> Self {
        Self {
            timeout,
            ..Self::default()
        }
    }
}

/// Answers to the questions of a result that said `input_required`.
#[derive(Clone, Debug)]
pub struct InputResponses {
    /// `inputResponses`, as the client wrote it.
    pub responses: Box<RawValue>,
    /// The server's own `requestState`, unchanged.
    pub state: Option<Box<RawValue>>,
}

/// The client that made a call, as far as its server may reach it while the call runs.
#[async_trait]
pub trait Caller: Send + Sync {
    /// Who it is. A shared server's question goes to the caller only when all calls it is busy with are of
    /// one session.
    fn session(&self) -> &str;

    /// The capabilities the client declared, as JSON text (`{}` is none). A modern server is told exactly these.
    fn capabilities(&self) -> &str;

    /// Whether progress should be asked for.
    fn wants_progress(&self) -> bool;

    /// The `params` of a `notifications/progress` of this call. Its `progressToken` is the connection's own.
    fn progress(&self, params: &RawValue);

    /// The `params` of a `notifications/message` that came while the call ran.
    fn message(&self, params: &RawValue);

    /// The session behind this call, as it can be reached when no call of it runs; `None` if it cannot.
    fn listener(&self) -> Option<Arc<dyn Listener>> {
        None
    }

    /// A question of a legacy server: `elicitation/create`, `sampling/createMessage` or `roots/list`.
    async fn ask(&self, method: &str, params: Option<&RawValue>)
    -> Result<Box<RawValue>, RpcError>;
}

/// A session that called a server, as far as the server may reach it between calls.
pub trait Listener: Send + Sync {
    /// Which session this is; the same as [`Caller::session`].
    fn session(&self) -> &str;

    /// Whether the session still exists.
    fn is_connected(&self) -> bool;

    /// The `params` of a `notifications/message` that came while no call ran.
    fn message(&self, params: &RawValue);
}

/// A request that is passed on.
#[derive(Clone, Copy, Debug)]
pub struct ForwardedRequest<'a> {
    /// Its method.
    pub method: &'a str,
    /// The members of its `params`, without braces and without `_meta`.
    pub members: &'a str,
    /// What it is about (a prompt's name, a resource's uri), for transports that repeat it outside the body.
    pub name: Option<&'a str>,
}

/// A list beside that of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfferKind {
    /// `prompts/list`.
    Prompts,
    /// `resources/list`.
    Resources,
    /// `resources/templates/list`.
    Templates,
}

/// Something a server tells without being asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Announcement {
    /// Its prompts changed.
    PromptsChanged,
    /// Its resources changed.
    ResourcesChanged,
    /// A watched resource changed; the uri is the server's own.
    ResourceUpdated {
        /// Which one.
        uri: String,
    },
}

/// What a tool answered.
#[derive(Debug)]
pub struct CallOutcome {
    /// The server's result, untouched.
    pub result: Box<RawValue>,
    /// Whether the tool says that it failed.
    pub is_error: bool,
    /// Whether this is the end of the call.
    pub kind: OutcomeKind,
}

/// What a result means for the call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutcomeKind {
    /// It is done.
    #[default]
    Complete,
    /// The server wants answers first, and the call to be made again with them.
    InputRequired,
    /// The server goes on in a task of its own.
    Task,
}

/// How a conversation is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Health {
    /// The process, for a server that runs here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Lines on stdout that were no protocol.
    pub noise_lines: u64,
    /// JSON that was not valid JSON-RPC.
    pub invalid_frames: u64,
    /// Answers that nobody waited for.
    pub dropped_frames: u64,
    /// Requests of the server that were refused.
    pub refused_requests: u64,
    /// Requests that wait for an answer.
    pub in_flight: usize,
    /// When the conversation began.
    pub started: Timestamp,
}

/// Where the lines go that servers write to stderr.
pub trait LogSink: Send + Sync {
    /// Keeps a line of a server. Secrets are gone from it, but it is still foreign text.
    fn append(&self, server: &ServerName, text: &str);
}

/// A sink that keeps nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoLogs;

impl LogSink for NoLogs {
    fn append(&self, _server: &ServerName, _text: &str) {}
}
