//! A user's machine: separate config, state and project directories.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use pegboard::Pegboard;
use pegboard_background::{Request, process_status, send_request};
use pegboard_config::Environment;
use pegboard_testkit::{Script, processes_with_marker, wait_until_sync};
use serde_json::json;
use tempfile::TempDir;

use super::{PEGBOARD, Run, Running};

/// The directories of one test, in which the program runs without the tester's environment.
pub(crate) struct Home {
    folder: TempDir,
    variables: Vec<(String, String)>,
}

impl Home {
    /// Creates a machine without configuration.
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

    /// Creates a machine with the discovered example server.
    pub(crate) fn with_example() -> Self {
        let home = Self::new();
        home.add_example("example");
        home.run(&["refresh", "--all"]).ok();
        home
    }

    /// Returns a path below the test's directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the path of the user's config file.
    pub(crate) fn config_file(&self) -> PathBuf {
        self.path("config/config.toml")
    }

    /// Reads the user's config file.
    pub(crate) fn config(&self) -> String {
        fs::read_to_string(self.config_file()).unwrap_or_default()
    }

    /// Returns the state directory.
    pub(crate) fn state(&self) -> PathBuf {
        self.path("state")
    }

    /// Writes a file below the test's directory.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a parent directory"))
            .expect("the directory is created");
        fs::write(&path, text).expect("a file of the test");
        path
    }

    /// Sets a variable for all later runs.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    /// Adds a server to the user's config file; `more` contains additional lines of its table.
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

    /// Returns the environment of every run.
    pub(crate) fn environment(&self) -> BTreeMap<String, String> {
        let own = [
            ("PATH", std::env::var("PATH").unwrap_or_default()),
            ("HOME", self.path("home").display().to_string()),
            (
                "PEGBOARD_CONFIG_DIR",
                self.path("config").display().to_string(),
            ),
            ("PEGBOARD_STATE_DIR", self.state().display().to_string()),
            // The process that clients share ends soon after the last one.
            ("PEGBOARD_BACKGROUND_IDLE", "1".to_owned()),
        ];
        let own = own
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value));
        own.chain(self.variables.iter().cloned()).collect()
    }

    /// Opens Pegboard with the library.
    pub(crate) async fn open(&self) -> Pegboard {
        let environment = Environment {
            vars: self.environment(),
            home: self.path("home"),
            working_dir: self.path("project"),
        };
        let builder = Pegboard::builder().environment(environment);
        builder.open().await.expect("Pegboard opens")
    }

    /// Returns the command with these arguments, in the project's directory.
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

    /// Runs the program until it exits.
    pub(crate) fn run(&self, args: &[&str]) -> Run {
        Run::of(self.command(args), "")
    }

    /// Runs the program with standard input.
    pub(crate) fn run_with_input(&self, args: &[&str], input: &str) -> Run {
        Run::of(self.command(args), input)
    }

    /// Starts the program and leaves it running.
    pub(crate) fn start(&self, args: &[&str]) -> Running {
        Running::of(self.command(args))
    }

    /// Returns the processes of this machine, which inherit its `HOME`.
    pub(crate) fn processes(&self) -> Vec<u32> {
        processes_with_marker(&self.path("home").display().to_string())
    }

    /// Asserts that every process of this machine ends. A process that was started without this machine's variables,
    /// because a client does not pass them on, would wait for more clients; it is asked to stop.
    pub(crate) fn assert_nothing_runs(&self) {
        let status = process_status(&self.state()).ok().flatten();
        if status.is_some_and(|status| status.clients.is_empty()) {
            let _ = send_request(&self.state(), &Request::Stop);
        }
        wait_until_sync("no process is left", Duration::from_secs(20), || {
            self.processes().is_empty()
        });
    }

    /// Replaces the test's directory by `[HOME]`.
    pub(crate) fn shown(&self, text: &str) -> String {
        let folder = self.folder.path().display().to_string();
        text.replace(PEGBOARD, "[PEGBOARD]")
            .replace(&folder, "[HOME]")
    }
}

/// Returns a server's TOML table; TOML accepts JSON strings.
pub(crate) fn toml_server(name: &str, command: &str, args: &[&str], more: &str) -> String {
    let (command, args) = (json!(command), json!(args));
    format!("[servers.{name}]\ncommand = {command}\nargs = {args}\n{more}\n")
}
