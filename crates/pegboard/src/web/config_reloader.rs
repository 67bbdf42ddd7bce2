//! Taking over what the config files say now: one way for whoever notices a change and for whoever made it.

use std::path::PathBuf;
use std::sync::Arc;

use arc_swap::ArcSwap;
use pegboard_config::{Environment, LoadOptions, LoadedConfig, Paths, Problem, Severity};
use pegboard_gateway::Gateway;
use pegboard_hub::{ConfigChange, Hub};
use pegboard_model::{HashKey, Limits};
use tokio::sync::Mutex;

use crate::Pegboard;
use crate::telemetry::Telemetry;

/// How the files of a configuration are read.
#[derive(Clone)]
pub(crate) struct ConfigFiles {
    pub(crate) load: LoadOptions,
    pub(crate) environment: Environment,
    pub(crate) paths: Paths,
    key: HashKey,
    limits: Limits,
}

impl ConfigFiles {
    /// Reads them as they are now.
    pub(crate) fn read(&self) -> LoadedConfig {
        pegboard_config::load(
            &self.load,
            &self.environment,
            &self.paths,
            &self.key,
            &self.limits,
        )
    }

    /// The files of another project; of none, the user's own alone.
    pub(crate) fn of_project(&self, folder: Option<PathBuf>) -> Self {
        let mut other = self.clone();
        other.load.project = folder;
        // Nothing above the root is found as a project.
        other.environment.working_dir = PathBuf::from("/");
        other
    }
}

/// Takes over what the files say.
pub(crate) struct ConfigReloader {
    pub(crate) files: ConfigFiles,
    pub(crate) hub: Hub,
    pub(crate) telemetry: Arc<Telemetry>,
    gateway: Gateway,
    loaded: ArcSwap<LoadedConfig>,
    /// What was wrong when the files were last read, also when they were not taken over.
    problems: ArcSwap<Vec<Problem>>,
    /// What was read first must not be taken over last.
    turn: Mutex<()>,
}

/// What came of it.
pub(crate) struct ReloadOutcome {
    /// Everything that is wrong in the files.
    pub(crate) problems: Vec<Problem>,
    /// What changed; `None` when a file could not be read, so that nothing was taken over.
    pub(crate) change: Option<ConfigChange>,
}

impl ConfigReloader {
    pub(crate) fn new(pegboard: &Pegboard, gateway: &Gateway) -> Self {
        let configured = pegboard.configured();
        Self {
            files: ConfigFiles {
                load: configured.load.clone(),
                environment: configured.environment.clone(),
                paths: configured.paths.clone(),
                key: configured.key.clone(),
                limits: configured.limits.clone(),
            },
            hub: pegboard.hub().clone(),
            telemetry: pegboard.telemetry().clone(),
            gateway: gateway.clone(),
            loaded: ArcSwap::from_pointee(configured.loaded.clone()),
            problems: ArcSwap::from_pointee(configured.loaded.problems.clone()),
            turn: Mutex::default(),
        }
    }

    /// What the files said when they were last taken over.
    pub(crate) fn loaded(&self) -> Arc<LoadedConfig> {
        self.loaded.load_full()
    }

    /// What was wrong in the files when they were last read.
    pub(crate) fn problems(&self) -> Arc<Vec<Problem>> {
        self.problems.load_full()
    }

    /// Whether a file that said something is empty now. Nobody removes all servers like that: the file is about to be
    /// written, or was lost.
    fn is_emptied(&self, now: &LoadedConfig) -> bool {
        let before = self.loaded.load();
        let held_text = |file: &PathBuf| before.contents.has_text(file);
        now.empty_files.iter().any(held_text)
    }

    /// Takes over what the files say now. A file that cannot be read, or was emptied, changes nothing, because it is
    /// most likely half written; a deleted file takes its servers with it, and a mistake in one server costs only that server.
    pub(crate) async fn apply(&self) -> ReloadOutcome {
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
        self.gateway.set_profiles(crate::profiles(&loaded.profiles));
        self.hub.set_rules(loaded.rules.clone());
        self.hub
            .set_approval_settings(crate::open::asking(&loaded.settings));
        let servers: Vec<_> = loaded.servers.values().cloned().collect();
        self.loaded.store(Arc::new(loaded));
        let change = self.hub.apply(servers).await;
        ReloadOutcome {
            problems,
            change: Some(change),
        }
    }
}
