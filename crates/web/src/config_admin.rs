//! The interface to configuration files, projects and server logs that the API needs.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use pegboard_catalog::Catalog;
use pegboard_model::{Policy, Reason, Secret, ServerName, Timestamp, ToolError, ToolResult};
use pegboard_upstream::LogoutOutcome;
use serde_json::{Map, Value};

use crate::client_admin::{
    ClientInfo, ConnectionChange, ConnectionPreview, ImportOutcome, ImportPreview, SecretHandling,
};

pub use pegboard_config::TrustReview;
pub use pegboard_config::edit::{NewServer, NewTransport};

/// The id of the user's own configuration.
pub const DEFAULT_PROJECT: &str = "default";

/// A directory with a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// The id in API paths.
    pub id: String,
    /// The display name.
    pub name: String,
    /// Its directory; `None` for the user's own configuration.
    pub folder: Option<PathBuf>,
    /// Whether this Pegboard serves it.
    pub is_running: bool,
    /// When it was last opened.
    pub last_used: Option<Timestamp>,
}

/// A project with its known tools.
#[derive(Clone, Debug)]
pub struct ProjectView {
    /// The project.
    pub project: Project,
    /// The current snapshot of its tools.
    pub catalog: Arc<Catalog>,
    /// Its configuration files.
    pub files: Vec<PathBuf>,
    /// Problems in its files, formatted for display.
    pub problems: Vec<String>,
}

/// A login that waits for the browser.
#[derive(Clone, Debug)]
pub struct StartedLogin {
    /// The page of the authorization server that the person opens.
    pub url: String,
    /// The authorization server.
    pub issuer: String,
    /// The requested scopes.
    pub scopes: Vec<String>,
}

/// A login that was started here.
#[derive(Clone, Debug)]
pub enum LoginAttempt {
    /// It waits for the browser.
    Waiting,
    /// It did not succeed.
    Failed(ToolError),
}

fn no_logins(server: &ServerName) -> ToolError {
    let message = format!("server `{server}` cannot be logged in to here");
    ToolError::new(Reason::LoginUnsupported, message).at_server(server)
}

/// Reads and changes the configuration. Reads return data in memory; only changes, and what is about other clients, wait
/// for the disk.
#[async_trait]
pub trait ConfigAdmin: Send + Sync {
    /// All known projects.
    fn projects(&self) -> Vec<Project>;

    /// A project by its id.
    fn project(&self, id: &str) -> Option<ProjectView>;

    /// Patterns of the tools that the summary for a system prompt lists by name.
    fn essential(&self) -> Vec<String>;

    /// The keys and values of a server in the files, with secrets masked.
    fn config_values(&self, server: &ServerName) -> Vec<(String, String)>;

    /// The trust review of a project's server; `None` for any other server.
    fn review(&self, server: &ServerName) -> Option<TrustReview>;

    /// The end of a server's standard error; untrusted text.
    async fn logs(&self, server: &ServerName) -> ToolResult<String>;

    /// Writes a server into the user's file and applies it. It is not discovered yet when this returns.
    async fn add_server(&self, server: NewServer) -> ToolResult<()>;

    /// Changes keys of a server and applies them; `null` removes a key.
    async fn change_server(
        &self,
        server: &ServerName,
        changes: Map<String, Value>,
    ) -> ToolResult<()>;

    /// Removes a server from the files.
    async fn remove_server(&self, server: &ServerName) -> ToolResult<()>;

    /// Enables or disables a server.
    async fn enable_server(&self, server: &ServerName, enabled: bool) -> ToolResult<()>;

    /// Trusts the definition of a project's server if it still has this hash and can be shown completely.
    async fn trust_server(&self, server: &ServerName, hash: &str) -> ToolResult<()>;

    /// Sets a policy rule, or removes it with `None`. Returns whether anything changed.
    async fn set_rule(
        &self,
        server: Option<&ServerName>,
        pattern: &str,
        policy: Option<Policy>,
    ) -> ToolResult<bool>;

    /// The MCP clients on this machine. Reads their files.
    async fn clients(&self) -> ToolResult<Vec<ClientInfo>>;

    /// What an import of their servers would write. Reads their files and writes nothing.
    async fn import_plan(&self) -> ToolResult<ImportPreview>;

    /// Imports servers by their names in Pegboard, and applies them. Fails with `PLAN_CHANGED` and without any change if
    /// the plan has another hash by now.
    async fn import(
        &self,
        plan_hash: &str,
        servers: Vec<String>,
        secrets: SecretHandling,
    ) -> ToolResult<ImportOutcome>;

    /// What a change to a client's connection would write.
    async fn connection_plan(
        &self,
        client: &str,
        change: ConnectionChange,
    ) -> ToolResult<ConnectionPreview>;

    /// Changes a client's connection. Fails with `PLAN_CHANGED` and without any change if the plan has another hash by
    /// now.
    async fn change_connection(
        &self,
        client: &str,
        change: ConnectionChange,
        plan_hash: &str,
    ) -> ToolResult<ConnectionPreview>;

    /// Starts a login to a server. The browser returns to a listener of Pegboard on this machine.
    async fn begin_login(&self, server: &ServerName) -> ToolResult<StartedLogin> {
        Err(no_logins(server))
    }

    /// The login of a server that was started here, if any.
    fn login_attempt(&self, _server: &ServerName) -> Option<LoginAttempt> {
        None
    }

    /// Ends the login of a server.
    async fn logout(&self, server: &ServerName) -> ToolResult<LogoutOutcome> {
        Err(no_logins(server))
    }

    /// The token that MCP clients send; `None` if no token is required.
    fn call_token(&self) -> ToolResult<Option<Secret>>;
}
