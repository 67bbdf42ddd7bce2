//! The activity log. It holds names, codes and times, never arguments or results.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{ServerName, Timestamp, TraceId};

/// The kinds of activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ActivityKind {
    /// A tool call.
    Call,
    /// A request about a prompt or a resource.
    Request,
    /// A discovery of a server.
    Discovery,
    /// An approval request or its decision.
    Approval,
    /// A configuration change.
    Config,
    /// A decision about a definition that was held back.
    Review,
}

impl ActivityKind {
    /// All kinds.
    pub const ALL: [Self; 6] = [
        Self::Call,
        Self::Request,
        Self::Discovery,
        Self::Approval,
        Self::Config,
        Self::Review,
    ];

    /// The word used in output and in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Request => "request",
            Self::Discovery => "discovery",
            Self::Approval => "approval",
            Self::Config => "config",
            Self::Review => "review",
        }
    }

    /// Parses the word of a kind.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// One entry of the activity log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Activity {
    /// Increasing id in the log; zero before the entry is stored.
    pub id: u64,
    /// When the activity ended.
    pub at: Timestamp,
    /// The kind of activity.
    pub kind: ActivityKind,
    /// The session that caused it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub session: Option<String>,
    /// The client's name and version as it sent them (untrusted text), or `cli`, `dashboard`, `api` or `agent`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub client: Option<String>,
    /// The exposed name of a tool, the method of a request, the command of a changed server, or the tools that changed
    /// in a discovery.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tool: Option<String>,
    /// The affected server.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server: Option<ServerName>,
    /// `ok`, a reason code, or a word such as `added`, `always` or `changed`.
    pub outcome: Cow<'static, str>,
    /// Duration in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub duration_ms: Option<u64>,
    /// The trace it belongs to.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub trace: Option<TraceId>,
}

impl Activity {
    /// Creates an entry without optional details.
    pub fn new(at: Timestamp, kind: ActivityKind, outcome: impl Into<Cow<'static, str>>) -> Self {
        Self {
            id: 0,
            at,
            kind,
            session: None,
            client: None,
            tool: None,
            server: None,
            outcome: outcome.into(),
            duration_ms: None,
            trace: None,
        }
    }
}
