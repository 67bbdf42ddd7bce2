//! Loads and combines all layers.

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
use crate::review_settings::{ReviewSettings, read_review};
use crate::settings::{SETTING_KEYS, Settings};
use crate::specs::build_specs;
use crate::template::Resolver;
use crate::trace::{TraceSettings, read_trace};

/// Command-line options that affect loading.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// `--config`: read only this file instead of the layers.
    pub config_file: Option<PathBuf>,
    /// `--project`: use this folder instead of searching for a project.
    pub project: Option<PathBuf>,
    /// `--strict`: reject files that other users can write.
    pub strict: bool,
}

/// A file that is part of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SourceFile {
    /// Its path.
    pub path: PathBuf,
    /// Its layer.
    pub layer: Layer,
    /// Whether the file exists.
    pub exists: bool,
}

/// The loaded configuration, with all problems found in it.
#[derive(Clone, Debug, Default)]
pub struct LoadedConfig {
    /// The valid servers by name.
    pub servers: BTreeMap<ServerName, ServerSpec>,
    /// Servers that were rejected, by their escaped name as written. The numbers are indexes into `problems`.
    pub broken: BTreeMap<String, Vec<usize>>,
    /// The trust review of each project server.
    pub reviews: BTreeMap<ServerName, TrustReview>,
    /// The `[settings]` table.
    pub settings: Settings,
    /// The `[trace]` table.
    pub trace: TraceSettings,
    /// The `[review]` table.
    pub review: ReviewSettings,
    /// The `[agent]` table.
    pub agent: AgentSettings,
    /// Policies that apply to all servers. Each server also refers to them.
    pub rules: Arc<GlobalRules>,
    /// The profiles by name.
    pub profiles: BTreeMap<String, Profile>,
    /// All problems, in the order they were found.
    pub problems: Vec<Problem>,
    /// The files that were searched for.
    pub files: Vec<SourceFile>,
    /// Files that contain only whitespace.
    pub empty_files: Vec<PathBuf>,
    /// Hashes of the files as they were read.
    pub contents: ContentHashes,
    /// Files that were not read because another user owns them.
    pub ignored_files: Vec<PathBuf>,
    /// Every value in effect, with its source.
    pub values: Vec<EffectiveValue>,
    /// The project folder, if there is one.
    pub project: Option<PathBuf>,
    /// The file that `add` and `remove` edit.
    pub edit_target: PathBuf,
}

impl LoadedConfig {
    /// Whether anything was rejected.
    pub fn has_errors(&self) -> bool {
        self.problems
            .iter()
            .any(|problem| problem.severity == Severity::Error)
    }

    /// Returns the first problem of a rejected server.
    pub fn broken_problem(&self, server: &str) -> Option<&Problem> {
        self.broken
            .get(server)?
            .iter()
            .find_map(|index| self.problems.get(*index))
    }

    /// Returns names of servers that are similar to `wrong`, best match first.
    pub fn similar_server_names(&self, wrong: &str) -> Vec<String> {
        let names = self
            .servers
            .keys()
            .map(ServerName::as_str)
            .chain(self.broken.keys().map(String::as_str));
        let corrected = ServerName::corrected(wrong);
        nearest(corrected.as_deref().unwrap_or(wrong), names)
    }

    /// Returns the files to watch: all that were searched for, and all that would be read if they were created.
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

/// Loads the configuration. Mistakes become problems; everything else is usable.
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
    let values = Resolver::new(env, limits, &paths.state_dir).in_project(project.as_deref());
    for file in &mut files {
        file.check_root(&values, &mut loaded.problems);
    }
    read_settings(&files, &values, &mut loaded);
    read_trace(&files, &values, &mut loaded);
    loaded.rules = read_policies(&files, &values, &mut loaded);
    let mut merged = merge_servers(&files, &values, &mut loaded);
    apply_environment(&mut merged, env, &mut loaded);
    build_specs(merged, &files, env, paths, key, &mut loaded);
    read_profiles(&files, &values, &mut loaded);
    read_agent(&files, &values, &mut loaded);
    read_review(&files, &values, &mut loaded);
    values.report(&mut loaded);
    limit_problems(&mut loaded, &files, limits);
    loaded
}

fn read_settings(files: &[ConfigFile], values: &Resolver<'_>, loaded: &mut LoadedConfig) {
    let mut applied: BTreeMap<&str, (&ConfigFile, &Entry)> = BTreeMap::new();
    for file in files {
        let Some(entry) = file.table("settings") else {
            continue;
        };
        let mut reader = file.reader(None, values);
        for entry in loaded.settings.apply(entry, &mut reader) {
            applied.insert(entry.key.as_str(), (file, entry));
        }
        loaded.problems.append(&mut reader.problems);
    }
    let mut keys: Vec<_> = SETTING_KEYS.iter().collect();
    keys.sort_unstable_by_key(|key| key.name);
    for key in keys {
        let place = applied.get(key.name);
        let value = (key.read.show)(&loaded.settings);
        let layer = place.map_or(Layer::Builtin, |(file, _)| file.layer);
        let value = UntrustedText::new(&value).to_string();
        let row = EffectiveValue::new(format!("settings.{}", key.name), value, layer);
        loaded.values.push(match place {
            Some((file, entry)) => row.at(&file.source, entry.key_start),
            None => row,
        });
    }
}
