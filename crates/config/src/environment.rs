//! Environment variables and folders, and the search for config files.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::permission::is_placed_by_other;

/// Names of the user's and the project's own config file, in order of precedence.
pub(crate) const CONFIG_FILE_NAMES: &[&str] = &[
    "config.toml",
    "config.yaml",
    "config.yml",
    "config.json",
    "config.jsonc",
];

/// The process environment, injected so that tests can replace it.
#[derive(Clone, Default)]
pub struct Environment {
    /// The environment variables.
    pub vars: BTreeMap<String, String>,
    /// The user's home folder.
    pub home: PathBuf,
    /// The folder that the program was started in.
    pub working_dir: PathBuf,
}

impl Environment {
    /// Reads the environment of this process. Variables that are not valid Unicode are left out.
    pub fn from_process() -> Self {
        let vars = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        let working_dir = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        let home = etcetera::home_dir().unwrap_or_else(|_| working_dir.clone());
        Self {
            vars,
            home,
            working_dir,
        }
    }

    /// Returns a variable's value. An empty variable counts as unset.
    pub(crate) fn var(&self, name: &str) -> Option<&str> {
        self.vars
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }
}

/// Variables may contain secrets, so only their number is printed.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment")
            .field("vars", &self.vars.len())
            .field("home", &self.home)
            .field("working_dir", &self.working_dir)
            .finish()
    }
}

/// Folders for Pegboard's own files. The XDG layout is used on every operating system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    /// Contains the user's config file.
    pub config_dir: PathBuf,
    /// Contains the store, trust decisions and secrets.
    pub state_dir: PathBuf,
}

impl Paths {
    /// Determines the folders. `PEGBOARD_CONFIG_DIR` and `PEGBOARD_STATE_DIR` take precedence over the XDG variables.
    pub fn from_env(env: &Environment) -> Self {
        let folder = |own: &str, xdg: &str, default: &str| {
            if let Some(path) = env.var(own) {
                return env.working_dir.join(path);
            }
            let base = env
                .var(xdg)
                .map(Path::new)
                .filter(|path| path.is_absolute());
            base.map_or_else(|| env.home.join(default), Path::to_path_buf)
                .join("pegboard")
        };
        Self {
            config_dir: folder("PEGBOARD_CONFIG_DIR", "XDG_CONFIG_HOME", ".config"),
            state_dir: folder("PEGBOARD_STATE_DIR", "XDG_STATE_HOME", ".local/state"),
        }
    }

    /// Returns the user's config file, or the path of the `config.toml` that `add` would create.
    pub fn user_file(&self) -> PathBuf {
        config_files_in(&self.config_dir)
            .into_iter()
            .next()
            .unwrap_or_else(|| self.config_dir.join("config.toml"))
    }
}

/// Returns the config files that exist in a folder, in order of precedence. If there is no regular file, returns the
/// first folder, pipe or device with such a name, so that reading it reports what it is.
pub(crate) fn config_files_in(folder: &Path) -> Vec<PathBuf> {
    let paths = CONFIG_FILE_NAMES.iter().map(|name| folder.join(name));
    let mut other = None;
    let mut files = Vec::new();
    for path in paths {
        match std::fs::metadata(&path) {
            Ok(metadata) if metadata.is_file() => files.push(path),
            Ok(_) => drop(other.get_or_insert(path)),
            Err(_) => {}
        }
    }
    if files.is_empty() {
        files.extend(other);
    }
    files
}

/// Finds the nearest folder, from the working folder upwards, that contains a project file. The home folder and its
/// parents are skipped, because a file there would affect every project. Folders whose project files all belong to
/// other users are skipped too, so that other users cannot place a project in a shared parent folder; their files are
/// added to `ignored`.
pub(crate) fn find_project(env: &Environment, ignored: &mut Vec<PathBuf>) -> Option<PathBuf> {
    let folders = env.working_dir.ancestors();
    for folder in folders.take_while(|folder| *folder != env.home) {
        let (own, foreign) = (folder.join(".pegboard"), folder.join(".mcp.json"));
        let mut found = Vec::new();
        if own.is_dir() {
            found.push(config_files_in(&own).into_iter().next().unwrap_or(own));
        }
        found.extend(Some(foreign).filter(|file| file.exists()));
        if found.iter().any(|path| !is_placed_by_other(path)) {
            return Some(folder.to_path_buf());
        }
        ignored.extend(found.into_iter().filter(|path| path.is_file()));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(vars: &[(&str, &str)]) -> Environment {
        let vars = vars
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        Environment {
            vars,
            home: "/home/ann".into(),
            working_dir: "/work".into(),
        }
    }

    #[track_caller]
    fn check(vars: &[(&str, &str)], config: &str, state: &str) {
        let paths = Paths::from_env(&environment(vars));
        assert_eq!(
            (paths.config_dir, paths.state_dir),
            (config.into(), state.into()),
            "{vars:?}"
        );
    }

    #[test]
    fn r_cfg_01_folders_follow_xdg_and_can_be_moved() {
        check(
            &[],
            "/home/ann/.config/pegboard",
            "/home/ann/.local/state/pegboard",
        );
        check(
            &[("XDG_CONFIG_HOME", "/c"), ("XDG_STATE_HOME", "relative")],
            "/c/pegboard",
            "/home/ann/.local/state/pegboard",
        );
        check(
            &[
                ("XDG_CONFIG_HOME", "/c"),
                ("PEGBOARD_CONFIG_DIR", "/own"),
                ("PEGBOARD_STATE_DIR", "state"),
            ],
            "/own",
            "/work/state",
        );
        check(
            &[("PEGBOARD_CONFIG_DIR", "")],
            "/home/ann/.config/pegboard",
            "/home/ann/.local/state/pegboard",
        );
    }

    #[test]
    fn r_cfg_01_the_nearest_project_is_found_but_never_the_home_folder() {
        let root = tempfile::tempdir().unwrap();
        let home = root.path().join("home");
        let deep = home.join("code/app/src");
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::write(home.join(".mcp.json"), "{}").unwrap();
        std::fs::write(root.path().join(".mcp.json"), "{}").unwrap();
        let env = Environment {
            home,
            working_dir: deep.clone(),
            ..Environment::default()
        };
        let find = || find_project(&env, &mut Vec::new());
        assert_eq!(find(), None);
        let project = deep.parent().unwrap();
        std::fs::create_dir(project.join(".pegboard")).unwrap();
        assert_eq!(find().as_deref(), Some(project));
    }

    #[test]
    fn r_cfg_08_an_environment_does_not_print_its_variables() {
        let shown = format!("{:?}", environment(&[("TOKEN", "canary-value")]));
        assert!(!shown.contains("canary"), "{shown}");
    }
}
