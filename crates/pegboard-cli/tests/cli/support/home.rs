//! A person's machine in small: config, state and project folders of its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use pegboard::Pegboard;
use pegboard_config::Environment;
use pegboard_testkit::{Script, processes_with_marker, wait_until_sync};
use serde_json::json;
use tempfile::TempDir;

use super::{PEGBOARD, Run, Running};

/// Folders of one test, and the program run in them with nothing of the tester's own environment.
pub(crate) struct Home {
    folder: TempDir,
    variables: Vec<(String, String)>,
}

impl Home {
    /// A machine on which nothing is configured.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for name in ["home", "project"] {
            fs::create_dir(folder.path().join(name)).expect("a folder of the test");
        }
        Self {
            folder,
            variables: Vec::new(),
        }
    }

    /// A machine with the built-in example server, which was asked for its tools.
    pub(crate) fn with_example() -> Self {
        let home = Self::new();
        home.add_example("example");
        home.run(&["refresh", "--all"]).ok();
        home
    }

    /// A path below the test's folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The user's config file.
    pub(crate) fn config_file(&self) -> PathBuf {
        self.path("config/config.toml")
    }

    /// The user's config file as it is now.
    pub(crate) fn config(&self) -> String {
        fs::read_to_string(self.config_file()).unwrap_or_default()
    }

    /// The folder of all that lasts.
    pub(crate) fn state(&self) -> PathBuf {
        self.path("state")
    }

    /// Writes a file below the test's folder.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a file lies in a folder")).expect("its folder");
        fs::write(&path, text).expect("a file of the test");
        path
    }

    /// Sets a variable for all later runs.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    /// Adds a server to the user's config file; `more` are further lines of its table.
    pub(crate) fn add(&self, name: &str, command: &str, args: &[&str], more: &str) {
        let table = toml_server(name, command, args, more);
        self.write("config/config.toml", &format!("{}{table}", self.config()));
    }

    /// Adds the built-in example server to the user's config file.
    pub(crate) fn add_example(&self, name: &str) {
        self.add(name, PEGBOARD, &["example-server"], "");
    }

    /// Adds a scripted server to the user's config file.
    pub(crate) fn add_script(&self, name: &str, script: &Script, more: &str) {
        let (command, args) = script.stdio_command();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        self.add(name, &command, &args, more);
    }

    /// The variables of every run.
    pub(crate) fn environment(&self) -> BTreeMap<String, String> {
        let own = [
            ("PATH", std::env::var("PATH").unwrap_or_default()),
            ("HOME", self.path("home").display().to_string()),
            (
                "PEGBOARD_CONFIG_DIR",
                self.path("config").display().to_string(),
            ),
            ("PEGBOARD_STATE_DIR", self.state().display().to_string()),
        ];
        let own = own
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value));
        own.chain(self.variables.iter().cloned()).collect()
    }

    /// Opens Pegboard here as a program that embeds it does.
    pub(crate) async fn open(&self) -> Pegboard {
        let environment = Environment {
            vars: self.environment(),
            home: self.path("home"),
            working_dir: self.path("project"),
        };
        let builder = Pegboard::builder().environment(environment);
        builder.open().await.expect("Pegboard opens")
    }

    /// The program with these arguments, in the project's folder.
    #[expect(clippy::disallowed_methods, reason = "starts the program under test")]
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(PEGBOARD);
        command
            .args(args)
            .env_clear()
            .envs(self.environment())
            .current_dir(self.path("project"));
        command
    }

    /// Runs the program to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Run {
        Run::of(self.command(args), "")
    }

    /// Runs the program with something on its standard input.
    pub(crate) fn run_with_input(&self, args: &[&str], input: &str) -> Run {
        Run::of(self.command(args), input)
    }

    /// Starts the program and leaves it running.
    pub(crate) fn start(&self, args: &[&str]) -> Running {
        Running::of(self.command(args))
    }

    /// The processes that belong to this machine: everything started here inherits its `HOME`.
    pub(crate) fn processes(&self) -> Vec<u32> {
        processes_with_marker(&self.path("home").display().to_string())
    }

    /// Asserts that every process that was started here ends.
    pub(crate) fn assert_nothing_runs(&self) {
        wait_until_sync("no process is left", Duration::from_secs(20), || {
            self.processes().is_empty()
        });
    }

    /// A text with the test's folder written as `[HOME]`.
    pub(crate) fn shown(&self, text: &str) -> String {
        let folder = self.folder.path().display().to_string();
        text.replace(PEGBOARD, "[PEGBOARD]")
            .replace(&folder, "[HOME]")
    }
}

/// A server's table. TOML reads the texts as JSON writes them.
pub(crate) fn toml_server(name: &str, command: &str, args: &[&str], more: &str) -> String {
    let (command, args) = (json!(command), json!(args));
    format!("[servers.{name}]\ncommand = {command}\nargs = {args}\n{more}\n")
}
