//! All layers together: user < project < environment.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pegboard_model::{GlobalRules, HashKey, Layer, Limits, ServerName, ServerSpec, UntrustedText};
use serde::Serialize;

use crate::agent::{AgentSettings, read_agent};
use crate::content_hashes::ContentHashes;
use crate::environment::{CONFIG_FILE_NAMES, Environment, Paths};
use crate::explain::EffectiveValue;
use crate::file::ConfigFile;
use crate::layers::read_files;
use crate::merge::{apply_environment, merge_servers};
use crate::node::Entry;
use crate::policies::read_policies;
use crate::problem::{Problem, Severity};
use crate::problem_limit::limit_problems;
use crate::profile::{Profile, read_profiles};
use crate::reader::nearest;
use crate::review::TrustReview;
use crate::settings::Settings;
use crate::specs::finish;
use crate::template::Values;
use crate::trace::{TraceSettings, read_trace};

/// What the command line says about configuration.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// `--config`: this file in place of the layered ones.
    pub config_file: Option<PathBuf>,
    /// `--project`: this folder in place of the nearest project above the working folder.
    pub project: Option<PathBuf>,
    /// Leave out files that other users could have written.
    pub strict: bool,
}

/// A file that belongs to the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SourceFile {
    /// Its path.
    pub path: PathBuf,
    /// Its layer.
    pub layer: Layer,
    /// Whether it is there.
    pub exists: bool,
}

/// Everything the configuration says, and everything that is wrong with it.
#[derive(Clone, Debug, Default)]
pub struct LoadedConfig {
    /// The sound servers by name.
    pub servers: BTreeMap<ServerName, ServerSpec>,
    /// Servers that are left out, by the name they were written with (escaped); the numbers are
    /// places in `problems`.
    pub broken: BTreeMap<String, Vec<usize>>,
    /// What trusting each server of a project means, by its name.
    pub reviews: BTreeMap<ServerName, TrustReview>,
    /// What holds for all servers.
    pub settings: Settings,
    /// Where spans are sent.
    pub trace: TraceSettings,
    /// Which model `pegboard ask` asks.
    pub agent: AgentSettings,
    /// The policies that hold for the tools of every server; each server carries them too.
    pub rules: Arc<GlobalRules>,
    /// What clients get to see, by the profile's name.
    pub profiles: BTreeMap<String, Profile>,
    /// Everything that is wrong, in the order it was met.
    pub problems: Vec<Problem>,
    /// The files that were looked for.
    pub files: Vec<SourceFile>,
    /// Files that hold nothing but white space.
    pub empty_files: Vec<PathBuf>,
    /// What the files held when they were read.
    pub contents: ContentHashes,
    /// Files that were not read because another user owns them.
    pub ignored_files: Vec<PathBuf>,
    /// Every value in force, with its place.
    pub values: Vec<EffectiveValue>,
    /// The project's folder, when there is one.
    pub project: Option<PathBuf>,
    /// The file that `add` and `remove` change.
    pub edit_target: PathBuf,
}

impl LoadedConfig {
    /// Whether something was left out.
    pub fn has_errors(&self) -> bool {
        self.problems
            .iter()
            .any(|problem| problem.severity == Severity::Error)
    }

    /// Why a server that stands in a file cannot be used.
    pub fn broken_problem(&self, server: &str) -> Option<&Problem> {
        self.broken
            .get(server)?
            .iter()
            .find_map(|index| self.problems.get(*index))
    }

    /// Names of servers that may have been meant, best first.
    pub fn similar_server_names(&self, wrong: &str) -> Vec<String> {
        let names = self
            .servers
            .keys()
            .map(ServerName::as_str)
            .chain(self.broken.keys().map(String::as_str));
        let corrected = ServerName::corrected(wrong);
        nearest(corrected.as_deref().unwrap_or(wrong), names)
    }

    /// The files to watch for changes: those that were looked for, and those that would count if they
    /// appeared.
    pub fn watch_list(&self) -> Vec<PathBuf> {
        let mut list: Vec<PathBuf> = self.files.iter().map(|file| file.path.clone()).collect();
        let folders: Vec<PathBuf> = list
            .iter()
            .filter(|path| {
                path.file_name()
                    .is_some_and(|name| CONFIG_FILE_NAMES.iter().any(|known| name == *known))
            })
            .filter_map(|path| path.parent().map(Path::to_path_buf))
            .collect();
        list.extend(
            folders
                .iter()
                .flat_map(|folder| CONFIG_FILE_NAMES.iter().map(|name| folder.join(name))),
        );
        list.extend(self.ignored_files.iter().cloned());
        list.sort();
        list.dedup();
        list
    }
}

/// Reads the whole configuration. It never fails as a whole: what is wrong becomes a problem, and
/// everything else works.
pub fn load(
    options: &LoadOptions,
    env: &Environment,
    paths: &Paths,
    key: &HashKey,
    limits: &Limits,
) -> LoadedConfig {
    let mut loaded = LoadedConfig {
        edit_target: paths.user_file(),
        ..LoadedConfig::default()
    };
    let mut files = read_files(options, env, paths, limits, &mut loaded);
    let project = loaded.project.clone();
    let values = Values::new(env, limits, &paths.state_dir).in_project(project.as_deref());
    for file in &mut files {
        file.check_root(&values, &mut loaded.problems);
    }
    read_settings(&files, &values, &mut loaded);
    read_trace(&files, &values, &mut loaded);
    loaded.rules = read_policies(&files, &values, &mut loaded);
    let mut merged = merge_servers(&files, &values, &mut loaded);
    apply_environment(&mut merged, env, &mut loaded);
    finish(merged, &files, env, paths, key, &mut loaded);
    read_profiles(&files, &values, &mut loaded);
    read_agent(&files, &values, &mut loaded);
    values.report(&mut loaded);
    limit_problems(&mut loaded, &files, limits);
    loaded
}

fn read_settings(files: &[ConfigFile], values: &Values<'_>, loaded: &mut LoadedConfig) {
    let mut taken: BTreeMap<&str, (&ConfigFile, &Entry)> = BTreeMap::new();
    for file in files {
        let Some(entry) = file.table("settings") else {
            continue;
        };
        let mut reader = file.reader(None, values);
        for entry in loaded.settings.apply(entry, file.layer, &mut reader) {
            taken.insert(entry.key.as_str(), (file, entry));
        }
        loaded.problems.append(&mut reader.problems);
    }
    for (key, value) in loaded.settings.shown() {
        let place = taken.get(key);
        loaded.values.push(EffectiveValue {
            key: format!("settings.{key}"),
            value: UntrustedText::new(&value).to_string(),
            layer: place.map_or(Layer::Builtin, |(file, _)| file.layer),
            file: place.map(|(file, _)| file.source.path.clone()),
            line: place.map(|(file, entry)| file.source.line_of(entry.key_start)),
            note: None,
        });
    }
}
