//! A small model of the policy gate: which tool a name resolves to, what the rules say about a version, and which
//! approvals cover a call.

use pegboard_model::{ApprovalDecision, AskDestructive, ClientApproval, Fingerprint, Policy};
use serde_json::{Value, json};

/// Names that clients call, and the server and tool that each resolves to.
pub(crate) const NAMES: [(&str, Option<(&str, &str)>); 15] = [
    ("a__one", Some(("a", "one"))),
    ("a/one", Some(("a", "one"))),
    (" a__one ", Some(("a", "one"))),
    ("one", Some(("a", "one"))),
    ("a__two", Some(("a", "two"))),
    ("a/two", Some(("a", "two"))),
    ("evil__a__one", Some(("evil", "a__one"))),
    ("evil/a__one", Some(("evil", "a__one"))),
    ("evil/a/two", Some(("evil", "a/two"))),
    ("evil__read_result", Some(("evil", "read_result"))),
    ("read_result", None),
    ("call_tool", None),
    ("call_readonly_tool", None),
    ("gone__one", None),
    ("b/two", None),
];

/// The tools of all servers.
pub(crate) const TOOLS: [(&str, &str); 5] = [
    ("a", "one"),
    ("a", "two"),
    ("evil", "a__one"),
    ("evil", "a/two"),
    ("evil", "read_result"),
];

/// The profiles and their servers.
pub(crate) const PROFILES: [(&str, &[&str]); 4] = [
    ("", &["a", "evil"]),
    ("safe", &["a"]),
    ("bad", &["evil"]),
    ("direct", &["a", "evil"]),
];

/// The patterns used in rules.
pub(crate) const PATTERNS: [&str; 9] = [
    "a__one",
    "a/two",
    "one",
    "evil__read_result",
    "a/*",
    "evil/*",
    "@destructive",
    "@read_only",
    "*",
];

/// A server's annotation of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hint {
    None,
    ReadOnly,
    Destructive,
}

/// One version of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) number: u8,
    pub(crate) hint: Hint,
}

impl Version {
    pub(crate) fn definition(self, name: &str) -> Value {
        let mut tool = json!({
            "name": name,
            "description": format!("Version {}.", self.number),
            "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
        });
        match self.hint {
            Hint::None => {}
            Hint::ReadOnly => tool["annotations"] = json!({"readOnlyHint": true}),
            Hint::Destructive => tool["annotations"] = json!({"destructiveHint": true}),
        }
        tool
    }

    pub(crate) fn fingerprint(self, name: &str) -> Fingerprint {
        pegboard_guard::fingerprint(&self.definition(name).to_string()).unwrap()
    }
}

/// The user's rules.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub(crate) rules: Vec<(&'static str, Policy)>,
    pub(crate) ask_destructive: AskDestructive,
}

/// The decision of the rules about one version of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ruled {
    /// Every version may run: no annotation was considered.
    Allowed,
    /// This version may run; another one might not.
    AllowedAsIs,
    /// May run if no one can be asked.
    AskedIfPossible,
    Asked,
    Forbidden,
}

impl Rules {
    /// The strictest of the most specific matching rules.
    pub(crate) fn ruled(&self, server: &str, tool: &str, hint: Hint) -> Ruled {
        // Exact with a server, exact, pattern, annotation, `*`.
        let closeness = |pattern: &str| match pattern {
            "*" => Some(1),
            "@destructive" => (hint == Hint::Destructive).then_some(2),
            "@read_only" => (hint == Hint::ReadOnly).then_some(2),
            "a/*" | "evil/*" => (pattern.split('/').next() == Some(server)).then_some(3),
            "one" => (tool == "one").then_some(4),
            _ => {
                let (of, name) = match pattern {
                    "a__one" => ("a", "one"),
                    "a/two" => ("a", "two"),
                    _ => ("evil", "read_result"),
                };
                (of == server && name == tool).then_some(5)
            }
        };
        let fitting = self.rules.iter();
        let fitting = fitting.filter_map(|(pattern, policy)| Some((closeness(pattern)?, *policy)));
        let Some((closeness, policy)) = fitting.max() else {
            return match (self.ask_destructive, hint) {
                (AskDestructive::Never, _) => Ruled::Allowed,
                (AskDestructive::Always, Hint::Destructive) => Ruled::Asked,
                (AskDestructive::WhenPossible, Hint::Destructive) => Ruled::AskedIfPossible,
                _ => Ruled::AllowedAsIs,
            };
        };
        let has_annotations = (self.rules.iter()).any(|(pattern, _)| pattern.starts_with('@'));
        match policy {
            Policy::Allow if closeness > 2 || !has_annotations => Ruled::Allowed,
            Policy::Allow => Ruled::AllowedAsIs,
            Policy::Ask => Ruled::Asked,
            Policy::Deny | Policy::Disable => Ruled::Forbidden,
        }
    }
}

/// The channel of a person's decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    /// The calling client, with the setting for client approvals at that time.
    Client(ClientApproval),
    Inbox,
}

/// A person's decision.
#[derive(Clone, Debug)]
pub(crate) struct Approval {
    pub(crate) channel: Channel,
    pub(crate) decision: ApprovalDecision,
    pub(crate) call: usize,
    pub(crate) session: usize,
    pub(crate) tool: (&'static str, &'static str),
    pub(crate) version: Fingerprint,
}

impl Approval {
    /// Whether it allows this call of a session to run this version.
    pub(crate) fn covers(
        &self,
        call: usize,
        session: usize,
        tool: (&str, &str),
        version: Fingerprint,
    ) -> bool {
        use ApprovalDecision::{Always, Once, Refuse, Session};
        if self.tool != tool || self.version != version {
            return false;
        }
        match (self.channel, self.decision) {
            (_, Once) => self.call == call,
            (Channel::Inbox, Session) | (Channel::Client(ClientApproval::Session), Session) => {
                self.session == session
            }
            (Channel::Inbox, Always) => true,
            (Channel::Client(_), Session | Always) | (_, Refuse) => false,
        }
    }

    /// Whether it is a lasting grant, after which other versions of the tool need approval.
    pub(crate) fn is_grant(&self) -> bool {
        self.channel == Channel::Inbox && self.decision == ApprovalDecision::Always
    }
}
