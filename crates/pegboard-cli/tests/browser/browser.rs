//! A person's desk: Pegboard that serves, and a browser that is told what to do.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use pegboard_testkit::wait_until_sync;
use serde_json::{Value, json};

use crate::support::{Home, PEGBOARD, Running, TIMEOUT};

/// Where Debian's package puts the browser.
const CHROMIUM: &str = "/usr/bin/chromium";
/// How long a whole journey may take; each of its steps has a limit of its own.
const LONGEST: Duration = Duration::from_secs(600);

/// A machine with a browser on it.
pub(crate) struct BrowserSession {
    pub(crate) home: Home,
    /// What `scripts/install-test-env` installed.
    installed: PathBuf,
}

impl BrowserSession {
    /// `None`, with the reason printed, where nothing is installed.
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
                "{} is not there; run scripts/install-test-env",
                needed.display()
            );
        }
        Some(Self { home, installed })
    }

    /// Serves, and lets a script of `pages/` drive a browser over it. What the script is told beside the addresses is
    /// `wish`.
    #[track_caller]
    pub(crate) fn drive(&self, script: &str, extra_input: &Value) {
        let mut running = self.home.start(&["serve", "--port", "0"]);
        let address = address(&running);
        let login = self.home.run(&["dashboard"]).ok().stdout.trim().to_owned();
        let token = self.home.run(&["token"]).ok().stdout.trim().to_owned();
        let mut told = json!({
            "login": login,
            "address": address,
            "token": token,
            "program": PEGBOARD,
            "environment": self.home.environment(),
            "admin": self.home.run(&["token", "--admin"]).ok().stdout.trim(),
            "chromium": CHROMIUM,
            "modules": self.installed,
            "pictures": pictures(),
        });
        for (key, value) in extra_input.as_object().into_iter().flatten() {
            told[key] = value.clone();
        }
        if let Err(why) = run(script, &told) {
            panic!("{why}\npegboard said:\n{}", running.output());
        }
        running.signal("-TERM");
        assert!(running.wait().success(), "{}", running.output());
        self.home.assert_nothing_runs();
    }
}

/// Where it serves: `http://127.0.0.1:PORT`.
fn address(running: &Running) -> String {
    let mut found = None;
    wait_until_sync("the address in what `serve` says", TIMEOUT, || {
        let told = running.output();
        let rest = told.split_once("http://127.0.0.1:").map(|(_, rest)| rest);
        found = rest.and_then(|rest| Some(rest.split_once("/mcp")?.0.to_owned()));
        found.is_some()
    });
    format!("http://127.0.0.1:{}", found.expect("it was found"))
}

/// The folder of pictures.
fn pictures() -> PathBuf {
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

/// Runs a script to its end; the error is what it said.
#[expect(
    clippy::disallowed_methods,
    reason = "starts the script that drives the browser"
)]
fn run(script: &str, told: &Value) -> Result<(), String> {
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
        .write_all(told.to_string().as_bytes())
        .expect("the script reads");
    drop(stdin);
    let id = child.id();
    let (done, ended) = std::sync::mpsc::channel::<()>();
    // A script that hangs is ended, so that the test ends.
    let watch = std::thread::spawn(move || {
        let started = Instant::now();
        if ended.recv_timeout(LONGEST).is_err() && started.elapsed() >= LONGEST {
            crate::support::kill("-KILL", id);
        }
    });
    let output = child.wait_with_output().expect("the script ends");
    drop(done);
    let _ = watch.join();
    let said = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{script}: {}\n{said}", output.status)),
    }
}
