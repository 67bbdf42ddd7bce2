//! The review of definitions: what a scan found, and the state of each version.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{ConfigHash, Fingerprint, ServerName, Timestamp};

/// What a rule of the scanner means for a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; nothing is held back because of it alone.
    Note,
    /// The definition awaits review before models see it.
    Flag,
    /// Like a flag, but also if reviews are off: no honest text contains it.
    Block,
}

impl Severity {
    /// The word used in output and in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Flag => "flag",
            Self::Block => "block",
        }
    }
}

/// A rule of the scanner that a definition matches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The id of the rule.
    pub rule: String,
    /// What it means for the definition.
    pub severity: Severity,
    /// Where it was found, for example `inputSchema.properties.note.description`; escaped.
    pub place: String,
    /// The text that matched, revealed, escaped and shortened.
    pub excerpt: String,
}

/// What kind of definition is reviewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReviewKind {
    /// A tool.
    Tool,
    /// A prompt.
    Prompt,
    /// A resource.
    Resource,
    /// A resource template.
    Template,
    /// The server's instructions for models.
    Instructions,
}

impl ReviewKind {
    /// The word used in output and in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Prompt => "prompt",
            Self::Resource => "resource",
            Self::Template => "template",
            Self::Instructions => "instructions",
        }
    }
}

impl ReviewKind {
    /// All kinds.
    pub const ALL: [Self; 5] = [
        Self::Tool,
        Self::Prompt,
        Self::Resource,
        Self::Template,
        Self::Instructions,
    ];

    /// Parses the word of a kind.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// The review state of one version of a definition. A version without a stored review is approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReviewState {
    /// There is no decision about it yet.
    New,
    /// It was accepted: by a person, or with its server.
    Approved,
    /// It differs from the version that was accepted.
    Changed,
    /// The scanner found something in it.
    Flagged,
}

impl ReviewState {
    /// The word used in output and in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Approved => "approved",
            Self::Changed => "changed",
            Self::Flagged => "flagged",
        }
    }
}

/// The review of one version that was not simply accepted with its server. Part of a server's record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    /// What is reviewed.
    pub kind: ReviewKind,
    /// The server's name for it; empty for instructions.
    pub name: String,
    /// The version.
    pub fingerprint: Fingerprint,
    /// The state at its discovery, before any decision.
    pub state: ReviewState,
    /// What the scanner found.
    pub findings: Vec<Finding>,
    /// The definition that was accepted last, if this one differs from it.
    pub before: Option<Arc<str>>,
}

impl Review {
    /// The worst finding.
    pub fn severity(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }
}

/// What is held back until a person decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReviewMode {
    /// Only what no honest text contains.
    Off,
    /// What the scanner flags, and changes of tools that are in use.
    #[default]
    Default,
    /// Everything new and every change.
    Strict,
}

impl ReviewMode {
    /// The word used in the configuration and in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Default => "default",
            Self::Strict => "strict",
        }
    }

    /// Whether a version is held back until a person accepts it.
    pub fn holds(self, review: &Review) -> bool {
        match self {
            Self::Off => review.severity() == Some(Severity::Block),
            Self::Default => review.state != ReviewState::New,
            Self::Strict => true,
        }
    }
}

/// What happens to a result whose texts hide something or imitate a system message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ResultScan {
    /// Nothing.
    Off,
    /// The result is marked as suspicious.
    #[default]
    Mark,
    /// The result is marked, and the hidden characters are escaped.
    Neutralise,
}

impl ResultScan {
    /// The word used in the configuration and in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Mark => "mark",
            Self::Neutralise => "neutralise",
        }
    }
}

/// A person's decision about one version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewDecision {
    /// The server.
    pub server: ServerName,
    /// The server's definition; a decision is void under another one.
    pub config: ConfigHash,
    /// What was reviewed.
    pub kind: ReviewKind,
    /// The server's name for it; empty for instructions.
    pub name: String,
    /// The version.
    pub fingerprint: Fingerprint,
    /// Whether models may use it.
    pub accepted: bool,
    /// When it was decided.
    pub at: Timestamp,
    /// Where it was decided: `terminal`, `dashboard`, `API`.
    pub by: String,
}
