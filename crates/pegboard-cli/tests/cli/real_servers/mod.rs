//! Real MCP servers of both eras, as `scripts/install-test-env` installs them into the folder that
//! `PEGBOARD_TEST_ENV` names. Without that directory each test is skipped with a message, because the rest of the
//! suite needs only Rust.

mod calls;
mod changes;
mod http;
mod old_sse;

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::Home;

/// A machine on which the real servers are installed.
struct Installed {
    folder: PathBuf,
    home: Home,
}

impl Installed {
    /// Prints the reason and returns `None` if they are not installed.
    fn here() -> Option<Self> {
        let Some(folder) = std::env::var_os("PEGBOARD_TEST_ENV") else {
            println!(
                "skipped: PEGBOARD_TEST_ENV does not name the folder of scripts/install-test-env"
            );
            return None;
        };
        let folder = PathBuf::from(folder);
        assert!(
            folder.is_dir(),
            "PEGBOARD_TEST_ENV is {}, which is not there",
            folder.display()
        );
        Some(Self {
            folder,
            home: Home::new(),
        })
    }

    /// The program of a server from npm, run by `node`.
    fn npm(&self, server: &str) -> String {
        let modules = self.folder.join("npm/node_modules/@modelcontextprotocol");
        modules
            .join(server)
            .join("dist/index.js")
            .display()
            .to_string()
    }

    /// The program of a server from PyPI.
    fn python(&self, server: &str) -> String {
        self.folder
            .join("python/bin")
            .join(server)
            .display()
            .to_string()
    }

    /// Adds a server and checks its entry.
    #[track_caller]
    fn add(&self, name: &str, words: &[&str], expected: &Expected<'_>) {
        let run = self.home.run(&[&["add", name], words].concat()).ok();
        assert!(
            run.stdout.starts_with(&format!("✓ {name}  ")),
            "{}",
            run.stdout
        );
        let show = self.home.run(&["show", name, "--json"]).ok().json();
        assert_eq!(show["era"], expected.era, "{name}");
        assert_eq!(show["protocol_version"], expected.revision, "{name}");
        assert_eq!(show["status"], "success");
        assert_eq!(show["rejected"], json!([]));
        let tools: Vec<_> = show["tools"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        for tool in expected.tools {
            assert!(
                tools.contains(&format!("{name}__{tool}").as_str()),
                "{tool} is not in {tools:?}"
            );
        }
    }

    /// Calls a tool and returns its text.
    #[track_caller]
    fn call(&self, tool: &str, arguments: &Value) -> String {
        self.home
            .run(&["call", tool, "--args", &arguments.to_string()])
            .ok()
            .stdout
    }
}

/// The expected entry of a server.
struct Expected<'a> {
    era: &'a str,
    revision: &'a str,
    tools: &'a [&'a str],
}

impl<'a> Expected<'a> {
    fn modern(tools: &'a [&'a str]) -> Self {
        Self {
            era: "modern",
            revision: "2026-07-28",
            tools,
        }
    }

    fn legacy(tools: &'a [&'a str]) -> Self {
        Self {
            era: "legacy",
            revision: "2025-11-25",
            tools,
        }
    }
}
