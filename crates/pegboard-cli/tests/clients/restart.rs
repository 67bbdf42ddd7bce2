//! Restarts of Pegboard while clients are connected.

use serde_json::{Value, json};

use crate::machine::Machine;
use crate::program::{Client, Sdk};

/// What happens to the key of session ids between the two runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Stays,
    IsLost,
}

/// Calls, restarts Pegboard on the same port, and calls again with the same client.
fn restarted(sdk: Sdk, mode: &str, key: Key) -> Option<(Value, Machine)> {
    let machine = Machine::here()?;
    machine.add_fixtures();
    machine.home.run(&["refresh", "--all"]).ok();
    let first = machine.serve();
    let input = json!({"mode": mode, "lazy": machine.address(Some(&first), "lazy")});
    let mut client = Client::start(&machine, sdk, "restart", &input);
    assert_eq!(client.line(), "ready");
    let port = first.port();
    first.stop();
    if key == Key::IsLost {
        std::fs::remove_dir_all(machine.home.state()).expect("the state is forgotten");
    }
    let second = machine.serve_at(&port);
    assert_eq!(second.port(), port, "the same port again");
    client.send_line("go on");
    let seen = client.seen();
    drop(client);
    second.stop();
    machine.home.assert_nothing_runs();
    Some((seen, machine))
}

#[track_caller]
fn check(sdk: Sdk, mode: &str, expected: &Value) {
    if let Some((seen, _machine)) = restarted(sdk, mode, Key::Stays) {
        assert_eq!(&seen, expected, "{sdk:?}, {mode}");
    }
}

#[test]
fn r_gate_01_a_python_session_outlives_a_restart() {
    check(Sdk::Python, "legacy", &json!({"before": "2", "after": "2"}));
}

#[test]
fn r_gate_01_a_restart_is_invisible_to_a_modern_python_client() {
    check(Sdk::Python, "auto", &json!({"before": "2", "after": "2"}));
}

#[test]
fn r_gate_01_a_typescript_session_outlives_a_restart_under_its_id() {
    let expected = json!({"before": "2", "after": "2", "same_session": true});
    check(Sdk::TypeScript, "legacy", &expected);
    check(Sdk::TypeScript, "first", &expected);
}

/// An unknown session gets a 404. Current SDKs do not start a new one: they report the error to their program, which
/// connects again.
#[track_caller]
fn check_lost(sdk: Sdk, mode: &str, expected: &str) {
    let Some((seen, machine)) = restarted(sdk, mode, Key::IsLost) else {
        return;
    };
    assert_eq!(seen["before"], "2", "{seen}");
    let failed = seen["after"]["failed"].as_str().unwrap_or_default();
    assert!(failed.contains(expected), "{sdk:?}, {mode}: {seen}");
    let serving = machine.serve();
    let input = json!({"mode": mode, "lazy": machine.address(Some(&serving), "lazy")});
    let mut client = Client::start(&machine, sdk, "restart", &input);
    assert_eq!(client.line(), "ready");
    client.send_line("go on");
    assert_eq!(client.seen()["after"], "2", "a new session works");
    drop(client);
    serving.stop();
    machine.home.assert_nothing_runs();
}

#[test]
fn r_gate_01_python_gets_an_error_for_a_lost_session() {
    check_lost(Sdk::Python, "legacy", "the session has ended");
}

#[test]
fn r_gate_01_typescript_gets_an_error_for_a_lost_session() {
    check_lost(Sdk::TypeScript, "legacy", "the session has ended");
    check_lost(Sdk::TypeScript, "first", "the session has ended");
}
