//! A machine on which real servers are configured and Pegboard serves them.

use std::path::{Path, PathBuf};

use pegboard_testkit::wait_until_sync;
use serde_json::{Map, Value, json};

use crate::support::{Home, PEGBOARD, Running, TIMEOUT};

/// A machine with everything installed.
pub(crate) struct Machine {
    /// The directory of `scripts/install-test-env`.
    pub(crate) installed: PathBuf,
    pub(crate) home: Home,
}

/// The transport of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientTransport {
    Stdio,
    Http,
}

impl Machine {
    /// Prints the reason and returns `None` if nothing is installed.
    pub(crate) fn here() -> Option<Self> {
        let Some(folder) = std::env::var_os("PEGBOARD_TEST_ENV") else {
            println!(
                "skipped: PEGBOARD_TEST_ENV does not name the folder of scripts/install-test-env"
            );
            return None;
        };
        let installed = PathBuf::from(folder);
        assert!(
            installed.join("clients/node_modules").is_dir(),
            "{} holds no clients; run scripts/install-test-env",
            installed.display()
        );
        Some(Self {
            installed,
            home: Home::new(),
        })
    }

    /// Like `here`, with one server of each era, the reference server and the example server. All are discovered, so that no
    /// test depends on how fast they start.
    pub(crate) fn with_servers() -> Option<Self> {
        let machine = Self::here()?;
        machine.add_fixtures();
        let home = &machine.home;
        let everything = machine
            .installed
            .join("npm/node_modules/@modelcontextprotocol/server-everything/dist/index.js");
        home.add("everything", "node", &[&text(&everything)], "");
        home.add_example("example");
        home.run(&["refresh", "--all"]).ok();
        Some(machine)
    }

    /// Configures the servers `modern` and `legacy`, and the profile `direct`.
    pub(crate) fn add_fixtures(&self) {
        let home = &self.home;
        let (modern, legacy) = (program("modern_server.py"), program("legacy_server.mjs"));
        home.add("modern", &self.python(), &[&modern], "");
        let modules = json!(text(&self.installed.join("clients")));
        let more = format!("env = {{ NODE_MODULES_OF = {modules} }}\n");
        home.add("legacy", "node", &[&legacy], &more);
        let profile = format!("{}[profiles.direct]\nmode = \"direct\"\n", home.config());
        home.write("config/config.toml", &profile);
    }

    /// Python with the SDK.
    pub(crate) fn python(&self) -> String {
        text(&self.installed.join("python/bin/python"))
    }

    /// A Node version that is new enough for the inspector.
    pub(crate) fn newer_node(&self) -> String {
        text(&self.installed.join("conformance/node_modules/.bin/node"))
    }

    /// A directory that servers and clients share.
    pub(crate) fn notes(&self) -> String {
        let folder = self.home.path("notes");
        std::fs::create_dir_all(&folder).expect("a folder for notes");
        text(&folder)
    }

    /// Serves over HTTP on a free port.
    pub(crate) fn serve(&self) -> Serving {
        self.serve_at("0")
    }

    /// Serves over HTTP on this port.
    pub(crate) fn serve_at(&self, port: &str) -> Serving {
        let running = self.home.start(&["serve", "--port", port, "--no-auth"]);
        let mut url = None;
        wait_until_sync("the address in what `serve` says", TIMEOUT, || {
            url = address(&running.output());
            url.is_some()
        });
        Serving {
            running,
            url: url.expect("it was found"),
        }
    }

    /// Returns how a client connects to a profile; `lazy` is the default.
    pub(crate) fn address(&self, serving: Option<&Serving>, profile: &str) -> Value {
        let args: &[&str] = match profile {
            "lazy" => &["stdio"],
            _ => &["stdio", "--profile", profile],
        };
        match (serving, profile) {
            (Some(serving), "lazy") => json!(serving.url),
            (Some(serving), _) => json!(format!("{}/{profile}", serving.url)),
            (None, _) => json!({"command": PEGBOARD, "args": args, "env": self.environment()}),
        }
    }

    /// Returns the environment of Pegboard's processes.
    fn environment(&self) -> Value {
        let command = self.home.command(&[]);
        let variables = command.get_envs().filter_map(|(name, value)| {
            let name = name.to_str()?.to_owned();
            Some((name, Value::from(value?.to_str()?)))
        });
        Value::Object(variables.collect::<Map<_, _>>())
    }
}

/// Pegboard over HTTP.
pub(crate) struct Serving {
    running: Running,
    pub(crate) url: String,
}

impl Serving {
    /// Stops it and waits for the exit.
    pub(crate) fn stop(mut self) {
        self.running.signal("-TERM");
        let status = self.running.wait();
        assert!(status.success(), "{status}\n{}", self.running.output());
    }

    /// Returns the port.
    pub(crate) fn port(&self) -> String {
        let rest = self.url.trim_start_matches("http://127.0.0.1:");
        rest.trim_end_matches("/mcp").to_owned()
    }
}

/// Returns the path of a program in `programs/`.
pub(crate) fn program(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/programs");
    text(&folder.join(name))
}

fn address(printed: &str) -> Option<String> {
    let start = printed.find("http://127.0.0.1:")?;
    let rest = printed.get(start..)?;
    let end = rest.find("/mcp")? + "/mcp".len();
    // The line is complete when another one follows.
    rest.get(end..)?.starts_with(['\n', ' ']).then_some(())?;
    Some(rest.get(..end)?.to_owned())
}

pub(crate) fn text(path: &Path) -> String {
    path.display().to_string()
}
