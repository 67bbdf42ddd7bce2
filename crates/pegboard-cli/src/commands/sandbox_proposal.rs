//! The `sandbox` that a trial proposes.

use pegboard_model::{Sandbox, SandboxNetwork, ServerName, ToolError, UntrustedText};
use pegboard_upstream::DeniedPath;
use serde::Serialize;
use serde_json::{Value, json};

/// What a trial found.
#[derive(Debug, Serialize)]
pub(super) struct Proposal {
    pub(super) server: ServerName,
    pub(super) ok: bool,
    pub(super) outcome: String,
    /// Paths that the server was refused in any round.
    pub(super) refused: Vec<String>,
    /// Hosts that it connected to.
    pub(super) hosts: Vec<String>,
    /// The value for `sandbox`.
    pub(super) sandbox: Value,
    /// The same for a config file.
    #[serde(skip)]
    pub(super) toml: String,
}

/// Returns the network that covers these hosts. The usual ports are not written.
pub(super) fn network(hosts: &[String]) -> SandboxNetwork {
    if hosts.is_empty() {
        return SandboxNetwork::Off;
    }
    let plain = |host: &String| {
        let usual = host
            .strip_suffix(":443")
            .or_else(|| host.strip_suffix(":80"));
        usual.unwrap_or(host).to_owned()
    };
    let mut hosts: Vec<String> = hosts.iter().map(plain).collect();
    hosts.dedup();
    SandboxNetwork::Hosts(hosts)
}

/// Describes the outcome of a trial, with the sandbox after its last round.
pub(super) fn proposal(
    server: &ServerName,
    sandbox: &Sandbox,
    refused: &[DeniedPath],
    hosts: Vec<String>,
    outcome: &Result<usize, ToolError>,
) -> Proposal {
    let mode = sandbox.mode.as_str();
    let mut fields: Vec<(&str, Value)> = vec![("mode", json!(mode))];
    for (key, paths) in [("read", &sandbox.read), ("write", &sandbox.write)] {
        if !paths.is_empty() {
            fields.push((key, json!(paths)));
        }
    }
    match &sandbox.network {
        SandboxNetwork::On => {}
        SandboxNetwork::Off => fields.push(("network", json!("off"))),
        SandboxNetwork::Hosts(hosts) => fields.push(("network", json!(hosts))),
    }
    if sandbox.unix_sockets {
        fields.push(("unix_sockets", json!(true)));
    }
    if let Some(bytes) = sandbox.memory {
        fields.push(("memory", json!(format!("{} MB", bytes / (1024 * 1024)))));
    }
    if let Some(count) = sandbox.processes {
        fields.push(("processes", json!(count)));
    }
    let mut toml = format!("[servers.{server}.sandbox]");
    for (key, value) in &fields {
        // A JSON string or list of strings is valid TOML.
        toml.push_str(&format!("\n{key} = {}", toml_value(value)));
    }
    let fields = fields
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value));
    Proposal {
        server: server.clone(),
        ok: outcome.is_ok(),
        outcome: match outcome {
            Ok(tools) => {
                let tools = crate::format::count(*tools, "tool");
                format!("server `{server}` works in mode `{mode}`: {tools}")
            }
            Err(error) => UntrustedText::block(&error.message).to_string(),
        },
        refused: refused.iter().map(|denied| denied.path.clone()).collect(),
        hosts,
        sandbox: Value::Object(fields.collect()),
        toml,
    }
}

fn toml_value(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(Value::to_string).collect();
            format!("[{}]", items.join(", "))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pegboard_model::SandboxMode;

    #[test]
    fn a_proposal_is_a_table_for_the_config_file() {
        let hosts = ["a.example:443", "a.example:80", "b:9"]
            .map(str::to_owned)
            .to_vec();
        let sandbox = Sandbox {
            read: vec!["/data/a b".into()],
            network: network(&hosts),
            memory: Some(512 * 1024 * 1024),
            ..Sandbox::of_mode(SandboxMode::Strict)
        };
        let name = ServerName::parse("files").unwrap();
        let found = proposal(&name, &sandbox, &[], hosts, &Ok(3));
        assert_eq!(
            found.toml,
            "[servers.files.sandbox]\nmode = \"strict\"\nread = [\"/data/a b\"]\n\
             network = [\"a.example\", \"b:9\"]\nmemory = \"512 MB\""
        );
        assert_eq!(
            found.outcome,
            "server `files` works in mode `strict`: 3 tools"
        );
        assert_eq!(network(&[]), SandboxNetwork::Off);
    }
}
