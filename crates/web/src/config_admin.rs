//! What the API asks of whoever knows the files: the configuration, projects, and what servers wrote.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use pegboard_catalog::Catalog;
use pegboard_model::{Policy, Secret, ServerName, Timestamp, ToolResult};
use serde_json::{Map, Value};

pub use pegboard_config::TrustReview;
pub use pegboard_config::edit::{NewServer, NewTransport};

/// The id of the user's own configuration.
pub const DEFAULT_PROJECT: &str = "default";

/// A folder with a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// How the API names it.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// Its folder; none for the user's own configuration.
    pub folder: Option<PathBuf>,
    /// Whether it is the one that this Pegboard was started for.
    pub is_running: bool,
    /// When it was last opened.
    pub last_used: Option<Timestamp>,
}

/// A project and all that is known of its tools.
#[derive(Clone, Debug)]
pub struct ProjectView {
    /// Which.
    pub project: Project,
    /// Its tools, as of now.
    pub catalog: Arc<Catalog>,
    /// The files that make it up.
    pub files: Vec<PathBuf>,
    /// What is wrong in its files, for people.
    pub problems: Vec<String>,
}

/// Whoever knows the files. Reading gives what lies in memory; only changing waits for a disk.
#[async_trait]
pub trait ConfigAdmin: Send + Sync {
    /// Every project that is known.
    fn projects(&self) -> Vec<Project>;

    /// One of them.
    fn project(&self, id: &str) -> Option<ProjectView>;

    /// Patterns of the tools that the summary for a system prompt names.
    fn essential(&self) -> Vec<String>;

    /// What stands about a server in the files, without secrets: keys and values.
    fn config_values(&self, server: &ServerName) -> Vec<(String, String)>;

    /// What trusting a server of the project means; `None` for any other server.
    fn review(&self, server: &ServerName) -> Option<TrustReview>;

    /// What a server wrote to its standard error lately; foreign text.
    async fn logs(&self, server: &ServerName) -> ToolResult<String>;

    /// Writes a server into the user's file and takes it over. It is not discovered yet when this returns.
    async fn add_server(&self, server: NewServer) -> ToolResult<()>;

    /// Changes keys of a server and takes them over; `null` takes a key out.
    async fn change_server(
        &self,
        server: &ServerName,
        changes: Map<String, Value>,
    ) -> ToolResult<()>;

    /// Takes a server out of the files.
    async fn remove_server(&self, server: &ServerName) -> ToolResult<()>;

    /// Switches a server on or off.
    async fn enable_server(&self, server: &ServerName, enabled: bool) -> ToolResult<()>;

    /// Trusts the definition of a project's server, if it is still the one with this hash and was shown
    /// completely.
    async fn trust_server(&self, server: &ServerName, hash: &str) -> ToolResult<()>;

    /// Sets a rule of the policies, or takes it out; whether something is different now.
    async fn set_rule(
        &self,
        server: Option<&ServerName>,
        pattern: &str,
        policy: Option<Policy>,
    ) -> ToolResult<bool>;

    /// The token that clients of the protocol show, for whoever may administer; none is needed without one.
    fn call_token(&self) -> ToolResult<Option<Secret>>;
}
