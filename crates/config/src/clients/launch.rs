//! The command with which a client starts Pegboard.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::environment::Environment;

/// A command that starts Pegboard, without the arguments `stdio` and `--profile`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Launch {
    /// The program: an absolute path, or a package runner.
    pub command: String,
    /// Arguments before `stdio`.
    pub args: Vec<String>,
    /// Environment variables that the client must set.
    pub env: BTreeMap<String, String>,
    /// Why the program may not exist later, for the user.
    pub warning: Option<String>,
}

impl Launch {
    /// Determines how to start this program later, from the path that it runs from. A package runner's cache folder
    /// may be emptied, so a program there is started through the runner again.
    pub fn new(
        program: &Path,
        version: &str,
        environment: &Environment,
        variables: BTreeMap<String, String>,
    ) -> Self {
        let launch = |command: &str, args: &[&str]| Self {
            command: command.to_owned(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            env: variables.clone(),
            warning: None,
        };
        let has = |name: &str| program.iter().any(|part| part == name);
        let package = format!("pegboard@{version}");
        if has("_npx") {
            return launch("npx", &["-y", &package]);
        }
        let is_uv_cache = |part: &str| {
            let kinds = ["archive-v", "builds-v", "environments-v"];
            kinds.iter().any(|kind| part.starts_with(kind))
        };
        if has("uv")
            && program
                .iter()
                .filter_map(|part| part.to_str())
                .any(is_uv_cache)
        {
            return launch("uvx", &[&package]);
        }
        let stable = path_in_search_path(program, environment);
        let path = stable.as_deref().unwrap_or(program);
        let mut launch = launch(&path.to_string_lossy(), &[]);
        if stable.is_none() {
            launch.warning = warning(program);
        }
        launch
    }
}

/// Returns the path in `PATH` that leads to this program. It stays the same when a package manager replaces the program
/// by a newer version in another folder.
fn path_in_search_path(program: &Path, environment: &Environment) -> Option<PathBuf> {
    let name = program.file_name()?;
    let own = program.canonicalize().ok()?;
    let folders = environment.var("PATH")?.split(':').map(Path::new);
    let mut candidates = folders
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name));
    candidates.find(|path| path.canonicalize().is_ok_and(|found| found == own))
}

fn warning(program: &Path) -> Option<String> {
    let parts: Vec<&str> = program.iter().filter_map(|part| part.to_str()).collect();
    let is_build = parts.windows(2).any(|pair| {
        matches!(pair, ["target", profile] if ["debug", "release", "dist"].contains(profile))
    });
    let folders = ["/tmp", "/private/tmp", "/var/tmp", "/var/folders"];
    let is_temporary = program.starts_with(std::env::temp_dir())
        || folders.iter().any(|folder| program.starts_with(folder));
    let shown = crate::problem::shown_path(program);
    if is_build {
        let advice =
            "`cargo clean` deletes it; install Pegboard and connect again to use the installed one";
        return Some(format!("`{shown}` is in a build folder: {advice}"));
    }
    is_temporary.then(|| {
        let advice = "it may be deleted; install Pegboard and connect again";
        format!("`{shown}` is in a temporary folder: {advice}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(program: &str, expected: &[&str], warns: bool) {
        let environment = Environment::default();
        let launch = Launch::new(Path::new(program), "1.2.3", &environment, BTreeMap::new());
        let mut words = vec![launch.command.as_str()];
        words.extend(launch.args.iter().map(String::as_str));
        assert_eq!(words, expected);
        assert_eq!(launch.warning.is_some(), warns, "{:?}", launch.warning);
    }

    #[test]
    fn r_cfg_07_a_program_in_a_cache_is_started_by_its_runner() {
        let installed = "/usr/local/bin/pegboard";
        check(installed, &[installed], false);
        let npx = "/home/ann/.npm/_npx/0a1b/node_modules/pegboard-linux/bin/pegboard";
        check(npx, &["npx", "-y", "pegboard@1.2.3"], false);
        let uvx = "/home/ann/.cache/uv/archive-v0/x9/bin/pegboard";
        check(uvx, &["uvx", "pegboard@1.2.3"], false);
        let tool = "/home/ann/.local/share/uv/tools/pegboard/bin/pegboard";
        check(tool, &[tool], false);
        let built = "/code/pegboard/target/debug/pegboard";
        check(built, &[built], true);
        check("/tmp/x/pegboard", &["/tmp/x/pegboard"], true);
    }

    #[cfg(unix)]
    #[test]
    fn r_cfg_07_the_path_that_stays_after_an_update_is_preferred() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let (cellar, bin) = (folder.join("Cellar/1.0"), folder.join("bin"));
        for folder in [&cellar, &bin] {
            std::fs::create_dir_all(folder).unwrap();
        }
        let program = cellar.join("pegboard");
        std::fs::write(&program, "").unwrap();
        std::os::unix::fs::symlink(&program, bin.join("pegboard")).unwrap();
        let path = format!("relative:{}:{}", folder.display(), bin.display());
        let environment = Environment {
            vars: BTreeMap::from([("PATH".to_owned(), path)]),
            ..Environment::default()
        };
        let launch = Launch::new(&program, "1.0.0", &environment, BTreeMap::new());
        assert_eq!(launch.command, bin.join("pegboard").display().to_string());
        assert_eq!(launch.warning, None);
    }
}
