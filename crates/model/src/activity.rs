//! What was done, in one line each: names, codes and times, never arguments or results.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{ServerName, Timestamp, TraceId};

/// What kind of thing was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ActivityKind {
    /// A tool was called.
    Call,
    /// A request about a prompt or a resource was passed on.
    Request,
    /// A server was asked for its tools.
    Discovery,
    /// A person was asked, or answered.
    Approval,
    /// The configuration changed.
    Config,
}

impl ActivityKind {
    /// Every kind.
    pub const ALL: [Self; 5] = [
        Self::Call,
        Self::Request,
        Self::Discovery,
        Self::Approval,
        Self::Config,
    ];

    /// The word shown to people and programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Request => "request",
            Self::Discovery => "discovery",
            Self::Approval => "approval",
            Self::Config => "config",
        }
    }

    /// The kind that a word names.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// One thing that was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Activity {
    /// Its place in the log, growing; zero before it is kept.
    pub id: u64,
    /// When it ended.
    pub at: Timestamp,
    /// What kind of thing.
    pub kind: ActivityKind,
    /// The session that wanted it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub session: Option<String>,
    /// The tool's exposed name, the method of a request, the command of a server that was changed, or the tools that
    /// a discovery found changed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tool: Option<String>,
    /// The server.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server: Option<ServerName>,
    /// `ok`, a reason's code, or a word such as `added`, `always` or `changed`.
    pub outcome: Cow<'static, str>,
    /// How long it took.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub duration_ms: Option<u64>,
    /// In the course of what.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub trace: Option<TraceId>,
}

impl Activity {
    /// Something that was done now, with nothing more said of it.
    pub fn new(at: Timestamp, kind: ActivityKind, outcome: impl Into<Cow<'static, str>>) -> Self {
        Self {
            id: 0,
            at,
            kind,
            session: None,
            tool: None,
            server: None,
            outcome: outcome.into(),
            duration_ms: None,
            trace: None,
        }
    }
}
