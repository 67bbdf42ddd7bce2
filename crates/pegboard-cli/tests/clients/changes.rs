//! A server that gets another tool while it runs: clients that list every tool are notified.

use serde_json::json;

use crate::machine::{ClientTransport, Machine};
use crate::program::{Client, Sdk};

#[track_caller]
fn check(sdk: Sdk, mode: &str, transport: ClientTransport) {
    for server in ["modern", "legacy"] {
        let Some(machine) = Machine::here() else {
            return;
        };
        machine.add_fixtures();
        machine.home.run(&["refresh", "--all"]).ok();
        let serving = (transport == ClientTransport::Http).then(|| machine.serve());
        let input = json!({
            "mode": mode,
            "direct": machine.address(serving.as_ref(), "direct"),
            "server": server,
        });
        let seen = Client::run(&machine, sdk, "changes", &input);
        let expected = json!({"grow": {"before": [], "after": [format!("{server}__grown")]}});
        assert_eq!(seen, expected, "{sdk:?}, {mode}, {transport:?}, {server}");
        if let Some(serving) = serving {
            serving.stop();
        }
        machine.home.assert_nothing_runs();
    }
}

#[test]
fn r_gate_02_r_gate_03_python_modern_is_notified_of_changes_over_stdio() {
    check(Sdk::Python, "auto", ClientTransport::Stdio);
}

#[test]
fn r_gate_02_r_gate_03_python_modern_is_notified_of_changes_over_http() {
    check(Sdk::Python, "auto", ClientTransport::Http);
}

#[test]
fn r_gate_02_r_gate_03_python_legacy_is_notified_of_changes_over_http() {
    check(Sdk::Python, "legacy", ClientTransport::Http);
}

#[test]
fn r_gate_02_r_gate_03_typescript_modern_is_notified_of_changes_over_http() {
    check(Sdk::TypeScript, "auto", ClientTransport::Http);
}

#[test]
fn r_gate_02_r_gate_03_typescript_v1_sdk_is_notified_of_changes_over_stdio() {
    check(Sdk::TypeScript, "first", ClientTransport::Stdio);
}
