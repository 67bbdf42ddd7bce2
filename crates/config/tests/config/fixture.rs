//! A temporary home folder with config files, a project and variables.

use std::path::{Path, PathBuf};

use pegboard_config::{Environment, LoadOptions, LoadedConfig, Paths, Problem, Severity, load};
use pegboard_model::{HashKey, Limits, ServerName, ServerSpec};

pub(crate) struct Fixture {
    folder: tempfile::TempDir,
    pub(crate) env: Environment,
    pub(crate) options: LoadOptions,
    pub(crate) limits: Limits,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        let working_dir = home.join("code/app");
        std::fs::create_dir_all(&working_dir).unwrap();
        let env = Environment {
            home,
            working_dir,
            ..Environment::default()
        };
        Self {
            folder,
            env,
            options: LoadOptions::default(),
            limits: Limits::default(),
        }
    }

    /// Creates a fixture with one user file.
    pub(crate) fn with(name: &str, text: &str) -> Self {
        Self::new().user(name, text)
    }

    pub(crate) fn paths(&self) -> Paths {
        Paths::from_env(&self.env)
    }

    pub(crate) fn user(self, name: &str, text: &str) -> Self {
        let path = self.paths().config_dir.join(name);
        self.file(&path, text)
    }

    pub(crate) fn project(self, name: &str, text: &str) -> Self {
        let path = self.env.working_dir.join(name);
        self.file(&path, text)
    }

    pub(crate) fn file(self, path: &Path, text: &str) -> Self {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    pub(crate) fn var(mut self, name: &str, value: &str) -> Self {
        self.env.vars.insert(name.to_owned(), value.to_owned());
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn load(&self) -> LoadedConfig {
        load(
            &self.options,
            &self.env,
            &self.paths(),
            &HashKey([7; 32]),
            &self.limits,
        )
    }
}

pub(crate) fn server<'l>(loaded: &'l LoadedConfig, name: &str) -> &'l ServerSpec {
    let name = ServerName::parse(name).unwrap();
    loaded
        .servers
        .get(&name)
        .unwrap_or_else(|| panic!("no server {name}: {:#?}", loaded.problems))
}

/// Formats problems as severity, code, server and line.
pub(crate) fn short(loaded: &LoadedConfig) -> Vec<String> {
    loaded
        .problems
        .iter()
        .filter(|p| p.severity > Severity::Advice)
        .map(one)
        .collect()
}

pub(crate) fn one(problem: &Problem) -> String {
    let severity = match problem.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Advice => "advice",
    };
    let server = problem.server.as_deref().unwrap_or("-");
    let line = problem.line.map_or("-".to_owned(), |line| line.to_string());
    format!("{severity} {} {server}:{line}", problem.reason)
}

pub(crate) fn names(loaded: &LoadedConfig) -> Vec<&str> {
    loaded.servers.keys().map(ServerName::as_str).collect()
}
