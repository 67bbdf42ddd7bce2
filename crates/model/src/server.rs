//! A validated server definition.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    ConfigHash, OAuthSettings, Reason, ServerName, ServerRules, Share, Template, ToolError,
};

/// Everything that the configuration says about a server.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerSpec {
    /// The server's unique name.
    pub name: ServerName,
    /// How to connect to it.
    pub transport: Transport,
    /// How to log in to it, if the user configured that.
    pub oauth: Option<Box<OAuthSettings>>,
    /// Whether the server is enabled; a disabled server is never started and its tools are not offered.
    pub enabled: bool,
    /// Timeouts of each step.
    pub timeouts: Timeouts,
    /// How long its tool list counts as fresh if the server gives no TTL.
    pub ttl: Duration,
    /// Age at which the list of a stopped server is refreshed in the background.
    pub max_age: Duration,
    /// Which clients share one instance of the server.
    pub share: Share,
    /// The user's description of the server.
    pub description: Option<String>,
    /// The user's category for its tools.
    pub category: Option<String>,
    /// The user's default policy for its tools.
    pub policy: Option<Policy>,
    /// Policies by tool name or glob.
    pub policies: BTreeMap<String, Policy>,
    /// The user's overrides, by tool name.
    pub tools: BTreeMap<String, ToolOverride>,
    /// Source lines of its policies, and the rules that apply to all servers.
    pub rules: ServerRules,
    /// Where the definition was written.
    pub origin: Origin,
    /// Whether the user trusts this definition.
    pub trust_state: TrustState,
    /// Keyed hash of the definition.
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

    /// Returns an error if an environment variable sets `enabled` to the opposite of `wanted`. Editing a config file
    /// has no effect in that case.
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

/// How Pegboard connects to a server.
#[derive(Clone, Debug, PartialEq)]
pub enum Transport {
    /// A child process that uses standard input and output.
    Stdio {
        /// The program to start.
        command: Template,
        /// Its arguments, never passed through a shell.
        args: Vec<Template>,
        /// Environment variables in addition to the allow-listed ones.
        env: BTreeMap<String, Template>,
        /// The working directory.
        cwd: Option<Template>,
    },
    /// A URL.
    Http {
        /// The MCP endpoint.
        url: Template,
        /// Headers sent with every request.
        headers: BTreeMap<String, Template>,
        /// The token sent as `Authorization: Bearer`.
        bearer: Option<Template>,
        /// The transport over HTTP.
        wire: HttpWire,
    },
}

/// A transport over HTTP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HttpWire {
    /// Streamable HTTP; the old transport if the server refuses it.
    #[default]
    Detect,
    /// HTTP+SSE of the revision 2024-11-05, as the configuration says.
    Sse,
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

/// Programs that may download a package before running it.
const PACKAGE_RUNNERS: &[&str] = &[
    "bun", "bunx", "cargo", "deno", "dnx", "docker", "go", "npm", "npx", "pipx", "pnpm", "pnpx",
    "podman", "uv", "uvx", "yarn",
];

/// Returns the name of the package runner if `program` is one. Its first start may take long because it downloads.
pub fn package_runner(program: &str) -> Option<&'static str> {
    let name = program.rsplit('/').next()?;
    PACKAGE_RUNNERS
        .iter()
        .find(|runner| **runner == name)
        .copied()
}

impl Transport {
    /// The package runner that starts the server, if any.
    pub fn package_runner(&self) -> Option<&'static str> {
        let Self::Stdio { command, .. } = self else {
            return None;
        };
        package_runner(command.written())
    }
}

/// Timeouts of one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Opening an HTTP connection.
    pub connect: Duration,
    /// From starting a server to receiving the last page of its tools.
    pub discovery: Duration,
    /// One call.
    pub call: Duration,
    /// Idle time after which the server is stopped.
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

/// What a policy permits for a tool, from the most to the least permissive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// Calls run.
    Allow,
    /// Calls run after a person approved them.
    Ask,
    /// The tool is listed, but calls are rejected.
    Deny,
    /// The tool is neither listed nor callable.
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

/// A user's override of what a server says about one tool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolOverride {
    /// Summary of at most 80 characters.
    pub summary: Option<String>,
    /// The full description.
    pub description: Option<String>,
    /// The category.
    pub category: Option<String>,
    /// Examples of calls.
    pub examples: Vec<ToolExample>,
    /// Names of related tools.
    pub related: Option<Vec<String>>,
    /// Whether the tool is enabled.
    pub enabled: Option<bool>,
    /// Marks the tool as deprecated; the text says what to use instead.
    pub deprecated: Option<String>,
}

/// An example of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolExample {
    /// What the call does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The arguments of the call.
    pub arguments: serde_json::Value,
    /// The expected result, if the user gives one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_output: Option<serde_json::Value>,
}

/// A configuration layer; later layers override earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// Built in, or a default value.
    Builtin,
    /// The user's config file.
    User,
    /// A project's config file.
    Project,
    /// An environment variable.
    Environment,
    /// A command-line flag.
    Flag,
}

/// The place where a definition was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The configuration layer.
    pub layer: Layer,
    /// The file, if the layer is a file.
    pub file: Option<PathBuf>,
    /// The line in the file, starting at 1.
    pub line: Option<usize>,
}

/// Whether the user trusts a server definition. Only trusted servers are started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrustState {
    /// The user wrote the definition, or trusted exactly this version of it.
    Granted,
    /// A project file defines the server and the user has not trusted it yet.
    Pending,
    /// The definition changed after the user trusted it.
    Changed,
}
