//! Finds the files of all layers, lowest first.

use std::path::{Path, PathBuf};

use pegboard_model::{Layer, Limits, Reason};

use crate::environment::{CONFIG_FILE_NAMES, Environment, Paths, config_files_in, find_project};
use crate::file::{ConfigFile, ignored_problem};
use crate::load::{LoadOptions, LoadedConfig, SourceFile};
use crate::permission::is_placed_by_other;
use crate::problem::{Problem, shown_path};

/// Finds and reads the files of all layers, lowest first.
pub(crate) fn read_files(
    options: &LoadOptions,
    env: &Environment,
    paths: &Paths,
    limits: &Limits,
    loaded: &mut LoadedConfig,
) -> Vec<ConfigFile> {
    let mut candidates: Vec<(PathBuf, Layer)> = Vec::new();
    if let Some(file) = &options.config_file {
        let file = env.working_dir.join(file);
        loaded.edit_target.clone_from(&file);
        candidates.push((file, Layer::Flag));
    } else {
        candidates.push((own_file(&paths.config_dir, loaded), Layer::User));
        loaded.project = match &options.project {
            Some(folder) => given_project(&env.working_dir.join(folder), &mut loaded.problems),
            None => find_project(env, &mut loaded.ignored_files),
        };
        if let Some(project) = loaded.project.clone() {
            candidates.push((project.join(".mcp.json"), Layer::Project));
            let own = own_file(&project.join(".pegboard"), loaded);
            // If the project folder contains the user's config folder, the file must not be read twice.
            if candidates.iter().all(|(path, _)| *path != own) {
                candidates.push((own, Layer::Project));
            }
        }
    }
    let is_ignored = |path: &PathBuf, layer| layer != Layer::Flag && is_placed_by_other(path);
    let ignored: Vec<_> = candidates
        .extract_if(.., |(path, layer)| is_ignored(path, *layer))
        .collect();
    loaded
        .ignored_files
        .extend(ignored.into_iter().map(|(path, _)| path));
    if !loaded.ignored_files.is_empty() {
        loaded.problems.push(ignored_problem(&loaded.ignored_files));
    }
    let mut files = Vec::new();
    for (path, layer) in candidates {
        let exists = path.try_exists().unwrap_or(true);
        if !exists {
            loaded.contents.record_read(&path, None);
        }
        loaded.files.push(SourceFile {
            path: path.clone(),
            layer,
            exists,
        });
        // Only a file named with `--config` must exist.
        if exists || layer == Layer::Flag {
            files.extend(ConfigFile::read(
                path,
                layer,
                options.strict,
                limits,
                loaded,
            ));
        }
    }
    files
}

/// Returns the config file of a folder. More than one is reported as an error.
fn own_file(folder: &Path, loaded: &mut LoadedConfig) -> PathBuf {
    let found = config_files_in(folder);
    let missing = CONFIG_FILE_NAMES.iter().map(|name| folder.join(name));
    for path in missing.filter(|path| !found.contains(path)) {
        loaded.contents.record_read(&path, None);
    }
    if let [first, second, ..] = found.as_slice() {
        let message = format!(
            "there are two config files, `{}` and `{}`; only the first is read",
            shown_path(first),
            shown_path(second)
        );
        let help = "move everything into one of them and delete the other";
        loaded.problems.push(
            Problem::error(Reason::ConfigDuplicate, message)
                .help(help)
                .in_file(second),
        );
    }
    found
        .into_iter()
        .next()
        .unwrap_or_else(|| folder.join("config.toml"))
}

fn given_project(folder: &Path, problems: &mut Vec<Problem>) -> Option<PathBuf> {
    if folder.is_dir() {
        return Some(folder.to_owned());
    }
    let message = format!("the project folder `{}` does not exist", shown_path(folder));
    problems.push(
        Problem::error(Reason::ConfigIo, message)
            .help("check the folder after `--project`")
            .in_file(folder),
    );
    None
}
