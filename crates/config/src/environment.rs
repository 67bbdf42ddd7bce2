//! What comes from outside: variables, folders.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::permission::is_placed_by_other;

/// The names a user's or project's own file may have, in the order they are looked for.
pub(crate) const CONFIG_FILE_NAMES: &[&str] = &[
    "config.toml",
    "config.yaml",
    "config.yml",
    "config.json",
    "config.jsonc",
];

/// Everything from outside, passed in so that tests can replace it.
#[derive(Clone, Default)]
pub struct Environment {
    /// The environment variables.
    pub vars: BTreeMap<String, String>,
    /// The user's home folder.
    pub home: PathBuf,
    /// The folder the program was started in.
    pub working_dir: PathBuf,
}

impl Environment {
    /// The environment of this process. Variables that are not Unicode are left out.
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

    /// A variable's value; an empty one counts as not set.
    pub(crate) fn var(&self, name: &str) -> Option<&str> {
        self.vars
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }
}

/// Variables hold secrets, so only their number is shown.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment")
            .field("vars", &self.vars.len())
            .field("home", &self.home)
            .field("working_dir", &self.working_dir)
            .finish()
    }
}

/// Where Pegboard's own files are: the XDG folders on every system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    /// Holds the user's config file.
    pub config_dir: PathBuf,
    /// Holds what Pegboard keeps: store, agreements, secrets.
    pub state_dir: PathBuf,
}

impl Paths {
    /// The folders; `PEGBOARD_CONFIG_DIR` and `PEGBOARD_STATE_DIR` override them.
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

    /// The user's config file: the one that is there, else the `config.toml` that `add` creates.
    pub fn user_file(&self) -> PathBuf {
        config_files_in(&self.config_dir)
            .into_iter()
            .next()
            .unwrap_or_else(|| self.config_dir.join("config.toml"))
    }
}

/// The config files that are there in a folder, best first. Where there is none, a folder, pipe or device that has the
/// name of one is given, so that reading it reports what it is.
pub(crate) fn config_files_in(folder: &Path) -> Vec<PathBuf> {
    let paths = CONFIG_FILE_NAMES.iter().map(|name| folder.join(name));
    let mut other = None;
    let mut files = Vec::new();
    for path in paths {
        match std::fs::metadata(&path) {
            Ok(about) if about.is_file() => files.push(path),
            Ok(_) => drop(other.get_or_insert(path)),
            Err(_) => {}
        }
    }
    if files.is_empty() {
        files.extend(other);
    }
    files
}

/// The nearest folder at or above the working folder that holds a project file. The home folder and
/// what is above it never count: a file there would reach into every project. A folder whose project files are all
/// another user's does not count either, so that nobody can put a project into a shared folder above ours; its files
/// are added to `ignored`.
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
