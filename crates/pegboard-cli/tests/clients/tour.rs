//! Everything that a client does, with each SDK, in each era, over each transport.

use serde_json::{Value, json};

use crate::machine::{ClientTransport, Machine};
use crate::program::{Client, Sdk};

const MODERN: &str = "2026-07-28";
const LEGACY: &str = "2025-11-25";

/// A tour with one client; `mode` is how it chooses the revision, which must then be `revision`.
#[track_caller]
fn check(sdk: Sdk, mode: &str, transport: ClientTransport, revision: &str) {
    let Some(machine) = Machine::with_servers() else {
        return;
    };
    let serving = (transport == ClientTransport::Http).then(|| machine.serve());
    let input = json!({
        "mode": mode,
        "lazy": machine.address(serving.as_ref(), "lazy"),
        "notes": machine.notes(),
    });
    let seen = Client::run(&machine, sdk, "tour", &input);
    if let Some(serving) = serving {
        serving.stop();
    }
    machine.home.assert_nothing_runs();
    let mut wrong = Vec::new();
    if seen.get("failed").is_some() {
        wrong.push(format!("the client itself: {}", seen["failed"]));
    }
    for (step, expected) in exactly(revision, transport) {
        if seen[&step] != expected {
            wrong.push(format!("{step}: {} in place of {expected}", seen[&step]));
        }
    }
    for (step, pieces) in containing() {
        let text = match &seen[step] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let missing: Vec<_> = pieces
            .iter()
            .filter(|piece| !text.contains(**piece))
            .collect();
        if !missing.is_empty() {
            wrong.push(format!("{step}: no {missing:?} in {text}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{sdk:?}, {mode}, {transport:?}:\n{}",
        wrong.join("\n")
    );
}

/// Returns the exact expected results of steps.
fn exactly(revision: &str, transport: ClientTransport) -> Vec<(String, Value)> {
    let mut expected = vec![
        ("revision".to_owned(), json!(revision)),
        (
            "tools".to_owned(),
            json!([
                "search_tools",
                "list_available_tools",
                "get_tool_description",
                "call_tool",
                "call_readonly_tool"
            ]),
        ),
        ("everything: echo".to_owned(), json!("Echo: hé")),
        ("everything: progress".to_owned(), json!([1, 2])),
    ];
    for server in ["modern", "legacy"] {
        let mut add =
            |step: &str, value: Value| expected.push((format!("{server}: {step}"), value));
        let sum = |sum: i32| json!({"text": sum.to_string(), "structured": {"result": sum}, "is_error": false});
        add("call_tool", sum(5));
        add("by name", sum(23));
        add(
            "wrong arguments",
            json!({"is_error": true, "reason": "ARGS_INVALID"}),
        );
        add("unknown", json!(-32602));
        let steps = json!([[1, 3, "step 1"], [2, 3, "step 2"], [3, 3, "step 3"]]);
        add(
            "progress",
            json!({"received": steps, "text": "3 steps done"}),
        );
        let after = json!({"received": [[1, 1, "step 1"]], "text": "1 steps done by Ada"});
        add("progress after a question", after);
        add("cancel", json!("8"));
        let twice = |question: &str, response: &str| json!({"asked": [question, question], "by_name": response, "call_tool": response});
        let asks = format!("Server `{server}` asks: What is your name?");
        add("greet", twice(&asks, "Hello Ada"));
        add(
            "think",
            twice("What is the capital of France?", "The model says Paris"),
        );
        let mut folders = twice("roots", "file:///home/ada");
        // A legacy server has the roots of one session. A modern client over HTTP is a new client for each request, so
        // the second call gets the roots of the first.
        if server == "legacy" && revision == MODERN && transport == ClientTransport::Http {
            folders["asked"] = json!(["roots"]);
        }
        add("folders", folders);
        add("prompt", json!("Say hello to Bo"));
        add("read", json!("the first note"));
        add("read by template", json!("note number 7"));
    }
    expected
}

/// Returns texts that the results of steps must contain.
fn containing() -> Vec<(&'static str, Vec<&'static str>)> {
    let death = |server: &'static str| {
        let step = match server {
            "modern" => "modern: death",
            _ => "legacy: death",
        };
        let pieces = vec![
            r#""is_error":true"#,
            r#""code":"TOOL_UNAVAILABLE""#,
            r#""reason":"SERVER_EXITED""#,
            "ended with exit code 3",
            r#""again":"10""#,
        ];
        (step, pieces)
    };
    vec![
        (
            "search",
            vec![
                // The same tool of two servers shares a line.
                "modern__add",
                "legacy__add",
                "__add(a, b)",
                "Add two whole numbers",
            ],
        ),
        (
            "list",
            vec![
                "everything",
                "example",
                "legacy",
                "modern",
                "tools of 4 servers",
            ],
        ),
        ("describe", vec!["legacy__steps", "count", "notes"]),
        death("modern"),
        death("legacy"),
        (
            "prompts",
            vec![
                "modern__greeting",
                "legacy__greeting",
                "everything__simple-prompt",
            ],
        ),
        (
            "resources",
            vec![
                "pegboard://modern/note://one",
                "pegboard://legacy/note://one",
                "pegboard://everything/demo://",
            ],
        ),
        (
            "templates",
            vec![
                "pegboard://modern/note://numbered/{number}",
                "pegboard://legacy/note://numbered/{number}",
            ],
        ),
        ("everything: elicitation", vec!["Name: Ada"]),
        ("everything: sampling", vec!["Paris"]),
        ("everything: roots", vec!["file:///home/ada"]),
    ]
}

#[test]
fn r_gate_01_r_gate_03_python_auto_over_stdio() {
    check(Sdk::Python, "auto", ClientTransport::Stdio, MODERN);
}

#[test]
fn r_gate_01_r_gate_03_python_auto_over_http() {
    check(Sdk::Python, "auto", ClientTransport::Http, MODERN);
}

#[test]
fn r_gate_01_r_gate_03_python_legacy_over_stdio() {
    check(Sdk::Python, "legacy", ClientTransport::Stdio, LEGACY);
}

#[test]
fn r_gate_01_r_gate_03_python_legacy_over_http() {
    check(Sdk::Python, "legacy", ClientTransport::Http, LEGACY);
}

#[test]
fn r_gate_01_r_ctx_05_python_modern_over_stdio() {
    check(Sdk::Python, MODERN, ClientTransport::Stdio, MODERN);
}

#[test]
fn r_gate_01_r_ctx_05_python_modern_over_http() {
    check(Sdk::Python, MODERN, ClientTransport::Http, MODERN);
}

#[test]
fn r_gate_01_r_gate_03_typescript_auto_over_stdio() {
    check(Sdk::TypeScript, "auto", ClientTransport::Stdio, MODERN);
}

#[test]
fn r_gate_01_r_gate_03_typescript_auto_over_http() {
    check(Sdk::TypeScript, "auto", ClientTransport::Http, MODERN);
}

#[test]
fn r_gate_01_r_gate_03_typescript_legacy_over_stdio() {
    check(Sdk::TypeScript, "legacy", ClientTransport::Stdio, LEGACY);
}

#[test]
fn r_gate_01_r_gate_03_typescript_legacy_over_http() {
    check(Sdk::TypeScript, "legacy", ClientTransport::Http, LEGACY);
}

#[test]
fn r_gate_01_r_ctx_05_typescript_modern_over_http() {
    check(Sdk::TypeScript, MODERN, ClientTransport::Http, MODERN);
}

#[test]
fn r_gate_01_r_ctx_05_first_typescript_sdk_over_stdio() {
    check(Sdk::TypeScript, "first", ClientTransport::Stdio, LEGACY);
}

#[test]
fn r_gate_01_r_ctx_05_first_typescript_sdk_over_http() {
    check(Sdk::TypeScript, "first", ClientTransport::Http, LEGACY);
}
