//! The configuration as it was read, before anything is opened with it.

use std::path::Path;
use std::sync::Arc;

use pegboard_config::{Environment, LoadOptions, LoadedConfig, Paths, SecretStore};
use pegboard_model::{HashKey, Limits, ToolResult};
use pegboard_store::{ServerLogs, StateDir};
use pegboard_upstream::Logins;

use crate::Builder;

/// The configuration and the state directory. Returned by [`Builder::load`].
#[non_exhaustive]
pub struct Configuration {
    /// The paths of the config directory and the state directory.
    pub paths: Paths,
    /// The environment that was used.
    pub environment: Environment,
    /// The merged configuration, with the problems found in it.
    pub loaded: LoadedConfig,
    /// The state directory.
    pub state: StateDir,
    /// The key of config hashes.
    pub key: HashKey,
    /// The options that selected the files.
    pub load_options: LoadOptions,
    /// The limits in force.
    pub limits: Limits,
}

impl Configuration {
    pub(crate) fn load(builder: &Builder) -> ToolResult<Self> {
        let environment = builder
            .environment
            .clone()
            .unwrap_or_else(Environment::from_process);
        let paths = Paths::from_env(&environment);
        let state = StateDir::open(&paths.state_dir)?;
        let key = state.hash_key()?;
        let load_options = builder.load_options.clone();
        let limits = Limits::default();
        let loaded = pegboard_config::load(&load_options, &environment, &paths, &key, &limits);
        Ok(Self {
            paths,
            environment,
            loaded,
            state,
            key,
            load_options,
            limits,
        })
    }

    /// Reads the config files again and replaces [`Configuration::loaded`].
    pub fn reload(&mut self) {
        self.loaded = pegboard_config::load(
            &self.load_options,
            &self.environment,
            &self.paths,
            &self.key,
            &self.limits,
        );
    }

    /// Returns the project's folder, or the current folder if it is not in a project: the value of
    /// `${project}`.
    pub fn project(&self) -> &Path {
        let project = self.loaded.project.as_deref();
        project.unwrap_or(&self.environment.working_dir)
    }

    /// Returns the logs of servers, which contain their standard error.
    pub fn logs(&self) -> ServerLogs {
        ServerLogs::open(&self.state)
    }

    /// Returns the store of secrets.
    pub fn secrets(&self) -> SecretStore {
        SecretStore::open(&self.paths.state_dir)
    }

    /// Returns the logins to remote servers, for programs that open no catalog.
    pub fn logins(&self) -> Logins {
        crate::logins::open(&self.state, Arc::new(self.secrets()), None)
    }

    /// Returns true if a trace destination may be configured. This is a cheap check on names; the settings may still be
    /// invalid.
    #[cfg(feature = "otlp")]
    pub fn may_export_traces(&self) -> bool {
        crate::telemetry::may_trace(self)
    }
}
