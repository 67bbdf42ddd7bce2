//! The projects of the API: the served one and recent ones. The catalogs of recent projects are built in the
//! background, so that reading them never waits for a disk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use pegboard_config::{ContentHashes, LoadedConfig, Problem, Severity, Watcher};
use pegboard_hub::SystemClock;
use pegboard_model::{Clock, EventKind, Timestamp};
use pegboard_web::{DEFAULT_PROJECT, Project, ProjectView};
use tokio::sync::Notify;
use tokio::sync::broadcast::error::RecvError;

use super::config_reloader::ConfigReloader;
use super::recent_projects::{load_recent, record_recent};

/// Discoveries come in bursts; other projects are updated after this pause.
const DEBOUNCE: Duration = Duration::from_secs(1);
/// The number of hash digits that distinguish directories of the same name.
const ID_HASH_DIGITS: usize = 6;

/// The served project and recent projects.
pub(crate) struct Projects {
    reload: Arc<ConfigReloader>,
    running: Project,
    others: ArcSwap<BTreeMap<String, ProjectView>>,
}

impl Projects {
    /// Creates the list and records the served project as recent.
    pub(crate) fn new(reload: Arc<ConfigReloader>) -> Self {
        let now = SystemClock.now();
        let folder = reload.loaded().project.clone();
        if let Some(folder) = &folder {
            record_recent(&reload.files.paths.state_dir, folder, now);
        }
        Self {
            running: project(folder, true, Some(now)),
            reload,
            others: ArcSwap::default(),
        }
    }

    /// Returns all projects, the user's own configuration first.
    pub(crate) fn list(&self) -> Vec<Project> {
        let others = self.others.load();
        let mut projects: Vec<Project> = others.values().map(|view| view.project.clone()).collect();
        projects.push(self.running.clone());
        projects.sort_by(|a, b| a.folder.cmp(&b.folder));
        projects
    }

    /// Returns a project with its catalog.
    pub(crate) fn view(&self, id: &str) -> Option<ProjectView> {
        if id == self.running.id {
            let loaded = self.reload.loaded();
            return Some(ProjectView {
                project: self.running.clone(),
                catalog: self.reload.hub.catalog(),
                files: files(&loaded),
                problems: problem_lines(&self.reload.problems()),
            });
        }
        self.others.load().get(id).cloned()
    }

    /// Keeps the catalogs of other projects up to date, forever.
    pub(crate) async fn keep_updated(&self) {
        let mut events = self.reload.hub.subscribe();
        let changed = Arc::new(Notify::new());
        loop {
            let (watched, read) = self.build().await;
            if watched.is_empty() {
                return std::future::pending().await;
            }
            let signal = changed.clone();
            let start = move || Watcher::start(watched, &read, move || signal.notify_one());
            // Without a watcher, projects are updated only after discoveries.
            let watcher = tokio::task::spawn_blocking(start).await;
            loop {
                tokio::select! {
                    () = changed.notified() => break,
                    event = events.recv() => match event {
                        Ok(event) if affects_other_projects(&event.kind) => break,
                        Ok(_) => {}
                        Err(RecvError::Lagged(_)) => break,
                        Err(RecvError::Closed) => return std::future::pending().await,
                    },
                }
            }
            drop(watcher);
            tokio::time::sleep(DEBOUNCE).await;
            while events.try_recv().is_ok() {}
        }
    }

    /// Builds the catalogs of all other projects, and returns the files that they depend on.
    async fn build(&self) -> (Vec<PathBuf>, ContentHashes) {
        let reload = self.reload.clone();
        let running = self.running.folder.clone();
        let read = tokio::task::spawn_blocking(move || read_others(&reload, running.as_deref()));
        let Ok(read) = read.await else {
            return (Vec::new(), ContentHashes::default());
        };
        let (mut watched, mut contents) = (Vec::new(), ContentHashes::default());
        let mut others = BTreeMap::new();
        for (project, loaded) in read {
            watched.extend(loaded.watch_list());
            contents.extend(loaded.contents.clone());
            let servers = loaded.servers.values().cloned();
            let catalog = self.reload.hub.catalog_for(servers, &loaded.rules).await;
            let view = ProjectView {
                project,
                catalog: Arc::new(catalog),
                files: files(&loaded),
                problems: problem_lines(&loaded.problems),
            };
            others.insert(view.project.id.clone(), view);
        }
        self.others.store(Arc::new(others));
        (watched, contents)
    }
}

/// Returns true if an event may change the catalogs of other projects.
fn affects_other_projects(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::ServerDiscovered { .. } | EventKind::ConfigReloaded { .. }
    )
}

/// Reads the files of the other projects; deleted directories are skipped.
fn read_others(reload: &ConfigReloader, running: Option<&Path>) -> Vec<(Project, LoadedConfig)> {
    let own = running.is_some().then_some((None, None));
    let known = load_recent(&reload.files.paths.state_dir).into_iter();
    let known = known.filter(|known| Some(known.folder.as_path()) != running);
    let known = known.filter(|known| known.folder.is_dir());
    let known = known.map(|known| (Some(known.folder), Some(known.last_used)));
    own.into_iter()
        .chain(known)
        .map(|(folder, used)| {
            let loaded = reload.files.of_project(folder.clone()).read();
            (project(folder, false, used), loaded)
        })
        .collect()
}

fn project(folder: Option<PathBuf>, is_running: bool, last_used: Option<Timestamp>) -> Project {
    let (id, name) = match &folder {
        None => (
            DEFAULT_PROJECT.to_owned(),
            "Your own configuration".to_owned(),
        ),
        Some(folder) => (id_of(folder), name_of(folder)),
    };
    Project {
        id,
        name,
        folder,
        is_running,
        last_used,
    }
}

fn name_of(folder: &Path) -> String {
    let name = folder.file_name().map(|name| name.to_string_lossy());
    name.map_or_else(|| folder.display().to_string(), |name| name.into_owned())
}

/// Returns a stable, readable id: the name of the directory and some digits of the hash of its path.
fn id_of(folder: &Path) -> String {
    let name: String = name_of(folder)
        .to_lowercase()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .take(40)
        .collect();
    let hash = blake3::hash(folder.as_os_str().as_encoded_bytes()).to_hex();
    let digits = hash.get(..ID_HASH_DIGITS).unwrap_or(&hash);
    format!("{}-{digits}", name.trim_matches('-'))
}

fn files(loaded: &LoadedConfig) -> Vec<PathBuf> {
    let there = loaded.files.iter().filter(|file| file.exists);
    there.map(|file| file.path.clone()).collect()
}

fn problem_lines(problems: &[Problem]) -> Vec<String> {
    let problems = problems.iter();
    let problems = problems.filter(|problem| problem.severity != Severity::Advice);
    problems.map(ToString::to_string).collect()
}
