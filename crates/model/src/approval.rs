//! What a person is asked about a call, and what was answered.

use serde::{Deserialize, Serialize};

use crate::{ConfigHash, Fingerprint, ServerName, Timestamp};

/// One version of a tool: consent given to it covers no other.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ToolVersion {
    /// The server that has it; `None` for a tool of the host program.
    pub server: Option<ServerName>,
    /// The server's definition; zeros for a tool of the host program.
    pub config: ConfigHash,
    /// The server's own name for it.
    pub tool: String,
    /// Its definition as one hash.
    pub fingerprint: Fingerprint,
}

/// A person's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalDecision {
    /// This very call may run.
    Once,
    /// This version of the tool may run in this session.
    Session,
    /// This version of the tool may run from now on.
    Always,
    /// The call may not run.
    Refuse,
}

impl ApprovalDecision {
    /// The word used in commands, logs and the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Session => "session",
            Self::Always => "always",
            Self::Refuse => "refuse",
        }
    }

    /// The decision that a word names.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Once, Self::Session, Self::Always, Self::Refuse]
            .into_iter()
            .find(|decision| decision.as_str() == word)
    }
}

/// A call that waits in the inbox for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalRequest {
    /// Its number in the inbox: eight hex digits.
    pub id: String,
    /// The session that calls.
    pub session: String,
    /// What the client calls itself; foreign text.
    pub client: Option<String>,
    /// The tool's exposed name.
    pub tool: String,
    /// The version that an answer is bound to.
    pub version: ToolVersion,
    /// The tool's definition, as the person should see it.
    pub definition: String,
    /// The exact arguments as JSON text, complete: what cannot be shown completely is not asked about.
    pub arguments: String,
    /// The rule that asks.
    pub rule: String,
    /// Where the tool differs from the version that was allowed before, when one was.
    #[serde(default)]
    pub changed: Vec<String>,
    /// Whether the call belongs to a session whose later calls could be allowed, too.
    #[serde(default)]
    pub offers_session: bool,
    /// When it was asked.
    pub asked_at: Timestamp,
    /// From when on no answer counts any more.
    pub expires_at: Timestamp,
}

/// An answer to a request in the inbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalResponse {
    /// What was decided.
    pub decision: ApprovalDecision,
    /// Who decided, for example `command line`.
    pub by: String,
    /// When.
    pub at: Timestamp,
}

/// A lasting consent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The version it covers.
    pub version: ToolVersion,
    /// The tool's exposed name when it was given.
    pub exposed: String,
    /// The definition that was looked at, so that a later one can be compared with it.
    pub definition: String,
    /// When it was given.
    pub at: Timestamp,
    /// Who gave it.
    pub by: String,
}
