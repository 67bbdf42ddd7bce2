//! What happened, as values: ids and counts, never contents.

use serde::{Deserialize, Serialize};

use crate::{ServerName, Timestamp};

/// Joins everything that one request set in motion: 32 hex digits, as W3C trace context has it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct TraceId([u8; 32]);

impl TraceId {
    /// A trace id from random bytes.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        let mut digits = [b'0'; 32];
        for (pair, byte) in digits.as_chunks_mut().0.iter_mut().zip(bytes) {
            *pair = [byte >> 4, byte & 0xf].map(hex_digit);
        }
        Self(digits)
    }

    /// A trace id from its text; `None` when it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let is_hex = |b: &u8| b.is_ascii_digit() || (b'a'..=b'f').contains(b);
        let digits = <[u8; 32]>::try_from(text.as_bytes()).ok()?;
        digits.iter().all(is_hex).then_some(Self(digits))
    }

    /// The id as text.
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

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Event {
    /// When.
    pub at: Timestamp,
    /// In the course of what.
    pub trace: TraceId,
    /// What.
    #[serde(flatten)]
    pub kind: EventKind,
}

impl Event {
    /// Creates an event.
    pub fn new(at: Timestamp, trace: TraceId, kind: EventKind) -> Self {
        Self { at, trace, kind }
    }
}

/// The kinds of events, under the names by which logs and traces know them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event")]
#[non_exhaustive]
pub enum EventKind {
    /// A discovery of some servers begins.
    #[serde(rename = "tools.discovery.started")]
    DiscoveryStarted {
        /// How many servers are asked.
        servers: usize,
    },
    /// One server answered.
    #[serde(rename = "tools.discovery.server.success")]
    ServerDiscovered {
        /// Which.
        server: ServerName,
        /// How many tools it has.
        tools: usize,
        /// How long it took.
        duration_ms: u64,
    },
    /// One server did not answer as it should.
    #[serde(rename = "tools.discovery.server.failed")]
    ServerFailed {
        /// Which.
        server: ServerName,
        /// The finer reason's code.
        reason: String,
        /// What happened, without secrets.
        error: String,
    },
    /// The list of one server could not be stored; it is known until the program ends.
    #[serde(rename = "store.server.failed")]
    ServerNotStored {
        /// Which.
        server: ServerName,
        /// The finer reason's code.
        reason: String,
        /// What happened, without secrets.
        error: String,
    },
    /// The registry holds other tools than before.
    #[serde(rename = "tools.registry.updated")]
    RegistryUpdated {
        /// Tools that the host program registered.
        static_tools: usize,
        /// Tools of servers.
        mcp_tools: usize,
    },
    /// A server's tools left the registry.
    #[serde(rename = "tools.registry.server.removed")]
    ServerRemoved {
        /// Which.
        server: ServerName,
        /// How many tools left.
        removed: usize,
    },
    /// A server was started or connected.
    #[serde(rename = "server.started")]
    ServerStarted {
        /// Which.
        server: ServerName,
    },
    /// A server was stopped, or stopped by itself.
    #[serde(rename = "server.stopped")]
    ServerStopped {
        /// Which.
        server: ServerName,
        /// Why: `idle`, `shutdown`, `crashed`, `changed`, `discovered`.
        why: String,
    },
    /// The configuration was read again.
    #[serde(rename = "config.reloaded")]
    ConfigReloaded {
        /// Servers that are there now.
        servers: usize,
    },
    /// A call waits for a person.
    #[serde(rename = "approval.asked")]
    ApprovalRequested {
        /// Its number.
        id: String,
        /// The exposed name.
        tool: String,
        /// The server; none for a tool of the host program.
        server: Option<ServerName>,
        /// Who is asked: `client`, `terminal` or `inbox`.
        way: String,
    },
    /// A person answered.
    #[serde(rename = "approval.decided")]
    ApprovalDecided {
        /// Its number.
        id: String,
        /// The exposed name.
        tool: String,
        /// `once`, `session`, `always` or `refuse`.
        decision: String,
        /// Who answered.
        by: String,
    },
    /// Nobody answered in time, or nobody waits for the answer any more.
    #[serde(rename = "approval.expired")]
    ApprovalExpired {
        /// Its number.
        id: String,
        /// The exposed name.
        tool: String,
    },
    /// A tool was called.
    #[serde(rename = "tools.call.finished")]
    CallFinished {
        /// The exposed name.
        tool: String,
        /// `ok`, or the reason's code.
        outcome: String,
        /// How long it took.
        duration_ms: u64,
    },
    /// A tool's result does not match its `outputSchema`; it was delivered.
    #[serde(rename = "tools.call.mismatch")]
    OutputMismatch {
        /// The exposed name.
        tool: String,
        /// The server; none for a tool of the host program.
        server: Option<ServerName>,
        /// The reason's code.
        reason: String,
        /// The first mismatch, without values of the result.
        error: String,
    },
    /// A request about a prompt or a resource was passed on to its server.
    #[serde(rename = "server.request.finished")]
    RequestFinished {
        /// Which server.
        server: ServerName,
        /// The protocol's method.
        method: String,
        /// `ok`, or the reason's code.
        outcome: String,
        /// How long it took.
        duration_ms: u64,
    },
}
