//! Finds the files of clients on this machine.

use std::path::{Path, PathBuf};

use super::table::{CLIENTS, Client, ClientFile, FileScope, Location};
use crate::environment::Environment;

/// Maximum number of files that one `*` stands for.
const FILES_PER_PATTERN: usize = 100;

/// The folders in which clients keep their files.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Places<'a> {
    env: &'a Environment,
    /// The folder of the current project.
    pub project: PathBuf,
    /// Whether paths of macOS apply.
    pub is_macos: bool,
}

/// A file of a client, which may not exist.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FoundFile {
    /// The client.
    pub client: &'static Client,
    /// The row of the file in the table.
    pub file: &'static ClientFile,
    /// The path.
    pub path: PathBuf,
    /// Whether something exists at the path, even if it cannot be read.
    pub exists: bool,
}

impl<'a> Places<'a> {
    /// Uses the folders of an environment. The project is the nearest folder upwards with a `.git`, or else the current
    /// folder. The home folder is not a project.
    pub fn new(env: &'a Environment) -> Self {
        let mut folders = env.working_dir.ancestors();
        let is_root = |folder: &&Path| *folder != env.home && folder.join(".git").exists();
        let project = folders.find(is_root).unwrap_or(&env.working_dir);
        Self {
            env,
            project: project.to_owned(),
            is_macos: cfg!(target_os = "macos"),
        }
    }

    pub(crate) fn env(&self) -> &'a Environment {
        self.env
    }

    /// Returns the folder in which relative paths of the user are.
    pub(super) fn working_dir(&self) -> &Path {
        &self.env.working_dir
    }

    /// Whether a folder belongs to the user as a whole, and not to one client.
    pub(super) fn is_shared_folder(&self, folder: &Path) -> bool {
        let home = &self.env.home;
        let shared = [
            home.join(".config"),
            home.join("Library/Application Support"),
        ];
        folder == home
            || shared.iter().any(|shared| shared == folder)
            || self.variable("XDG_CONFIG_HOME") == Some(folder)
    }

    /// Returns the folder of a client's variable, or `None` if it is not set or not absolute.
    fn variable(&self, name: &str) -> Option<&Path> {
        let path = self.env.var(name).map(Path::new);
        path.filter(|path| path.is_absolute())
    }

    fn path(&self, location: Location) -> Option<PathBuf> {
        let home = &self.env.home;
        Some(match location {
            Location::Home(path) => home.join(path),
            Location::Config(path) => match self.variable("XDG_CONFIG_HOME") {
                Some(folder) => folder.join(path),
                None => home.join(".config").join(path),
            },
            Location::ApplicationSupport(path) => {
                home.join("Library/Application Support").join(path)
            }
            Location::Variable(name, default, path) => match self.variable(name) {
                Some(folder) => folder.join(path),
                None => home.join(default).join(path),
            },
            Location::FileVariable(name) => self.variable(name)?.to_owned(),
            Location::Project(path) => self.project.join(path),
        })
    }

    /// Returns the files of a row: one, unless its name is a pattern.
    pub(super) fn files(&self, file: &ClientFile) -> Vec<PathBuf> {
        // The home folder is not a project, even if it contains a repository of dotfiles.
        if file.scope == FileScope::Project && self.project == self.env.home {
            return Vec::new();
        }
        let location = file.macos.filter(|_| self.is_macos).unwrap_or(file.linux);
        let Some(path) = self.path(location) else {
            return Vec::new();
        };
        let extension = path
            .file_name()
            .and_then(|name| name.to_str()?.strip_prefix("*."));
        match (extension, path.parent()) {
            (Some(extension), Some(folder)) => matching_files(folder, extension),
            _ => vec![path],
        }
    }
}

/// Returns the files of all clients in the order of the table, whether they exist or not.
pub fn find_files(places: &Places<'_>) -> Vec<FoundFile> {
    let mut found = Vec::new();
    for client in CLIENTS {
        for file in client.files {
            let paths = places.files(file).into_iter();
            found.extend(paths.map(|path| FoundFile {
                client,
                file,
                exists: path.symlink_metadata().is_ok(),
                path,
            }));
        }
    }
    found
}

fn matching_files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let has_extension = |path: &PathBuf| path.extension().is_some_and(|found| found == extension);
    let mut files: Vec<PathBuf> = paths
        .filter(has_extension)
        .take(FILES_PER_PATTERN)
        .collect();
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(home: &Path, working_dir: &Path, vars: &[(&str, &str)]) -> Environment {
        let vars = vars
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Environment {
            vars: vars.collect(),
            home: home.to_owned(),
            working_dir: working_dir.to_owned(),
        }
    }

    #[track_caller]
    fn check(key: &str, is_macos: bool, vars: &[(&str, &str)], expected: &[&str]) {
        let env = environment(Path::new("/home/ann"), Path::new("/code/app"), vars);
        let places = Places {
            is_macos,
            ..Places::new(&env)
        };
        let files = find_files(&places).into_iter();
        let paths: Vec<_> = files
            .filter(|file| file.client.key == key)
            .map(|file| file.path.display().to_string())
            .collect();
        assert_eq!(paths, expected, "{key}");
    }

    #[test]
    fn r_cfg_07_files_are_where_each_client_keeps_them() {
        let claude = |folder: &str| {
            let user = format!("{folder}/.claude.json");
            [user.clone(), "/code/app/.mcp.json".to_owned(), user]
        };
        let home = claude("/home/ann");
        let home: Vec<&str> = home.iter().map(String::as_str).collect();
        check("claude-code", false, &[], &home);
        let moved = claude("/moved");
        let moved: Vec<&str> = moved.iter().map(String::as_str).collect();
        check(
            "claude-code",
            true,
            &[("CLAUDE_CONFIG_DIR", "/moved")],
            &moved,
        );
        let desktop = "Claude/claude_desktop_config.json";
        let linux = format!("/home/ann/.config/{desktop}");
        check("claude-desktop", false, &[], &[&linux]);
        let macos = format!("/home/ann/Library/Application Support/{desktop}");
        check("claude-desktop", true, &[], &[&macos]);
        let xdg = [("XDG_CONFIG_HOME", "/xdg"), ("CODEX_HOME", "relative")];
        check("goose", true, &xdg, &["/xdg/goose/config.yaml"]);
        let zed = [
            "/code/app/.zed/settings.json",
            "/home/ann/.config/zed/settings.json",
        ];
        check("zed", true, &xdg, &zed);
        let codex = [
            "/code/app/.codex/config.toml",
            "/home/ann/.codex/config.toml",
        ];
        check("codex", false, &xdg, &codex);
        check(
            "amazon-q",
            false,
            &[],
            &[
                "/code/app/.amazonq/mcp.json",
                "/home/ann/.aws/amazonq/mcp.json",
                "/home/ann/.aws/amazonq/agents/default.json",
            ],
        );
    }

    #[test]
    fn r_cfg_07_a_pattern_finds_every_file_of_its_kind() {
        let root = tempfile::tempdir().unwrap();
        let (home, project) = (root.path().join("home"), root.path().join("project"));
        let agents = home.join(".aws/amazonq/cli-agents");
        let deep = project.join("src/deep");
        for folder in [&agents, &deep, &project.join(".git")] {
            std::fs::create_dir_all(folder).unwrap();
        }
        for name in ["b.json", "a.json", "notes.md"] {
            std::fs::write(agents.join(name), "{}").unwrap();
        }
        let env = environment(&home, &deep, &[]);
        let places = Places::new(&env);
        assert_eq!(places.project, project);
        let found = find_files(&places);
        let existing: Vec<_> = found.iter().filter(|file| file.exists).collect();
        let names: Vec<_> = existing
            .iter()
            .filter_map(|file| file.path.file_name())
            .collect();
        assert_eq!(names, ["a.json", "b.json"]);
        let env = environment(&home, &home, &[]);
        let files = find_files(&Places::new(&env));
        assert!(files.iter().all(|file| file.file.scope == FileScope::User));
    }
}
