//! Policy rules that hold across servers, with the places they come from.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Layer, Origin, Policy};

/// One rule of a table of policies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PolicyRule {
    /// A tool's name, a pattern with `*` and `?`, or an annotation such as `@destructive`.
    pub pattern: String,
    /// What it says.
    pub policy: Policy,
    /// Where it stands.
    pub origin: Origin,
}

impl PolicyRule {
    /// Whether a project's file says it: then it can only tighten.
    pub fn is_from_project(&self) -> bool {
        self.origin.layer == Layer::Project
    }
}

/// The rules that hold for the tools of every server, and of the host program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GlobalRules {
    /// The rules of all files.
    pub rules: Vec<PolicyRule>,
    /// What happens with a tool that says of itself that it may destroy something, when no rule speaks of it.
    pub ask_destructive: AskDestructive,
}

/// The rules that stand in or belong to a server's own table, beside its `policy` and `policies`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerRules {
    /// The line of each rule in the server's table, by its key as `policy` or `policies.delete_*`.
    pub lines: BTreeMap<String, usize>,
    /// What the user's own file says of a server of this name that a project's file replaced.
    pub user_rules: Vec<PolicyRule>,
    /// The rules for all servers.
    pub global: Arc<GlobalRules>,
    /// What the server may request from the client that calls it.
    pub client_requests: ClientRequests,
    /// The environment variable that decides whether the server is enabled, whatever a file says.
    pub enabled_by: Option<String>,
}

/// What a server may request from the client that calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ClientRequests {
    /// To ask the user something: `elicitation/create`.
    pub elicitation: bool,
    /// To have the client's model generate something: `sampling/createMessage`.
    pub sampling: bool,
}

impl ClientRequests {
    /// What both of two definitions allow.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            elicitation: self.elicitation && other.elicitation,
            sampling: self.sampling && other.sampling,
        }
    }
}

impl Default for ClientRequests {
    fn default() -> Self {
        Self {
            elicitation: true,
            sampling: true,
        }
    }
}

/// When a tool that is annotated as destructive asks without any rule; each is stricter than the one before.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum AskDestructive {
    /// It is called like any other.
    Never,
    /// A person is asked when there is one, else it is called.
    #[default]
    WhenPossible,
    /// A person is asked, and nobody there is a refusal.
    Always,
}

impl AskDestructive {
    /// The word used in configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::WhenPossible => "when_possible",
            Self::Always => "always",
        }
    }
}

/// Where a person is asked about a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskVia {
    /// Only in the client that calls, and at the terminal of a command.
    Client,
    /// Never in the client that calls: at the terminal of a command, in the dashboard or with
    /// `pegboard approvals`.
    Inbox,
    /// In the client when it can ask, else in the inbox.
    #[default]
    Both,
}

impl AskVia {
    /// The word used in configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Inbox => "inbox",
            Self::Both => "both",
        }
    }
}

/// How far an approval reaches that was given through the client that makes the call. The client itself may have
/// given it, so it never becomes a lasting grant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientApproval {
    /// The one call.
    #[default]
    Call,
    /// The one call, or this version of the tool for the rest of the session.
    Session,
}

impl ClientApproval {
    /// The word used in configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Session => "session",
        }
    }
}

/// What holds for one tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EffectivePolicy {
    /// What may be done.
    pub policy: Policy,
    /// Whether a person is asked nevertheless when there is one: the default for destructive tools.
    pub asks_if_possible: bool,
    /// Whether the server's own hints had a say in it.
    pub hints: HintEffect,
}

/// What other hints of a server (`destructiveHint`, `readOnlyHint`) could have changed about a ruling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum HintEffect {
    /// Nothing: a closer rule decides.
    #[default]
    None,
    /// Whether a person is asked when there is one.
    MayAsk,
    /// Whether the tool may run at all: an annotation has a rule.
    Decides,
}

impl From<Policy> for EffectivePolicy {
    fn from(policy: Policy) -> Self {
        Self {
            policy,
            asks_if_possible: false,
            hints: HintEffect::None,
        }
    }
}
