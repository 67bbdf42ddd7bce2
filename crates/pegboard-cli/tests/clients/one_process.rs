//! One process per server, for any number of clients.

use pegboard_testkit::{Script, starts_in};
use serde_json::json;

use crate::machine::Machine;
use crate::program::{Client, Sdk};

#[track_caller]
fn check(mode: &str) {
    let Some(machine) = Machine::here() else {
        return;
    };
    let counts = machine.home.path("starts");
    let mut script = Script::new().tools(["work"]);
    script.count_file = Some(counts.clone());
    // Every client calls before the server has responded to the first one.
    script.start_delay_ms = 500;
    machine.home.add_script("slow", &script, "");
    machine.home.run(&["refresh", "--all"]).ok();
    let before = starts_in(&counts).len();
    let serving = machine.serve();
    let input = json!({"mode": mode, "lazy": machine.address(Some(&serving), "lazy")});
    let seen = Client::run(&machine, Sdk::Python, "crowd", &input);
    let answers = seen["answers"].as_array().cloned().unwrap_or_default();
    assert_eq!(answers.len(), 10, "{seen}");
    let expected = r#"{"tool":"work","arguments":{"text":"x"}}"#;
    assert!(
        answers.iter().all(|response| response == expected),
        "{seen}"
    );
    assert_eq!(starts_in(&counts).len() - before, 1, "one more process");
    serving.stop();
    machine.home.assert_nothing_runs();
}

#[test]
fn r_gate_01_ten_modern_clients_start_one_process() {
    check("auto");
}

#[test]
fn r_gate_01_ten_legacy_clients_start_one_process() {
    check("legacy");
}
