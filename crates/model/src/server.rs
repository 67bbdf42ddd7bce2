//! A configured server, checked.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{ConfigHash, Reason, ServerName, ServerRules, Template, ToolError};

/// Everything that is known of a server from configuration alone.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerSpec {
    /// Its name.
    pub name: ServerName,
    /// How it is reached.
    pub transport: Transport,
    /// Whether its tools are offered.
    pub enabled: bool,
    /// How long each step may take.
    pub timeouts: Timeouts,
    /// How long its tool list counts as fresh when it gives no hint of its own.
    pub ttl: Duration,
    /// How old the list of a stopped server may get before it is refreshed in the background.
    pub max_age: Duration,
    /// What it is for, in the user's words.
    pub description: Option<String>,
    /// The category of its tools, when the user gives one.
    pub category: Option<String>,
    /// The policy of its tools, when the user gives one.
    pub policy: Option<Policy>,
    /// Policies by tool name or glob.
    pub policies: BTreeMap<String, Policy>,
    /// What the user says of single tools.
    pub tools: BTreeMap<String, ToolOverride>,
    /// The places of its policies, and the rules that hold for all servers.
    pub rules: ServerRules,
    /// Where the definition comes from.
    pub origin: Origin,
    /// Whether a person has agreed to run it.
    pub approval: TrustState,
    /// The definition as one keyed hash.
    pub hash: ConfigHash,
}

impl ServerSpec {
    /// The error of a request to a disabled server.
    pub fn disabled_error(&self) -> ToolError {
        self.variable_error(true).unwrap_or_else(|| {
            let message = format!("server `{}` is disabled", self.name);
            ToolError::new(Reason::ServerDisabled, message).at_server(&self.name)
        })
    }

    /// Returns an error if an environment variable enables or disables the server against what is wanted. No change
    /// of a file helps then.
    pub fn variable_error(&self, wanted: bool) -> Option<ToolError> {
        let variable = self.rules.enabled_by.as_ref()?;
        if self.enabled == wanted {
            return None;
        }
        let name = &self.name;
        let (reason, state, value) = match wanted {
            true => (Reason::ServerDisabled, "disabled", "true"),
            false => (Reason::ConfigInvalid, "enabled", "false"),
        };
        let message =
            format!("server `{name}` is {state} by the environment variable `{variable}`");
        let remedy =
            format!("Unset `{variable}` or set it to `{value}` where Pegboard is started.");
        let error = ToolError::new(reason, message).at_server(name);
        Some(error.with_remedy(remedy))
    }
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq)]
pub enum Transport {
    /// A child process that speaks on its standard input and output.
    Stdio {
        /// The program.
        command: Template,
        /// Its arguments, never passed through a shell.
        args: Vec<Template>,
        /// Variables it gets beside the allow-listed ones.
        env: BTreeMap<String, Template>,
        /// The folder it runs in.
        cwd: Option<Template>,
    },
    /// Streamable HTTP.
    Http {
        /// The endpoint.
        url: Template,
        /// Headers sent with every request.
        headers: BTreeMap<String, Template>,
        /// The token sent as `Authorization: Bearer`.
        bearer: Option<Template>,
    },
}

impl Transport {
    /// `stdio` or `http`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Stdio { .. } => "stdio",
            Self::Http { .. } => "http",
        }
    }
}

/// Programs that may download a package before they run it.
const PACKAGE_RUNNERS: &[&str] = &[
    "bun", "bunx", "cargo", "deno", "dnx", "docker", "go", "npm", "npx", "pipx", "pnpm", "pnpx",
    "podman", "uv", "uvx", "yarn",
];

/// The package runner that a program is, if it is one: its first start of a server may take long.
pub fn package_runner(program: &str) -> Option<&'static str> {
    let name = program.rsplit('/').next()?;
    PACKAGE_RUNNERS
        .iter()
        .find(|runner| **runner == name)
        .copied()
}

impl Transport {
    /// The package runner that starts the server, if one does.
    pub fn package_runner(&self) -> Option<&'static str> {
        let Self::Stdio { command, .. } = self else {
            return None;
        };
        package_runner(command.written())
    }
}

/// How long each step with a server may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Opening an HTTP connection.
    pub connect: Duration,
    /// From the start of a server to the last page of its tools.
    pub discovery: Duration,
    /// One call.
    pub call: Duration,
    /// How long a server may be idle before it is stopped.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            discovery: Duration::from_secs(30),
            call: Duration::from_secs(60),
            idle: Duration::from_secs(300),
        }
    }
}

/// What may be done with a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// It is called.
    Allow,
    /// A person is asked first.
    Ask,
    /// It is shown, but not called.
    Deny,
    /// It is neither shown nor called.
    Disable,
}

impl Policy {
    /// The word used in configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
            Self::Disable => "disable",
        }
    }
}

/// What a user says of one tool in place of what its server says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolOverride {
    /// One line of at most 80 characters.
    pub summary: Option<String>,
    /// The full description.
    pub description: Option<String>,
    /// The category.
    pub category: Option<String>,
    /// Examples of calls.
    pub examples: Vec<ToolExample>,
    /// Names of related tools.
    pub related: Option<Vec<String>>,
    /// Whether it is offered.
    pub enabled: Option<bool>,
    /// Whether it should no longer be used, and what to use instead.
    pub deprecated: Option<String>,
}

/// An example of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolExample {
    /// What it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The arguments.
    pub arguments: serde_json::Value,
    /// What the tool answers to them, when the user says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_output: Option<serde_json::Value>,
}

/// Where a definition comes from; later layers win.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// Built in, or a default.
    Builtin,
    /// The user's own file.
    User,
    /// A project's file.
    Project,
    /// An environment variable.
    Environment,
    /// A command-line flag.
    Flag,
}

/// The place a definition comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The layer.
    pub layer: Layer,
    /// The file, when it is one.
    pub file: Option<PathBuf>,
    /// The line in it, from 1.
    pub line: Option<usize>,
}

/// Whether a server may be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrustState {
    /// The user wrote it, or agreed to exactly this definition.
    Granted,
    /// A project brings it and nobody agreed yet.
    Pending,
    /// It was agreed to, and has changed since.
    Changed,
}
