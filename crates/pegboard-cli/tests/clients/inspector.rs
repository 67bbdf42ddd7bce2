//! The inspector's command line: one run per request, in each era that it supports.

use std::process::Command;

use serde_json::{Value, json};

use crate::machine::{ClientTransport, Machine, Serving, text};
use crate::support::Run;

/// The inspector's exit code for a tool error.
const TOOL_FAILED: i32 = 5;

struct Inspector<'a> {
    machine: &'a Machine,
    serving: Option<Serving>,
    era: &'a str,
}

impl Inspector<'_> {
    /// Makes one request of a profile.
    #[expect(clippy::disallowed_methods, reason = "starts a client")]
    fn run(&self, profile: &str, request: &[&str]) -> Run {
        let modules = self.machine.installed.join("clients/node_modules");
        let mut command = Command::new(self.machine.newer_node());
        command
            .arg(modules.join(".bin/mcp-inspector"))
            .arg("--cli")
            // Its own catalog of servers would be in the tester's home directory.
            .env("HOME", text(&self.machine.home.path("home")));
        match self.machine.address(self.serving.as_ref(), profile) {
            Value::String(url) => {
                command.args([url.as_str(), "--transport", "http"]);
            }
            target => {
                let variables = target["env"].as_object().into_iter().flatten();
                for (name, value) in variables {
                    let value = value.as_str().unwrap_or_default();
                    command.args(["-e".to_owned(), format!("{name}={value}")]);
                }
                let arguments = target["args"].as_array().into_iter().flatten();
                command
                    .args(target["command"].as_str())
                    .args(arguments.filter_map(Value::as_str));
            }
        }
        command.args(["--protocol-era", self.era]).args(request);
        Run::of(command, "")
    }

    #[track_caller]
    fn ok(&self, profile: &str, request: &[&str]) -> Value {
        self.run(profile, request).ok().json()
    }
}

#[track_caller]
fn check(era: &str, transport: ClientTransport) {
    let Some(machine) = Machine::here() else {
        return;
    };
    machine.add_fixtures();
    machine.home.run(&["refresh", "--all"]).ok();
    let inspector = Inspector {
        machine: &machine,
        serving: (transport == ClientTransport::Http).then(|| machine.serve()),
        era,
    };
    let tools = inspector.ok("lazy", &["--method", "tools/list"]);
    let names: Vec<_> = tools["tools"].as_array().into_iter().flatten().collect();
    assert_eq!(names.len(), 5, "{era} {transport:?}: {tools}");
    let call = ["--method", "tools/call", "--tool-name"];
    for server in ["modern", "legacy"] {
        let name = format!("tool_name={server}__add");
        let arguments = [
            "call_tool",
            "--tool-arg",
            &name,
            r#"arguments={"a":2,"b":3}"#,
        ];
        let sum = inspector.ok("lazy", &[&call[..], &arguments].concat());
        assert_eq!(sum["structuredContent"], json!({"result": 5}), "{server}");
        let prompt = format!("{server}__greeting");
        let arguments = [
            "--method",
            "prompts/get",
            "--prompt-name",
            &prompt,
            "--prompt-args",
            "name=Bo",
        ];
        let greeting = inspector.ok("lazy", &arguments);
        assert_eq!(
            greeting["messages"][0]["content"]["text"],
            "Say hello to Bo"
        );
        let uri = format!("pegboard://{server}/note://one");
        let note = inspector.ok("lazy", &["--method", "resources/read", "--uri", &uri]);
        assert_eq!(note["contents"][0]["text"], "the first note", "{server}");
    }
    let arguments = ["search_tools", "--tool-arg", "query=add two whole numbers"];
    let found = inspector.ok("lazy", &[&call[..], &arguments].concat());
    let found = found["content"][0]["text"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    assert!(found.contains("modern__add"), "{found}");
    let arguments = ["call_tool", "--tool-arg", "tool_name=modern__die"];
    let death = inspector
        .run("lazy", &[&call[..], &arguments].concat())
        .exits(TOOL_FAILED);
    assert_eq!(death.json()["structuredContent"]["reason"], "SERVER_EXITED");
    if transport == ClientTransport::Http {
        // The inspector calls only listed tools, so a tool's own name needs a profile that lists it.
        let arguments = ["legacy__add", "--tool-arg", "a=20", "b=3"];
        let sum = inspector.ok("direct", &[&call[..], &arguments].concat());
        assert_eq!(sum["structuredContent"], json!({"result": 23}));
    }
    if let Some(serving) = inspector.serving {
        serving.stop();
    }
    machine.home.assert_nothing_runs();
}

#[test]
fn r_gate_01_r_gate_02_inspector_legacy_over_stdio() {
    check("legacy", ClientTransport::Stdio);
}

#[test]
fn r_gate_01_r_gate_02_inspector_legacy_over_http() {
    check("legacy", ClientTransport::Http);
}

#[test]
fn r_gate_01_r_gate_02_inspector_modern_over_stdio() {
    check("modern", ClientTransport::Stdio);
}

#[test]
fn r_gate_01_r_gate_02_inspector_auto_over_http() {
    check("auto", ClientTransport::Http);
}
