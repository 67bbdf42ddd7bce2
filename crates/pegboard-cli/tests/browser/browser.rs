//! A running Pegboard and a scripted browser.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use pegboard_testkit::wait_until_sync;
use serde_json::{Value, json};

use crate::support::{Home, PEGBOARD, Running, TIMEOUT};

/// The path of the browser in Debian's package.
const CHROMIUM: &str = "/usr/bin/chromium";
/// The time limit of a script; each of its steps has its own limit.
const LONGEST: Duration = Duration::from_secs(600);

/// A machine with a browser.
pub(crate) struct BrowserSession {
    pub(crate) home: Home,
    /// The directory of `scripts/install-test-env`.
    installed: PathBuf,
}

impl BrowserSession {
    /// Prints the reason and returns `None` if nothing is installed.
    pub(crate) fn here(home: Home) -> Option<Self> {
        let Some(folder) = std::env::var_os("PEGBOARD_TEST_ENV") else {
            println!(
                "skipped: PEGBOARD_TEST_ENV does not name the folder of scripts/install-test-env"
            );
            return None;
        };
        let installed = PathBuf::from(folder);
        for needed in [
            Path::new(CHROMIUM),
            &installed.join("browser/node_modules"),
            &installed.join("clients/node_modules"),
        ] {
            assert!(
                needed.exists(),
                "{} does not exist; run scripts/install-test-env",
                needed.display()
            );
        }
        Some(Self { home, installed })
    }

    /// Starts Pegboard and runs a script of `pages/` in a browser. `extra_input` is added to the input of the script.
    #[track_caller]
    pub(crate) fn drive(&self, script: &str, extra_input: &Value) {
        let mut running = self.home.start(&["serve", "--port", "0"]);
        let address = address(&running);
        let login = self.home.run(&["dashboard"]).ok().stdout.trim().to_owned();
        let token = self.home.run(&["token"]).ok().stdout.trim().to_owned();
        let mut script_input = json!({
            "login": login,
            "address": address,
            "token": token,
            "program": PEGBOARD,
            "environment": self.home.environment(),
            "admin": self.home.run(&["token", "--admin"]).ok().stdout.trim(),
            "chromium": CHROMIUM,
            "modules": self.installed,
            "pictures": screenshots(),
        });
        for (key, value) in extra_input.as_object().into_iter().flatten() {
            script_input[key] = value.clone();
        }
        if let Err(why) = run(script, &script_input) {
            panic!("{why}\noutput of pegboard:\n{}", running.output());
        }
        running.signal("-TERM");
        assert!(running.wait().success(), "{}", running.output());
        self.home.assert_nothing_runs();
    }
}

/// Returns the base URL, such as `http://127.0.0.1:PORT`.
fn address(running: &Running) -> String {
    let mut found = None;
    wait_until_sync("`serve` prints its address", TIMEOUT, || {
        let printed = running.output();
        let rest = printed
            .split_once("http://127.0.0.1:")
            .map(|(_, rest)| rest);
        found = rest.and_then(|rest| Some(rest.split_once("/mcp")?.0.to_owned()));
        found.is_some()
    });
    format!("http://127.0.0.1:{}", found.expect("it was found"))
}

/// Returns the directory of screenshots.
fn screenshots() -> PathBuf {
    let folder = match std::env::var_os("PEGBOARD_ARTEFACTS") {
        Some(folder) => PathBuf::from(folder).join("screenshots"),
        None => {
            let own = std::env::current_exe().expect("a test knows its path");
            let target = own.ancestors().find(|folder| folder.ends_with("target"));
            target.unwrap_or(Path::new("target")).join("screenshots")
        }
    };
    std::fs::create_dir_all(&folder).expect("a folder for pictures");
    folder
}

/// Runs a script; the error is its output.
#[expect(
    clippy::disallowed_methods,
    reason = "starts the script that drives the browser"
)]
fn run(script: &str, script_input: &Value) -> Result<(), String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/browser/pages")
        .join(script);
    let mut child = Command::new("node")
        .arg(file)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("`node` does not start: {error}"))?;
    let mut stdin = child.stdin.take().expect("its input");
    stdin
        .write_all(script_input.to_string().as_bytes())
        .expect("the script reads");
    drop(stdin);
    let id = child.id();
    let (done, ended) = std::sync::mpsc::channel::<()>();
    // A hanging script is killed, so that the test ends.
    let watch = std::thread::spawn(move || {
        let started = Instant::now();
        if ended.recv_timeout(LONGEST).is_err() && started.elapsed() >= LONGEST {
            crate::support::kill("-KILL", id);
        }
    });
    let output = child.wait_with_output().expect("the script ends");
    drop(done);
    let _ = watch.join();
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{script}: {}\n{text}", output.status)),
    }
}
