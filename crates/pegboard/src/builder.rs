//! The builder of a [`Pegboard`].

use std::path::PathBuf;
use std::sync::Arc;

use pegboard_config::{Environment, LoadOptions};
use pegboard_hub::{Approver, ServerPool};
use pegboard_model::{Recorder, ToolError, ToolResult};

use crate::{Configuration, Pegboard, Server};

/// Options for opening Pegboard. Opening has two steps: [`Builder::load`] reads the configuration, and
/// [`Builder::open_with`] opens the catalog with it; [`Builder::open`] does both.
#[derive(Clone, Default)]
#[must_use]
pub struct Builder {
    pub(crate) load_options: LoadOptions,
    pub(crate) environment: Option<Environment>,
    pub(crate) approver: Option<Arc<dyn Approver>>,
    pub(crate) recorder: Option<Arc<dyn Recorder>>,
    pub(crate) only_tool: Option<String>,
    pub(crate) servers: Vec<Server>,
    pub(crate) pool: Option<ServerPool>,
    pub(crate) sandbox_trial: Option<Arc<pegboard_upstream::SandboxTrial>>,
    #[cfg(feature = "otlp")]
    pub(crate) redactor: Option<Arc<pegboard_trace::Redactor>>,
    #[cfg(feature = "otlp")]
    pub(crate) metrics: bool,
}

impl Builder {
    /// Reads this file instead of the user's and the project's config files.
    pub fn config_file(mut self, file: impl Into<PathBuf>) -> Self {
        self.load_options.config_file = Some(file.into());
        self
    }

    /// Uses the project in this directory instead of searching the parents of the working directory.
    pub fn project(mut self, directory: impl Into<PathBuf>) -> Self {
        self.load_options.project = Some(directory.into());
        self
    }

    /// Refuses config files that other users can write.
    pub fn strict(mut self) -> Self {
        self.load_options.strict = true;
        self
    }

    /// Records which hosts confined servers connect to, and refuses none of them except with `network = "off"`.
    pub fn sandbox_trial(mut self, trial: Arc<pegboard_upstream::SandboxTrial>) -> Self {
        self.sandbox_trial = Some(trial);
        self
    }

    /// Uses these variables and directories instead of those of the process.
    pub fn environment(mut self, environment: Environment) -> Self {
        self.environment = Some(environment);
        self
    }

    /// Ignores the user's and the project's configuration, and stores all state in this directory. Only servers added
    /// with [`Builder::server`] and those of a config file in this directory are known.
    pub fn isolated_in(self, directory: impl Into<PathBuf>) -> Self {
        let directory: PathBuf = directory.into();
        let mut environment = Environment::from_process();
        let is_ours = |name: &str| name.starts_with("PEGBOARD_") || name.ends_with("_MCP_URL");
        environment.vars.retain(|name, _| !is_ours(name));
        for name in ["PEGBOARD_CONFIG_DIR", "PEGBOARD_STATE_DIR"] {
            let value = directory.display().to_string();
            environment.vars.insert(name.to_owned(), value);
        }
        // The search for a project starts here and finds none.
        environment.working_dir = PathBuf::from("/");
        self.environment(environment)
    }

    /// Adds a server to the configured ones. It replaces a configured server of the same name.
    pub fn server(mut self, server: Server) -> Self {
        self.servers.push(server);
        self
    }

    /// Shares running servers with every other Pegboard of this program that uses the same pool, as far as the scope of
    /// each server allows it.
    pub fn pool(mut self, pool: ServerPool) -> Self {
        self.pool = Some(pool);
        self
    }

    /// Asks this approver when a policy says `ask`. Without one, such calls wait in the inbox or are refused.
    pub fn approver(mut self, approver: impl Approver + 'static) -> Self {
        self.approver = Some(Arc::new(approver));
        self
    }

    /// Reports events, calls and spans to this recorder instead of the configured telemetry.
    pub fn recorder(mut self, recorder: Arc<dyn Recorder>) -> Self {
        self.recorder = Some(recorder);
        self
    }

    /// Limits the catalog to what is needed for one tool. If the stored list of its server contains the tool, no other
    /// list is read.
    pub fn only_tool(mut self, name: impl Into<String>) -> Self {
        self.only_tool = Some(name.into());
        self
    }

    /// Registers every secret that Pegboard learns with this redactor, for example to redact the program's own logs.
    #[cfg(feature = "otlp")]
    pub fn redactor(mut self, redactor: Arc<pegboard_trace::Redactor>) -> Self {
        self.redactor = Some(redactor);
        self
    }

    /// Counts calls, searches and discoveries for the Prometheus route.
    #[cfg(feature = "otlp")]
    pub fn metrics(mut self) -> Self {
        self.metrics = true;
        self
    }

    /// Reads the configuration without opening the catalog.
    ///
    /// # Errors
    /// Fails if the state directory cannot be used. Problems of config files are not errors; see
    /// [`Configuration::loaded`].
    pub fn load(&self) -> ToolResult<Configuration> {
        Configuration::load(self)
    }

    /// Reads the configuration and opens Pegboard. Starts no server.
    ///
    /// # Errors
    /// Fails if the state directory or the store cannot be used, or if a server added in code is invalid.
    pub async fn open(self) -> ToolResult<Pegboard> {
        let configuration = self.load()?;
        self.open_with(configuration).await
    }

    /// Opens Pegboard with a configuration that was read before.
    ///
    /// # Errors
    /// Fails if the store cannot be used, or if a server added in code is invalid.
    pub async fn open_with(self, configuration: Configuration) -> ToolResult<Pegboard> {
        Pegboard::open_with(self, configuration).await
    }

    /// Like [`Builder::open_with`], but reads the store when the catalog is first used, so that a gateway can respond
    /// earlier. `on_notice` is called with problems of the store.
    ///
    /// # Errors
    /// Fails if the state directory cannot be used, or if a server added in code is invalid.
    pub fn open_lazily(
        self,
        configuration: Configuration,
        on_notice: impl Fn(&ToolError) + Send + 'static,
    ) -> ToolResult<Pegboard> {
        Pegboard::open_lazily(self, configuration, on_notice)
    }
}
