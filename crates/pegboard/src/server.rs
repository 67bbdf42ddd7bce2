//! Servers defined in code.

use std::collections::BTreeMap;

use pegboard_config::{Settings, code_server};
use pegboard_model::{
    HashKey, Policy, Reason, ServerName, ServerSpec, Template, ToolError, ToolResult, Transport,
};

/// An MCP server defined in code, for [`Builder::server`](crate::Builder::server).
///
/// ```
/// use pegboard::Server;
///
/// let files = Server::stdio("files", "npx")
///     .args(["-y", "@modelcontextprotocol/server-filesystem", "/srv/data"])
///     .description("Files of the shop");
/// let docs = Server::http("docs", "https://example.com/mcp").header("X-Team", "search");
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Server {
    name: String,
    transport: Transport,
    description: Option<String>,
    policy: Option<Policy>,
}

impl Server {
    /// A server that is started as a child process and speaks MCP on its standard input and output. The command is
    /// not passed through a shell.
    pub fn stdio(name: impl Into<String>, command: impl Into<String>) -> Self {
        Self::new(
            name,
            Transport::Stdio {
                command: Template::literal(command),
                args: Vec::new(),
                env: BTreeMap::new(),
                cwd: None,
            },
        )
    }

    /// A server reached over Streamable HTTP.
    pub fn http(name: impl Into<String>, url: impl Into<String>) -> Self {
        Self::new(
            name,
            Transport::Http {
                url: Template::literal(url),
                headers: BTreeMap::new(),
                bearer: None,
                wire: Default::default(),
            },
        )
    }

    fn new(name: impl Into<String>, transport: Transport) -> Self {
        Self {
            name: name.into(),
            transport,
            description: None,
            policy: None,
        }
    }

    /// Adds an argument of the command. Has no effect on an HTTP server.
    pub fn arg(self, arg: impl Into<String>) -> Self {
        self.args([arg])
    }

    /// Adds arguments of the command. Has no effect on an HTTP server.
    pub fn args(mut self, more: impl IntoIterator<Item = impl Into<String>>) -> Self {
        if let Transport::Stdio { args, .. } = &mut self.transport {
            args.extend(more.into_iter().map(Template::literal));
        }
        self
    }

    /// Sets an environment variable of the process. Has no effect on an HTTP server.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        if let Transport::Stdio { env, .. } = &mut self.transport {
            env.insert(name.into(), Template::literal(value));
        }
        self
    }

    /// Sets the working directory of the process; the default is a private empty directory. Has no effect on an HTTP
    /// server.
    pub fn working_dir(mut self, directory: impl Into<String>) -> Self {
        if let Transport::Stdio { cwd, .. } = &mut self.transport {
            *cwd = Some(Template::literal(directory));
        }
        self
    }

    /// Sets a header of all requests. Has no effect on a stdio server.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        if let Transport::Http { headers, .. } = &mut self.transport {
            headers.insert(name.into(), Template::literal(value));
        }
        self
    }

    /// Sets the token that is sent as `Authorization: Bearer`. Has no effect on a stdio server.
    pub fn bearer(mut self, token: impl Into<String>) -> Self {
        if let Transport::Http { bearer, .. } = &mut self.transport {
            *bearer = Some(Template::literal(token));
        }
        self
    }

    /// Describes the purpose of the server, for search and for the summary.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets the policy of all tools of the server.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = Some(policy);
        self
    }

    /// Checks the name and applies the settings.
    pub(crate) fn into_spec(self, settings: &Settings, key: &HashKey) -> ToolResult<ServerSpec> {
        let name = ServerName::parse(&self.name).map_err(|error| {
            ToolError::new(Reason::ConfigName, error.to_string())
                .with_remedy("Use 1 to 24 characters of a-z, 0-9 and `_`, starting with a letter.")
        })?;
        let mut spec = code_server(name, self.transport, settings, key);
        spec.description = self.description;
        spec.policy = self.policy;
        Ok(spec)
    }
}
