//! What lasts about a server.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{ConfigHash, Reason, ServerName, Timestamp, Tool, ToolError};

/// What is known of a server from its last discoveries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerRecord {
    /// Which server.
    pub server: ServerName,
    /// The definition it was discovered with.
    pub config: ConfigHash,
    /// How the last discovery ended.
    pub status: DiscoveryStatus,
    /// When tools were last received.
    pub discovered_at: Option<Timestamp>,
    /// When it was last tried.
    pub attempted_at: Option<Timestamp>,
    /// Why the last try failed.
    pub last_error: Option<ErrorSummary>,
    /// The protocol era it speaks.
    pub era: Option<Era>,
    /// The protocol revision agreed on.
    pub protocol_version: Option<String>,
    /// What it says of itself; never used to identify it.
    pub info: Option<ServerInfo>,
    /// Its own instructions for models.
    pub instructions: Option<String>,
    /// How long it says its list stays fresh, in milliseconds; `None` without a hint.
    pub ttl_hint_ms: Option<u64>,
    /// Whether it says its list is for one user only.
    pub private: bool,
    /// Its tools, sorted by name.
    pub tools: Arc<[Tool]>,
    /// What it sent and was not accepted.
    pub rejections: Arc<[Rejection]>,
    /// The capabilities it declared, as JSON text; `None` when it was never asked.
    pub capabilities: Option<Arc<str>>,
    /// What it offers beside tools.
    pub offers: Arc<Offers>,
}

/// What a server offers beside tools; each list is sorted by key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offers {
    /// Its prompts, by name.
    pub prompts: Vec<Offer>,
    /// Its resources, by uri.
    pub resources: Vec<Offer>,
    /// Its resource templates, by uri template.
    pub templates: Vec<Offer>,
}

/// A prompt, resource or resource template.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// The name, uri or uri template that it is known by.
    pub key: String,
    /// The definition as the server wrote it.
    pub definition: Arc<str>,
}

impl ServerRecord {
    /// The record of a server that was never asked.
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
        }
    }

    /// Whether its tools were ever received.
    pub fn is_known(&self) -> bool {
        self.discovered_at.is_some()
    }
}

/// How the last discovery of a server ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DiscoveryStatus {
    /// It was never tried.
    Never,
    /// It is being tried now.
    Discovering,
    /// It gave its tools.
    Success,
    /// It did not.
    Failed,
}

impl DiscoveryStatus {
    /// The word shown to people and programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Discovering => "discovering",
            Self::Success => "success",
            Self::Failed => "failed",
        }
    }
}

/// The two ways in which servers converse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Era {
    /// `initialize` first (revisions up to 2025-11-25).
    Legacy,
    /// Every request stands alone (2026-07-28 on).
    Modern,
}

/// What a server says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerInfo {
    /// Its name for itself.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// An error as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorSummary {
    /// The reason.
    pub reason: Reason,
    /// The message.
    pub message: String,
    /// The next step.
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

/// A tool that was not accepted, or accepted with a flaw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejection {
    /// Its name or position, escaped for display.
    pub tool: String,
    /// Why.
    pub reason: Reason,
    /// What exactly is wrong.
    pub detail: String,
}
