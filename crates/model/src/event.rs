//! Events of the hub. They carry ids and counts, never contents.

use serde::{Deserialize, Serialize};

use crate::{ServerName, Timestamp};

/// A W3C trace id: 32 hex digits, shared by everything that one request causes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct TraceId([u8; 32]);

impl TraceId {
    /// Creates a trace id from random bytes.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        let mut digits = [b'0'; 32];
        for (pair, byte) in digits.as_chunks_mut().0.iter_mut().zip(bytes) {
            *pair = [byte >> 4, byte & 0xf].map(hex_digit);
        }
        Self(digits)
    }

    /// Parses 32 lower-case hex digits; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let is_hex = |b: &u8| b.is_ascii_digit() || (b'a'..=b'f').contains(b);
        let digits = <[u8; 32]>::try_from(text.as_bytes()).ok()?;
        digits.iter().all(is_hex).then_some(Self(digits))
    }

    /// The id as a string slice.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

fn hex_digit(value: u8) -> u8 {
    match value {
        0..=9 => b'0' + value,
        _ => b'a' + value - 10,
    }
}

impl From<TraceId> for String {
    fn from(id: TraceId) -> Self {
        id.as_str().to_owned()
    }
}

impl TryFrom<String> for TraceId {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or("a trace id has 32 hex digits")
    }
}

impl std::fmt::Display for TraceId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::fmt::Debug for TraceId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TraceId({self})")
    }
}

/// An event with its time and trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Event {
    /// When it happened.
    pub at: Timestamp,
    /// The trace it belongs to.
    pub trace: TraceId,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

impl Event {
    /// Creates an event.
    pub fn new(at: Timestamp, trace: TraceId, kind: EventKind) -> Self {
        Self { at, trace, kind }
    }
}

/// The kinds of events. The serialized names appear in logs, traces and the API.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event")]
#[non_exhaustive]
pub enum EventKind {
    /// A discovery run started.
    #[serde(rename = "tools.discovery.started")]
    DiscoveryStarted {
        /// Number of servers to discover.
        servers: usize,
    },
    /// A server listed its tools.
    #[serde(rename = "tools.discovery.server.success")]
    ServerDiscovered {
        /// The affected server.
        server: ServerName,
        /// Number of tools.
        tools: usize,
        /// Duration in milliseconds.
        duration_ms: u64,
    },
    /// The discovery of a server failed.
    #[serde(rename = "tools.discovery.server.failed")]
    ServerFailed {
        /// The affected server.
        server: ServerName,
        /// The reason code.
        reason: String,
        /// The error message, without secrets.
        error: String,
    },
    /// A server's list could not be stored; it stays in memory until the program exits.
    #[serde(rename = "store.server.failed")]
    ServerNotStored {
        /// The affected server.
        server: ServerName,
        /// The reason code.
        reason: String,
        /// The error message, without secrets.
        error: String,
    },
    /// The set of known tools changed.
    #[serde(rename = "tools.registry.updated")]
    RegistryUpdated {
        /// Number of tools of the host program.
        static_tools: usize,
        /// Number of tools of servers.
        mcp_tools: usize,
    },
    /// A server and its tools were removed.
    #[serde(rename = "tools.registry.server.removed")]
    ServerRemoved {
        /// The affected server.
        server: ServerName,
        /// Number of removed tools.
        removed: usize,
    },
    /// A server was started or connected.
    #[serde(rename = "server.started")]
    ServerStarted {
        /// The affected server.
        server: ServerName,
    },
    /// A server was stopped or exited.
    #[serde(rename = "server.stopped")]
    ServerStopped {
        /// The affected server.
        server: ServerName,
        /// The cause: `idle`, `shutdown`, `crashed`, `stopped` by a person, `changed` or `discovered`.
        why: String,
    },
    /// The configuration was reloaded.
    #[serde(rename = "config.reloaded")]
    ConfigReloaded {
        /// Number of configured servers.
        servers: usize,
    },
    /// A call waits for an approval.
    #[serde(rename = "approval.requested")]
    ApprovalRequested {
        /// The id of the approval request.
        id: String,
        /// The exposed name of the tool.
        tool: String,
        /// The tool's server; `None` for a tool of the host program.
        server: Option<ServerName>,
        /// Where the approval is requested: `client`, `terminal` or `inbox`.
        way: String,
    },
    /// An approval request was decided.
    #[serde(rename = "approval.decided")]
    ApprovalDecided {
        /// The id of the approval request.
        id: String,
        /// The exposed name of the tool.
        tool: String,
        /// `once`, `session`, `always` or `refuse`.
        decision: String,
        /// Who decided.
        by: String,
    },
    /// An approval request expired, or its caller stopped waiting.
    #[serde(rename = "approval.expired")]
    ApprovalExpired {
        /// The id of the approval request.
        id: String,
        /// The exposed name of the tool.
        tool: String,
    },
    /// Definitions of a server are held back until a person reviews them.
    #[serde(rename = "review.needed")]
    ReviewNeeded {
        /// The affected server.
        server: ServerName,
        /// Number of definitions that await a review.
        held: usize,
    },
    /// A person decided about a definition.
    #[serde(rename = "review.decided")]
    ReviewDecided {
        /// The affected server.
        server: ServerName,
        /// The exposed name of the tool, or what else was reviewed.
        subject: String,
        /// `accept` or `reject`.
        decision: String,
        /// Who decided.
        by: String,
    },
    /// A tool call finished.
    #[serde(rename = "tools.call.finished")]
    CallFinished {
        /// The exposed name of the tool.
        tool: String,
        /// `ok` or a reason code.
        outcome: String,
        /// Duration in milliseconds.
        duration_ms: u64,
    },
    /// A tool's result does not match its `outputSchema`; it was delivered.
    #[serde(rename = "tools.call.mismatch")]
    OutputMismatch {
        /// The exposed name of the tool.
        tool: String,
        /// The tool's server; `None` for a tool of the host program.
        server: Option<ServerName>,
        /// The reason code.
        reason: String,
        /// The first mismatch, without values of the result.
        error: String,
    },
    /// A request about a prompt or a resource finished.
    #[serde(rename = "server.request.finished")]
    RequestFinished {
        /// The server that handled it.
        server: ServerName,
        /// The MCP method.
        method: String,
        /// `ok` or a reason code.
        outcome: String,
        /// Duration in milliseconds.
        duration_ms: u64,
    },
}
