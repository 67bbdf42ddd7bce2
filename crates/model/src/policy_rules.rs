//! Policy rules with their source locations.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Layer, Origin, Policy};

/// One rule of a `policies` table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PolicyRule {
    /// A tool's name, a pattern with `*` and `?`, or an annotation such as `@destructive`.
    pub pattern: String,
    /// The policy for matching tools.
    pub policy: Policy,
    /// Where the rule is written.
    pub origin: Origin,
}

impl PolicyRule {
    /// Whether the rule is from a project's file. Such a rule can only tighten.
    pub fn is_from_project(&self) -> bool {
        self.origin.layer == Layer::Project
    }
}

/// The rules that apply to the tools of all servers and of the host program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GlobalRules {
    /// The rules of all config files.
    pub rules: Vec<PolicyRule>,
    /// Default for tools that are annotated as destructive and match no rule.
    pub ask_destructive: AskDestructive,
}

/// Policy data of one server beside its `policy` and `policies`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerRules {
    /// Source line of each rule in the server's table, by key such as `policy` or `policies.delete_*`.
    pub lines: BTreeMap<String, usize>,
    /// Rules from the user's own definition of this server, if a project's definition replaced it.
    pub user_rules: Vec<PolicyRule>,
    /// The rules that apply to all servers.
    pub global: Arc<GlobalRules>,
    /// Which requests the server may send to the calling client.
    pub client_requests: ClientRequests,
    /// The environment variable that overrides `enabled`, if one is set.
    pub enabled_by: Option<String>,
}

/// Which requests a server may send to the calling client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ClientRequests {
    /// `elicitation/create`: input from the user.
    pub elicitation: bool,
    /// `sampling/createMessage`: a completion by the client's model.
    pub sampling: bool,
}

impl ClientRequests {
    /// The requests that both definitions allow.
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

/// Whether destructive tools that match no rule need approval. Each variant is stricter than the previous one.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum AskDestructive {
    /// They are called like any other tool.
    Never,
    /// They need approval if a user can be asked, otherwise they run.
    #[default]
    WhenPossible,
    /// They need approval; a call is refused if no user can be asked.
    Always,
}

impl AskDestructive {
    /// The value used in configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::WhenPossible => "when_possible",
            Self::Always => "always",
        }
    }
}

/// Where approvals are requested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskVia {
    /// In the calling client, and at the terminal of a command.
    Client,
    /// At the terminal of a command, in the dashboard or with `pegboard approvals`; never in the calling client.
    Inbox,
    /// In the client if it supports elicitation, otherwise in the inbox.
    #[default]
    Both,
}

impl AskVia {
    /// The value used in configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Inbox => "inbox",
            Self::Both => "both",
        }
    }
}

/// Scope of an approval that was given through the calling client. The client itself may have given it, so it never
/// becomes a lasting grant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientApproval {
    /// This call only.
    #[default]
    Call,
    /// This call, or this version of the tool for the rest of the session.
    Session,
}

impl ClientApproval {
    /// The value used in configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Session => "session",
        }
    }
}

/// The policy that applies to one tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EffectivePolicy {
    /// What is permitted.
    pub policy: Policy,
    /// Whether approval is requested if a user can be asked: the default for destructive tools.
    pub asks_if_possible: bool,
    /// How the server's annotations influence the result.
    pub hints: HintEffect,
}

/// What other annotations of a tool (`destructiveHint`, `readOnlyHint`) would change about its policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum HintEffect {
    /// Nothing: a more specific rule decides.
    #[default]
    None,
    /// Whether approval is requested if a user can be asked.
    MayAsk,
    /// Whether the tool may run at all: a rule names an annotation.
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
