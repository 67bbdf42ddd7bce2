//! The description of a client.

use std::process::Command;

use pegboard_testkit::ModelServer;
use serde_json::{Value, json};

use crate::machine::Machine;

/// A coding agent that runs without a terminal.
#[derive(Clone, Copy)]
pub(crate) struct Client {
    /// Its name.
    pub(crate) name: &'static str,
    /// The prefix of Pegboard's tool names.
    pub(crate) prefix: &'static str,
    /// The namespace in which it offers them, for providers with namespaces.
    pub(crate) namespace: Option<&'static str>,
    /// Writes its configuration files, with Pegboard as an MCP server and the scripted model as its provider; the
    /// command that gives it one prompt.
    pub(crate) set_up: fn(&Machine, &ModelServer) -> Command,
}

impl Client {
    /// A call of one of Pegboard's tools, as the model has to name it for this client.
    pub(crate) fn call(&self, tool: &str, input: Value) -> Value {
        let name = format!("{}{tool}", self.prefix);
        json!({"name": name, "namespace": self.namespace, "input": input})
    }
}

/// Returns the command of a client without the tester's environment and without network access.
#[expect(clippy::disallowed_methods, reason = "starts the clients under test")]
pub(crate) fn command(machine: &Machine, program: &str) -> Command {
    let mut command = Command::new(machine.installed(program));
    let home = machine.home.path("home");
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", &home)
        .env("TMPDIR", &home)
        .env("CI", "true")
        // The model uses plain HTTP; everything else that a client fetches uses HTTPS.
        .env("HTTPS_PROXY", "http://127.0.0.1:9")
        .env("NO_PROXY", "127.0.0.1")
        .current_dir(machine.home.path("project"));
    command
}
