//! `pegboard stdio`: a client that starts Pegboard itself.

use serde_json::{Value, json};

use crate::support::Home;

pub(super) fn conversation(requests: &[Value]) -> String {
    let opening = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"},
    }});
    let opened = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let lines = [opening, opened]
        .into_iter()
        .chain(requests.iter().cloned());
    lines.map(|line| format!("{line}\n")).collect()
}

pub(super) fn call(id: u32, tool: &str, arguments: Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

#[test]
fn r_gate_01_stdio_answers_everything_and_ends_with_its_client() {
    let home = Home::with_example();
    let input = conversation(&[
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
        call(2, "example__add_numbers", json!({"a": 1, "b": 2})),
    ]);
    let run = home.run_with_input(&["stdio"], &input).ok();
    let mut answers: Vec<Value> = run
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("nothing but protocol on stdout"))
        .collect();
    answers.retain(|answer| answer.get("id").is_some());
    answers.sort_by_key(|answer| answer["id"].as_u64());
    assert_eq!(answers.len(), 3, "{}", run.stdout);
    assert_eq!(answers[0]["result"]["serverInfo"]["name"], "pegboard");
    assert_eq!(
        answers[1]["result"]["tools"].as_array().map(Vec::len),
        Some(4)
    );
    assert_eq!(answers[2]["result"]["structuredContent"], json!({"sum": 3}));
    home.assert_nothing_runs();
}

#[test]
fn r_gate_01_listing_over_stdio_starts_no_server() {
    let home = Home::with_example();
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let search = call(2, "search_tools", json!({"query": "add numbers"}));
    let before = home.run(&["logs", "example"]).stdout;
    let run = home
        .run_with_input(&["stdio"], &conversation(&[list, search]))
        .ok();
    assert!(
        run.stdout.contains("example__add_numbers"),
        "{}",
        run.stdout
    );
    assert_eq!(home.run(&["logs", "example"]).stdout, before);
}

#[test]
fn r_gate_02_a_profile_is_chosen_by_its_name() {
    let home = Home::with_example();
    let profiles = "[profiles.work]\nmode = 'direct'\nservers = ['example']\nprefix = false\n";
    home.write(
        "config/config.toml",
        &format!("{}{profiles}", home.config()),
    );
    let input = conversation(&[
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
        call(2, "add_numbers", json!({"a": 1, "b": 2})),
    ]);
    let run = home
        .run_with_input(&["stdio", "--profile", "work"], &input)
        .ok();
    assert!(
        run.stdout.contains("\"name\":\"add_numbers\""),
        "{}",
        run.stdout
    );
    assert!(!run.stdout.contains("call_tool"), "{}", run.stdout);
    assert!(
        run.stdout.contains("\"structuredContent\":{\"sum\":3}"),
        "{}",
        run.stdout
    );

    let run = home
        .run_with_input(&["stdio", "--profile", "wrk"], &input)
        .exits(7);
    assert_eq!(run.stdout, "");
    assert!(
        run.stderr.contains("PROFILE_UNKNOWN") && run.stderr.contains("work"),
        "{}",
        run.stderr
    );
}
