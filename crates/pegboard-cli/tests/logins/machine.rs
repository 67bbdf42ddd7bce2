//! A machine with one protected server in its configuration.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use pegboard_testkit::oauth::{Behaviour, OAuthServer, browse};
use serde_json::Value;

const PEGBOARD: &str = env!("CARGO_BIN_EXE_pegboard");
/// Test machines can be slow.
const TIME: Duration = Duration::from_secs(60);

pub(crate) struct Machine {
    pub(crate) server: OAuthServer,
    home: tempfile::TempDir,
}

impl Machine {
    pub(crate) fn with(behaviour: Behaviour) -> Self {
        let machine = Self {
            server: OAuthServer::start(behaviour),
            home: tempfile::tempdir().unwrap(),
        };
        machine.configure(&machine.server.mcp_url(), "");
        machine
    }

    /// Writes the configuration of the server `notes`.
    pub(crate) fn configure(&self, url: &str, more: &str) {
        let text = format!("[servers.notes]\nurl = \"{url}\"\n{more}");
        std::fs::write(self.path("config.toml"), text).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    #[expect(clippy::disallowed_methods, reason = "the program under test")]
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(PEGBOARD);
        command
            .args(args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home.path())
            .env("PEGBOARD_CONFIG_DIR", self.home.path())
            .env("PEGBOARD_STATE_DIR", self.path("state"))
            .env("PEGBOARD_LOG", "trace")
            .current_dir(self.home.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Done {
        Done::of(self.command(args).output().unwrap())
    }

    /// Logs in; the browser is played by the test.
    pub(crate) fn login(&self, more: &[&str]) -> Done {
        let args = [&["login", "notes", "--no-browser"], more].concat();
        finish_login(self.command(&args))
    }

    /// Logs in as with a browser on this machine, which the test plays; without `--no-browser` no device code is used.
    pub(crate) fn login_in_browser(&self) -> Done {
        let mut command = self.command(&["login", "notes"]);
        // No program that opens addresses is found there.
        command.env("PATH", self.path("empty"));
        finish_login(command)
    }

    /// The state of the login, as `login --status --json` prints it.
    pub(crate) fn state(&self) -> String {
        let done = self.run(&["login", "--status", "--json"]);
        let logins = done.json()["logins"].clone();
        logins[0]["state"].as_str().unwrap_or("none").to_owned()
    }
}

/// Opens the printed address and waits for the end of the login.
fn finish_login(mut command: Command) -> Done {
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let (mut said, mut url) = (String::new(), None);
    while url.is_none() {
        let mut line = String::new();
        if stderr.read_line(&mut line).unwrap() == 0 {
            break;
        }
        url = line
            .trim()
            .strip_prefix("http")
            .map(|rest| format!("http{rest}"));
        said.push_str(&line);
    }
    if let Some(url) = url {
        let page = browse(&url);
        said.push_str(&page.body);
    }
    stderr.read_to_string(&mut said).unwrap();
    let output = child.wait_with_output().unwrap();
    Done {
        stderr: said,
        ..Done::of(output)
    }
}

/// A process that ended.
pub(crate) struct Done {
    pub(crate) exit: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Done {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            exit: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.exit, 0, "{}\n{}", self.stdout, self.stderr);
        self
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|flaw| panic!("{flaw}: {}\n{}", self.stdout, self.stderr))
    }
}

/// Waits until a condition holds.
#[track_caller]
pub(crate) fn eventually(what: &str, condition: impl Fn() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < TIME, "{what}");
        std::thread::yield_now();
    }
}

/// Ends a process at once.
pub(crate) fn kill_now(child: &mut Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}
