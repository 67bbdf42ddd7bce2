//! The interface of this crate: a connection to one server, and the client on whose behalf it is used.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pegboard_model::{
    Era, LoginState, Reason, RpcError, ServerInfo, ServerName, ServerSpec, SharingDecision,
    Timestamp, ToolError, ToolResult,
};
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::{broadcast, watch};

use crate::{ClientCapabilities, MachineLoad};

/// Opens connections to servers. Tests implement it with fake servers.
#[async_trait]
pub trait Connect: Send + Sync {
    /// Starts or reaches a server and completes the handshake within `budget`.
    ///
    /// If this fails or its future is dropped, no process of the attempt is left running.
    ///
    /// # Errors
    /// Fails if the server cannot be started or reached, does not speak a supported revision, or exceeds `budget`.
    async fn connect(
        &self,
        spec: &ServerSpec,
        hint: &ConnectHint,
        budget: Duration,
    ) -> ToolResult<Arc<dyn Upstream>>;

    /// The state of a server's login, read from disk at most. `failure` is why the last discovery failed.
    fn login_state(&self, _spec: &ServerSpec, _failure: Option<Reason>) -> Option<LoginState> {
        None
    }

    /// A number that changes whenever the login of a server changes; `None` if there is none.
    fn login_version(&self, _spec: &ServerSpec) -> Option<u64> {
        None
    }

    /// Notifies of logins that any process made or ended; `None` if nothing can.
    fn login_changes(&self) -> Option<watch::Receiver<u64>> {
        None
    }

    /// Returns the load of the machine on which servers are started.
    fn load(&self) -> MachineLoad {
        MachineLoad::Unknown
    }
}

/// What an earlier connection with the same definition learned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectHint {
    /// The era of the server; `None` if it must be detected.
    pub era: Option<Era>,
    /// The negotiated revision.
    pub protocol_version: Option<String>,
    /// Whether the server speaks the old HTTP+SSE transport.
    pub old_sse: bool,
    /// Which clients may share the connection. Only a pool of connections uses it.
    pub sharing: SharingDecision,
    /// The session that a connection with the scope `session` is for, to show to users.
    pub session: Option<String>,
}

/// A connection to one server.
#[async_trait]
pub trait Upstream: Send + Sync {
    /// Returns the result of the handshake.
    fn handshake(&self) -> &Handshake;

    /// Fetches all pages of `tools/list`. Each definition is kept verbatim.
    ///
    /// # Errors
    /// Fails if any page fails, is malformed or exceeds a limit.
    async fn list_tools(&self) -> ToolResult<ToolListing>;

    /// Calls a tool by the server's own name for it. Dropping the future cancels the call.
    ///
    /// # Errors
    /// Fails if the server returns a JSON-RPC error, times out, or ends.
    async fn call(
        &self,
        tool: &str,
        arguments: &RawValue,
        options: CallOptions,
    ) -> ToolResult<CallOutcome>;

    /// Forwards any other request (resources, prompts, completion). Dropping the future cancels it.
    ///
    /// # Errors
    /// The same as for [`call`](Self::call).
    async fn request(
        &self,
        request: ForwardedRequest<'_>,
        options: CallOptions,
    ) -> ToolResult<CallOutcome>;

    /// Fetches all pages of another list. Each definition is kept verbatim. A server that does not know the method has
    /// an empty list.
    ///
    /// # Errors
    /// The same as for [`list_tools`](Self::list_tools).
    async fn list_offers(&self, kind: OfferKind) -> ToolResult<Vec<Box<RawValue>>>;

    /// Subscribes to the server's notifications from now on, except changes of its tools.
    fn announcements(&self) -> broadcast::Receiver<Announcement>;

    /// Subscribes to updates of a resource, or unsubscribes. Subscriptions are repeated when a session or stream is
    /// renewed.
    ///
    /// # Errors
    /// Fails if the server refuses or the limit on subscriptions is reached.
    async fn watch_resource(&self, uri: &str, watch: bool) -> ToolResult<()>;

    /// Counts the server's `tools/list_changed` notifications. The first use subscribes if the protocol requires it.
    fn list_changed(&self) -> watch::Receiver<u64>;

    /// Returns whether requests can still be sent.
    fn is_alive(&self) -> bool;

    /// Waits until the connection ends and returns the reason, which is `CANCELLED` after `close`. Any number of tasks
    /// may wait. The future is cancel-safe.
    async fn ended(&self) -> ToolError;

    /// Returns the state of the connection.
    fn health(&self) -> Health;

    /// Returns whether the connection uses the old HTTP+SSE transport.
    fn uses_old_sse(&self) -> bool {
        false
    }

    /// Returns what the server has requested from clients on this connection so far, whether it got it or not.
    fn requested(&self) -> RequestedFromClients {
        RequestedFromClients::default()
    }

    /// Returns the newest part of the server's stderr, without secrets.
    fn recent_stderr(&self) -> String;

    /// Closes the connection. When it returns, no process of this server is left. May be called repeatedly.
    async fn close(&self);
}

/// The result of the handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handshake {
    /// The protocol era.
    pub era: Era,
    /// The negotiated revision.
    pub protocol_version: String,
    /// Name and version of the server; `None` if the server was not asked or did not say.
    pub info: Option<ServerInfo>,
    /// Its instructions for models, truncated to the limit.
    pub instructions: Option<String>,
    /// Whether it sends notifications when its tools change.
    pub list_changed: bool,
    /// Whether it declares tools; `None` if it was not asked.
    pub declares_tools: Option<bool>,
    /// Its capabilities as JSON text; `None` if it was not asked.
    pub capabilities: Option<Arc<str>>,
    /// Lines on stdout that were not protocol messages, up to the end of the handshake.
    pub noise: u64,
}

/// A server's complete list of tools.
#[derive(Debug)]
pub struct ToolListing {
    /// Each definition, byte for byte.
    pub tools: Vec<Box<RawValue>>,
    /// How long the list stays fresh, according to the server; `None` without a usable hint.
    pub ttl_ms: Option<u64>,
    /// Whether the list is specific to one user.
    pub private: bool,
    /// How many pages it took.
    pub pages: usize,
}

/// Options of a call.
#[derive(Clone, Default)]
pub struct CallOptions {
    /// How long the server may be silent. Each progress notification restarts the timer.
    pub timeout: Duration,
    /// How long the whole call may take, regardless of progress. Zero means ten times `timeout`.
    pub max_duration: Duration,
    /// Additional members of the request's `_meta`, for example `traceparent`.
    pub meta: Option<serde_json::Map<String, serde_json::Value>>,
    /// The client that made the call. Without one, requests of the server to the client are refused.
    pub caller: Option<Arc<dyn Caller>>,
    /// Responses to the input that the server requested in an earlier round of the same call.
    pub input: Option<InputResponses>,
    /// Arguments that a modern HTTP server wants repeated as `Mcp-Param-…` headers: the name after the prefix, and the
    /// encoded value. See [`mirrored_headers`](crate::mirrored_headers).
    pub headers: Vec<(String, String)>,
}

impl CallOptions {
    /// Creates options with a timeout and defaults otherwise.
    pub fn with_timeout(timeout: Duration) -> Self {
        Self {
            timeout,
            ..Self::default()
        }
    }
}

/// Responses to an `input_required` result.
#[derive(Clone, Debug)]
pub struct InputResponses {
    /// `inputResponses`, as the client wrote it.
    pub responses: Box<RawValue>,
    /// The server's `requestState`, unchanged.
    pub state: Option<Box<RawValue>>,
}

/// The client that made a call, as far as the server may reach it while the call runs.
#[async_trait]
pub trait Caller: Send + Sync {
    /// Identifies the client's session. On a shared connection a request of the server reaches the client only if all
    /// running calls belong to one session.
    fn session(&self) -> &str;

    /// The capabilities that the client declared. A modern server gets exactly these.
    fn capabilities(&self) -> &ClientCapabilities;

    /// Returns whether the server should be asked for progress notifications.
    fn wants_progress(&self) -> bool;

    /// Receives the `params` of a `notifications/progress` of this call. Its `progressToken` is the connection's own.
    fn progress(&self, params: &RawValue);

    /// Receives the `params` of a `notifications/message` that arrived during the call.
    fn message(&self, params: &RawValue);

    /// Returns a handle to the session that works between calls; `None` if the session cannot be reached then.
    fn listener(&self) -> Option<Arc<dyn Listener>> {
        None
    }

    /// Sends a request of a legacy server to the client: `elicitation/create`, `sampling/createMessage` or
    /// `roots/list`.
    ///
    /// # Errors
    /// Returns the client's JSON-RPC error, or ours if the client cannot be reached.
    async fn send_request(
        &self,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<Box<RawValue>, RpcError>;
}

/// A session that has called a server, as far as the server may reach it between calls.
pub trait Listener: Send + Sync {
    /// Identifies the session, like [`Caller::session`].
    fn session(&self) -> &str;

    /// Returns whether the session still exists.
    fn is_connected(&self) -> bool;

    /// Receives the `params` of a `notifications/message` that arrived while no call was running.
    fn message(&self, params: &RawValue);
}

/// A request that is forwarded to a server.
#[derive(Clone, Copy, Debug)]
pub struct ForwardedRequest<'a> {
    /// The JSON-RPC method.
    pub method: &'a str,
    /// The members of `params`, without braces and without `_meta`.
    pub members: &'a str,
    /// The subject of the request (a prompt's name, a resource's URI), for transports that repeat it in a header.
    pub name: Option<&'a str>,
}

/// A list other than that of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfferKind {
    /// `prompts/list`.
    Prompts,
    /// `resources/list`.
    Resources,
    /// `resources/templates/list`.
    Templates,
}

/// A notification of a server that concerns all its clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Announcement {
    /// The list of prompts changed.
    PromptsChanged,
    /// The list of resources changed.
    ResourcesChanged,
    /// A subscribed resource changed.
    ResourceUpdated {
        /// The server's own URI of the resource.
        uri: String,
    },
}

/// The result of a call.
#[derive(Debug)]
#[non_exhaustive]
pub struct CallOutcome {
    /// The server's result, verbatim.
    pub result: Box<RawValue>,
    /// Whether the tool reports a failure (`isError`).
    pub is_error: bool,
    /// Whether the call is complete.
    pub kind: OutcomeKind,
}

impl CallOutcome {
    /// Creates the outcome of a call that is complete and did not fail.
    pub fn new(result: Box<RawValue>) -> Self {
        Self {
            result,
            is_error: false,
            kind: OutcomeKind::Complete,
        }
    }
}

/// The state of a call after a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutcomeKind {
    /// The call is complete.
    #[default]
    Complete,
    /// The server needs input; the call must be repeated with it.
    InputRequired,
    /// The server continues in a task.
    Task,
}

impl OutcomeKind {
    /// The name of the state in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::InputRequired => "input_required",
            Self::Task => "task",
        }
    }
}

/// What a legacy stdio server has requested from clients. It has one stream for all clients, so that such a request
/// does not say which client it is meant for. Other servers send requests on the stream of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestedFromClients {
    /// An elicitation or a completion (sampling).
    pub input: bool,
    /// The client's roots.
    pub roots: bool,
}

/// Counters and state of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Health {
    /// The pid of a stdio server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Lines on stdout that were not protocol messages.
    pub noise_lines: u64,
    /// JSON that was not valid JSON-RPC.
    pub invalid_frames: u64,
    /// Responses that matched no pending request.
    pub dropped_frames: u64,
    /// Requests of the server that were refused.
    pub refused_requests: u64,
    /// Requests that wait for a response.
    pub in_flight: usize,
    /// When the connection was opened.
    pub started: Timestamp,
}

/// Receives the lines that servers write to stderr.
pub trait LogSink: Send + Sync {
    /// Stores a line. Secrets have been removed, but it is still untrusted text.
    fn append(&self, server: &ServerName, text: &str);
}

/// A sink that discards everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoLogs;

impl LogSink for NoLogs {
    fn append(&self, _server: &ServerName, _text: &str) {}
}
