//! A server that gets another tool while it runs: clients that list every tool hear of it.

use serde_json::json;

use crate::machine::{Face, Machine};
use crate::program::{Client, Sdk};

#[track_caller]
fn check(sdk: Sdk, mode: &str, face: Face) {
    for server in ["modern", "legacy"] {
        let Some(machine) = Machine::here() else {
            return;
        };
        machine.add_fixtures();
        machine.home.run(&["refresh", "--all"]).ok();
        let serving = (face == Face::Http).then(|| machine.serve());
        let wish = json!({
            "mode": mode,
            "direct": machine.address(serving.as_ref(), "direct"),
            "server": server,
        });
        let seen = Client::run(&machine, sdk, "changes", &wish);
        let expected = json!({"grow": {"before": [], "after": [format!("{server}__grown")]}});
        assert_eq!(seen, expected, "{sdk:?}, {mode}, {face:?}, {server}");
        if let Some(serving) = serving {
            serving.stop();
        }
        machine.home.assert_nothing_runs();
    }
}

#[test]
fn r_gate_02_r_gate_03_python_modern_hears_of_changes_over_stdio() {
    check(Sdk::Python, "auto", Face::Stdio);
}

#[test]
fn r_gate_02_r_gate_03_python_modern_hears_of_changes_over_http() {
    check(Sdk::Python, "auto", Face::Http);
}

#[test]
fn r_gate_02_r_gate_03_python_legacy_hears_of_changes_over_http() {
    check(Sdk::Python, "legacy", Face::Http);
}

#[test]
fn r_gate_02_r_gate_03_typescript_modern_hears_of_changes_over_http() {
    check(Sdk::TypeScript, "auto", Face::Http);
}

#[test]
fn r_gate_02_r_gate_03_first_typescript_sdk_hears_of_changes_over_stdio() {
    check(Sdk::TypeScript, "first", Face::Stdio);
}
