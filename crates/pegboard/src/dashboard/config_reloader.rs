//! Applies changed config files, both for the file watcher and for changes by the API.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use pegboard_config::{Environment, LoadOptions, LoadedConfig, Paths, Problem, Severity};
use pegboard_gateway::Gateway;
use pegboard_hub::{ConfigChange, Hub};
use pegboard_model::{HashKey, Limits, Secret};
use tokio::sync::Mutex;

use crate::Pegboard;
use crate::telemetry::Telemetry;

/// The inputs for reading config files.
#[derive(Clone)]
pub(crate) struct ConfigFiles {
    pub(crate) load: LoadOptions,
    pub(crate) environment: Environment,
    pub(crate) paths: Paths,
    key: HashKey,
    limits: Limits,
}

impl ConfigFiles {
    /// Reads the files.
    pub(crate) fn read(&self) -> LoadedConfig {
        pegboard_config::load(
            &self.load,
            &self.environment,
            &self.paths,
            &self.key,
            &self.limits,
        )
    }

    /// Returns the files of another project, or only the user's own without a project.
    pub(crate) fn of_project(&self, folder: Option<PathBuf>) -> Self {
        let mut other = self.clone();
        other.load.project = folder;
        // Prevents the search for a project in parent directories.
        other.environment.working_dir = PathBuf::from("/");
        other
    }
}

/// Reads config files and applies them to the hub, the gateway and telemetry.
pub struct ConfigReloader {
    pub(crate) files: ConfigFiles,
    pub(crate) hub: Hub,
    telemetry: Arc<Telemetry>,
    gateway: Gateway,
    loaded: ArcSwap<LoadedConfig>,
    /// The problems of the last read, even if it was not applied.
    problems: ArcSwap<Vec<Problem>>,
    /// Serializes reloads, so that an older read is never applied after a newer one.
    turn: Mutex<()>,
}

/// The result of a reload.
#[non_exhaustive]
pub struct ReloadOutcome {
    /// All problems in the files.
    pub problems: Vec<Problem>,
    /// The applied change; `None` if a file could not be read and nothing was applied.
    pub change: Option<ConfigChange>,
}

impl ConfigReloader {
    /// Creates a reloader of the files that `pegboard` was opened with.
    pub fn new(pegboard: &Pegboard, gateway: &Gateway) -> Self {
        let configuration = pegboard.configuration();
        Self {
            files: ConfigFiles {
                load: configuration.load_options.clone(),
                environment: configuration.environment.clone(),
                paths: configuration.paths.clone(),
                key: configuration.key.clone(),
                limits: configuration.limits.clone(),
            },
            hub: pegboard.hub().clone(),
            telemetry: pegboard.telemetry().clone(),
            gateway: gateway.clone(),
            loaded: ArcSwap::from_pointee(configuration.loaded.clone()),
            problems: ArcSwap::from_pointee(configuration.loaded.problems.clone()),
            turn: Mutex::default(),
        }
    }

    /// Returns the state directory.
    pub fn state_dir(&self) -> &Path {
        &self.files.paths.state_dir
    }

    /// Redacts this secret from logs and traces.
    pub fn redact(&self, secret: &Secret) {
        self.telemetry.learn_secret(secret);
    }

    /// Returns the configuration that was last applied.
    pub fn loaded(&self) -> Arc<LoadedConfig> {
        self.loaded.load_full()
    }

    /// Returns the problems of the last read.
    pub fn problems(&self) -> Arc<Vec<Problem>> {
        self.problems.load_full()
    }

    /// Returns true if a file with content is empty now. Programs empty a file before writing it, so this is not a
    /// request to remove all servers.
    fn is_emptied(&self, now: &LoadedConfig) -> bool {
        let before = self.loaded.load();
        let held_text = |file: &PathBuf| before.contents.has_text(file);
        now.empty_files.iter().any(held_text)
    }

    /// Reads the files and applies them. An unreadable or emptied file changes nothing, because it is most likely being
    /// written; a deleted file removes its servers, and an error in one server affects only that server.
    pub async fn apply(&self) -> ReloadOutcome {
        let _turn = self.turn.lock().await;
        let files = self.files.clone();
        let Ok(loaded) = tokio::task::spawn_blocking(move || files.read()).await else {
            return ReloadOutcome {
                problems: Vec::new(),
                change: None,
            };
        };
        let problems = loaded.problems.clone();
        self.problems.store(Arc::new(problems.clone()));
        let unreadable = |p: &Problem| p.severity == Severity::Error && p.server.is_none();
        if problems.iter().any(unreadable) || self.is_emptied(&loaded) {
            let change = None;
            return ReloadOutcome { problems, change };
        }
        self.telemetry.learn(loaded.servers.values());
        self.gateway
            .set_profiles(crate::gateway::profiles(&loaded.profiles));
        self.hub.set_rules(loaded.rules.clone());
        self.hub
            .set_approval_settings(crate::pegboard::approval_settings(&loaded.settings));
        self.hub.set_review_mode(loaded.review.mode);
        let servers: Vec<_> = loaded.servers.values().cloned().collect();
        self.loaded.store(Arc::new(loaded));
        let change = self.hub.apply(servers).await;
        ReloadOutcome {
            problems,
            change: Some(change),
        }
    }
}
