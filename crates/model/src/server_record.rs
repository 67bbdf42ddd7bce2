//! The stored discovery record of a server.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{ConfigHash, LearntFacts, Reason, Review, ServerName, Timestamp, Tool, ToolError};

/// The result of a server's latest discoveries. It is stored and survives restarts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerRecord {
    /// The server's name.
    pub server: ServerName,
    /// Hash of the definition that was discovered.
    pub config: ConfigHash,
    /// Outcome of the latest discovery.
    pub status: DiscoveryStatus,
    /// Time of the latest successful discovery.
    pub discovered_at: Option<Timestamp>,
    /// Time of the latest attempt.
    pub attempted_at: Option<Timestamp>,
    /// Error of the latest attempt, if it failed.
    pub last_error: Option<ErrorSummary>,
    /// The protocol era of the server.
    pub era: Option<Era>,
    /// The negotiated protocol revision.
    pub protocol_version: Option<String>,
    /// The server's self-description; never used to identify it.
    pub info: Option<ServerInfo>,
    /// The server's instructions for models.
    pub instructions: Option<String>,
    /// The TTL of the list as given by the server, in milliseconds.
    pub ttl_hint_ms: Option<u64>,
    /// Whether the server marks its list as private to one user.
    pub private: bool,
    /// The admitted tools, sorted by name.
    pub tools: Arc<[Tool]>,
    /// The rejected definitions.
    pub rejections: Arc<[Rejection]>,
    /// The declared capabilities as JSON text; `None` before the first discovery.
    pub capabilities: Option<Arc<str>>,
    /// Prompts, resources and resource templates.
    pub offers: Arc<Offers>,
    /// What calls have shown about the server.
    #[serde(default)]
    pub learnt: LearntFacts,
    /// The version of the scanner's rules that the definitions were scanned with; 0 if they were not.
    #[serde(default)]
    pub scanned: u32,
    /// The definitions that were not simply accepted with the server.
    #[serde(default)]
    pub reviews: Arc<[Review]>,
}

/// The prompts, resources and resource templates of a server; each list is sorted by key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offers {
    /// Prompts, keyed by name.
    pub prompts: Vec<Offer>,
    /// Resources, keyed by URI.
    pub resources: Vec<Offer>,
    /// Resource templates, keyed by URI template.
    pub templates: Vec<Offer>,
}

/// A prompt, resource or resource template.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// The name, URI or URI template.
    pub key: String,
    /// The definition, verbatim.
    pub definition: Arc<str>,
}

impl ServerRecord {
    /// Creates the record of a server that was never discovered.
    pub fn undiscovered(server: ServerName, config: ConfigHash) -> Self {
        Self {
            server,
            config,
            status: DiscoveryStatus::Never,
            discovered_at: None,
            attempted_at: None,
            last_error: None,
            era: None,
            protocol_version: None,
            info: None,
            instructions: None,
            ttl_hint_ms: None,
            private: false,
            tools: Arc::from([]),
            rejections: Arc::from([]),
            capabilities: None,
            offers: Arc::default(),
            learnt: LearntFacts::default(),
            scanned: 0,
            reviews: Arc::from([]),
        }
    }

    /// Whether a discovery ever succeeded.
    pub fn is_known(&self) -> bool {
        self.discovered_at.is_some()
    }
}

/// Status of a server's latest discovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DiscoveryStatus {
    /// No discovery was attempted.
    Never,
    /// A discovery is running.
    Discovering,
    /// The server listed its tools.
    Success,
    /// The discovery failed.
    Failed,
}

impl DiscoveryStatus {
    /// The word used in output and in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Discovering => "discovering",
            Self::Success => "success",
            Self::Failed => "failed",
        }
    }
}

/// The two generations of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Era {
    /// With an `initialize` handshake (revisions up to 2025-11-25).
    Legacy,
    /// Stateless: each request is independent (revisions from 2026-07-28).
    Modern,
}

/// A server's self-description.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerInfo {
    /// The name that the server gives itself.
    pub name: String,
    /// The server's version.
    pub version: String,
}

/// The stored part of a [`ToolError`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorSummary {
    /// The specific reason.
    pub reason: Reason,
    /// What happened.
    pub message: String,
    /// What to do next.
    pub remedy: String,
}

impl From<&ToolError> for ErrorSummary {
    fn from(error: &ToolError) -> Self {
        Self {
            reason: error.reason,
            message: error.message.clone(),
            remedy: error.remedy.clone(),
        }
    }
}

/// A definition that was rejected, or admitted with a problem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejection {
    /// The name or position of the definition, escaped for display.
    pub tool: String,
    /// The reason of the rejection.
    pub reason: Reason,
    /// What exactly is wrong with it.
    pub detail: String,
}
