//! Logs of the real program: JSON without a terminal, only on standard error, off by default.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::collector::Collector;
use crate::serving::Serving;
use crate::support::Home;

fn machine() -> Home {
    let home = Home::new();
    home.add_example("example");
    home.add("broken", "false", &[], "");
    home
}

/// Returns the log lines; commands also write notes to standard error.
fn events(stderr: &str) -> Vec<Value> {
    let lines = stderr.lines().filter(|line| line.starts_with("{\"time\""));
    lines
        .map(|line| serde_json::from_str(line).expect("a line is one JSON object"))
        .collect()
}

fn of_name<'a>(events: &'a [Value], name: &str) -> Vec<&'a Value> {
    events
        .iter()
        .filter(|event| event["event"] == name)
        .collect()
}

#[test]
fn r_obs_01_every_event_has_its_name_its_fields_and_the_id_of_its_trace() {
    let home = machine();
    let run = home
        .run(&["refresh", "--all", "--log-level", "info"])
        .exits(3);
    let events = events(&run.stderr);
    let started = of_name(&events, "tools.discovery.started");
    assert_eq!(started.len(), 1, "{}", run.stderr);
    assert_eq!(started[0]["servers"], 2);
    let succeeded = of_name(&events, "tools.discovery.server.success");
    assert_eq!(succeeded[0]["server"], "example");
    assert_eq!(succeeded[0]["tools"], 16);
    assert!(succeeded[0]["duration_ms"].is_number());
    let failed = of_name(&events, "tools.discovery.server.failed");
    assert_eq!(failed[0]["server"], "broken");
    assert_eq!(failed[0]["level"], "warn");
    assert!(
        failed[0]["error"]
            .as_str()
            .is_some_and(|error| !error.is_empty())
    );
    let updated = of_name(&events, "tools.registry.updated");
    assert_eq!(updated[0]["static_tools"], 0);
    assert_eq!(updated[0]["mcp_tools"], 16);
    for event in &events {
        for key in ["time", "level", "target", "event"] {
            assert!(event[key].is_string(), "{key} of {event}");
        }
        let trace = event["trace"].as_str().unwrap_or_default();
        let is_hex = trace.bytes().all(|byte| byte.is_ascii_hexdigit());
        assert!(trace.len() == 32 && is_hex, "{event}");
    }
    let traces: BTreeSet<_> = [started, succeeded, failed]
        .iter()
        .map(|events| events[0]["trace"].as_str())
        .collect();
    assert_eq!(traces.len(), 1, "one refresh is one trace: {}", run.stderr);
}

#[test]
fn r_obs_01_a_removed_server_and_a_new_configuration_are_logged() {
    let home = machine();
    let mut serving = Serving::start(&home, &["--log-level", "info"]);
    serving.call("list_available_tools", json!({}));
    serving.running.wait_for("tools.discovery.server.success");
    home.write("config/config.toml", "# no servers\n");
    serving.running.wait_for("tools.registry.server.removed");
    serving.running.wait_for("config.reloaded");
    serving.stop();
    let events = events(&serving.running.output());
    let removed = of_name(&events, "tools.registry.server.removed");
    let example = removed.iter().find(|event| event["server"] == "example");
    assert_eq!(example.expect("it was removed")["removed"], 16);
}

#[test]
fn r_obs_01_log_lines_carry_the_exported_trace_id() {
    let collector = Collector::start();
    let mut home = machine();
    home.set("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url);
    let run = home
        .run(&["refresh", "example", "--log-level", "info"])
        .ok();
    let events = events(&run.stderr);
    let logged = of_name(&events, "tools.discovery.server.success")[0]["trace"].clone();
    assert_eq!(logged, collector.wait_for("tools/list example").trace);
}

#[test]
fn r_obs_01_logs_are_off_by_default_and_never_on_standard_output() {
    let mut home = machine();
    let quiet = home.run(&["refresh", "--all"]).exits(3);
    assert_eq!(
        events(&quiet.stderr),
        Vec::<Value>::new(),
        "{}",
        quiet.stderr
    );
    home.set("PEGBOARD_LOG", "debug");
    let loud = home.run(&["refresh", "--all", "--force"]).exits(3);
    assert!(!events(&loud.stderr).is_empty(), "{}", loud.stderr);
    assert_eq!(events(&loud.stdout), Vec::<Value>::new());
    // The flag takes precedence over the variable, the variable over the configuration.
    let off = home.run(&["refresh", "--all", "--force", "--log-level", "off"]);
    assert_eq!(events(&off.stderr), Vec::<Value>::new(), "{}", off.stderr);
    home.set("PEGBOARD_LOG_FORM", "human");
    let human = home.run(&["refresh", "example", "--force"]).ok();
    assert!(
        human.stderr.contains("tools.discovery.server.success"),
        "{}",
        human.stderr
    );
    assert_eq!(
        events(&human.stderr),
        Vec::<Value>::new(),
        "{}",
        human.stderr
    );
}

#[test]
fn r_obs_01_logs_can_be_configured_and_an_invalid_level_is_reported() {
    let home = machine();
    let servers = home.config();
    let config = format!("[settings]\nlog_level = \"info\"\n{servers}");
    home.write("config/config.toml", &config);
    let run = home.run(&["refresh", "example", "--force"]).ok();
    assert!(!events(&run.stderr).is_empty(), "{}", run.stderr);
    let wrong = home.run(&["refresh", "--log-level", "loud"]).exits(2);
    assert!(wrong.stderr.contains("`loud`"), "{}", wrong.stderr);
    let config = format!("[settings]\nlog_level = \"loud\"\n{servers}");
    home.write("config/config.toml", &config);
    let run = home.run(&["refresh", "example"]).ok();
    assert!(run.stderr.contains("logs are off"), "{}", run.stderr);
}

#[test]
fn r_obs_01_over_stdio_logs_stay_off_the_protocol() {
    let home = machine();
    let line = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"example__echo","arguments":{"text":"hi"}}}"#;
    let input = format!("{line}\n{call}\n");
    let run = home
        .run_with_input(&["stdio", "--log-level", "trace"], &input)
        .ok();
    for line in run.stdout.lines() {
        let message: Value = serde_json::from_str(line).expect("a message of the protocol");
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
    }
    let logged = events(&run.stderr);
    assert_eq!(
        of_name(&logged, "tools.call.finished").len(),
        1,
        "{}",
        run.stderr
    );
}
