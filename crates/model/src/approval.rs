//! Approval requests, their decisions, and grants.

use serde::{Deserialize, Serialize};

use crate::{ConfigHash, Fingerprint, ServerName, Timestamp};

/// One version of a tool. An approval covers exactly this version.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ToolVersion {
    /// The tool's server; `None` for a tool of the host program.
    pub server: Option<ServerName>,
    /// Hash of the server's definition; zeros for a tool of the host program.
    pub config: ConfigHash,
    /// The name that the server uses.
    pub tool: String,
    /// Hash of the tool's definition.
    pub fingerprint: Fingerprint,
}

/// A person's decision on an approval request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalDecision {
    /// Allow this call.
    Once,
    /// Allow this version of the tool for this session.
    Session,
    /// Allow this version of the tool from now on.
    Always,
    /// Refuse this call.
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

    /// Parses the word of a decision.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Once, Self::Session, Self::Always, Self::Refuse]
            .into_iter()
            .find(|decision| decision.as_str() == word)
    }
}

/// A call that waits for approval in the inbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalRequest {
    /// The id in the inbox: eight hex digits.
    pub id: String,
    /// The calling session.
    pub session: String,
    /// The client's name for itself; untrusted text.
    pub client: Option<String>,
    /// The tool's exposed name.
    pub tool: String,
    /// The version that the decision applies to.
    pub version: ToolVersion,
    /// The tool's definition as it is shown to the person.
    pub definition: String,
    /// The exact, complete arguments as JSON text. Arguments that cannot be shown completely are refused earlier.
    pub arguments: String,
    /// The rule that requires approval.
    pub rule: String,
    /// The differences from the previously granted version, if there was one.
    #[serde(default)]
    pub changed: Vec<String>,
    /// Whether the approval can be given for the whole session.
    #[serde(default)]
    pub offers_session: bool,
    /// When approval was requested.
    pub asked_at: Timestamp,
    /// When the request expires.
    pub expires_at: Timestamp,
}

/// The decision on a request in the inbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalResponse {
    /// The decision.
    pub decision: ApprovalDecision,
    /// Who decided, for example `command line`.
    pub by: String,
    /// When it was decided.
    pub at: Timestamp,
}

/// A lasting approval of one version of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The granted version.
    pub version: ToolVersion,
    /// The exposed name of the tool at the time of the grant.
    pub exposed: String,
    /// The approved definition, for comparison with later versions.
    pub definition: String,
    /// When the grant was given.
    pub at: Timestamp,
    /// Who gave the grant.
    pub by: String,
}
