//! Spans of the real program, as a collector receives them.

use pegboard_testkit::Script;
use serde_json::{Value, json};

use crate::collector::{Collector, ReceivedSpan};
use crate::serving::Serving;
use crate::support::Home;

/// A machine that exports spans, with the example server, a server with an `ask` policy, and a broken server.
fn machine(collector: &Collector) -> Home {
    let mut home = Home::new();
    home.set("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url);
    home.add_example("example");
    home.add_script(
        "strict",
        &Script::new().tools(["wipe"]),
        "policy = \"deny\"\n",
    );
    home.add("broken", "false", &[], "");
    home
}

#[track_caller]
fn check(span: &ReceivedSpan, expected: &Value) {
    for (key, value) in expected.as_object().expect("an object") {
        assert_eq!(&span.attributes[key], value, "{key} of {span:?}");
    }
}

#[test]
fn r_obs_02_discovery_lookup_search_policy_and_call_reach_a_collector() {
    let collector = Collector::start();
    let home = machine(&collector);
    let mut serving = Serving::start(&home, &[]);
    serving.call("list_available_tools", json!({}));
    serving.call("search_tools", json!({"query": "add two numbers"}));
    let response = serving.call_tool("example/add_numbers", json!({"a": 1, "b": 2}));
    assert_eq!(response["result"]["structuredContent"], json!({"sum": 3}));
    let denied = serving.call_tool("strict/wipe", json!({}));
    assert_eq!(denied["result"]["isError"], true, "{denied}");
    serving.stop();

    let discovery = collector.wait_for("tools/list example");
    check(
        &discovery,
        &json!({
            "mcp.method.name": "tools/list", "pegboard.server": "example", "pegboard.tool_count": 16,
            "pegboard.cache": "miss", "pegboard.outcome": "ok", "network.transport": "pipe",
        }),
    );
    let names = discovery.attributes["pegboard.tool_names"].as_array();
    assert!(names.is_some_and(|names| names.contains(&json!("add_numbers"))));
    assert!(discovery.attributes["pegboard.duration_ms"].is_number());
    let broken = collector.wait_for("tools/list broken");
    assert!(broken.is_error, "{broken:?}");
    assert_eq!(
        broken.attributes["error.type"],
        broken.attributes["pegboard.outcome"]
    );

    let lookup = collector.wait_for("catalog");
    let count = |key: &str| lookup.attributes[key].as_u64().unwrap_or(u64::MAX);
    assert_eq!(
        count("pegboard.cache_hits") + count("pegboard.cache_misses"),
        3
    );

    let search = collector.wait_for("search tools");
    let found = search.attributes["pegboard.tool_names"].as_array();
    assert!(found.is_some_and(|found| found.contains(&json!("example__add_numbers"))));
    assert!(
        !search
            .attributes
            .contains_key("gen_ai.retrieval.query.text")
    );

    let call = collector.wait_for("tools/call add_numbers");
    check(
        &call,
        &json!({
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "add_numbers",
            "pegboard.server": "example", "pegboard.tool": "example__add_numbers",
            "pegboard.server_started": true, "pegboard.outcome": "ok", "mcp.method.name": "tools/call",
        }),
    );
    let policy = collector.wait_for("policy example__add_numbers");
    check(
        &policy,
        &json!({"pegboard.decision": "allow", "pegboard.outcome": "ok"}),
    );
    let refused = collector.wait_for("policy strict__wipe");
    check(
        &refused,
        &json!({"pegboard.decision": "deny", "pegboard.outcome": "POLICY_DENIED"}),
    );

    // One client request is one tree: the request, the call below it, the policy below the call.
    let spans = collector.spans();
    let request = spans.iter().find(|span| span.id == call.parent);
    let request = request.expect("the call's parent is there");
    assert_eq!(request.name, "tools/call call_tool");
    assert_eq!(policy.parent, call.id);
    for span in [&call, &policy] {
        assert_eq!(span.trace, request.trace);
    }
    assert_eq!(request.parent, "");
    // No span contains contents.
    let whole = format!("{spans:?}");
    assert!(
        !whole.contains("two numbers") && !whole.contains("\"sum\""),
        "{whole}"
    );
    home.assert_nothing_runs();
}

#[test]
fn r_obs_02_arguments_that_do_not_fit_are_not_traced_as_a_tool_that_failed() {
    let collector = Collector::start();
    let home = machine(&collector);
    let mut serving = Serving::start(&home, &[]);
    let refused = serving.call_tool("example/add_numbers", json!({"a": "one"}));
    assert_eq!(refused["result"]["isError"], true, "{refused}");
    serving.call("example__add_numbers", json!({"a": "one"}));
    serving.call("search_tools", json!({}));
    let impossible = json!({"from": "2026-13-45", "to": "2026-01-01"});
    serving.call("example__date_difference", impossible);
    serving.stop();
    for (request, outcome) in [
        ("tools/call call_tool", "ARGS_INVALID"),
        ("tools/call example__add_numbers", "ARGS_INVALID"),
        ("tools/call search_tools", "ARGS_INVALID"),
        // This one ran and failed.
        ("tools/call example__date_difference", "TOOL_FAILED"),
    ] {
        let span = collector.wait_for(request);
        assert_eq!(span.attributes["pegboard.outcome"], outcome, "{span:?}");
        assert!(span.is_error, "{span:?}");
    }
    home.assert_nothing_runs();
}

#[test]
fn r_obs_02_fetched_and_cached_lists_are_distinguished() {
    let collector = Collector::start();
    let home = machine(&collector);
    home.run(&["refresh", "example"]).ok();
    assert_eq!(
        collector.wait_for("tools/list example").attributes["pegboard.cache"],
        "miss"
    );
    home.run(&["up", "--once"]).exits(3);
    let uses: Vec<Value> = (collector.spans().into_iter())
        .filter(|span| span.name == "tools/list example")
        .map(|span| span.attributes["pegboard.cache"].clone())
        .collect();
    assert_eq!(uses, [json!("miss"), json!("hit")]);
}

#[test]
fn r_obs_03_contents_are_exported_only_when_enabled() {
    let collector = Collector::start();
    let home = machine(&collector);
    let config = format!("[trace]\ncapture_content = true\n{}", home.config());
    home.write("config/config.toml", &config);
    home.run(&["call", "example/echo", "text=hello there"]).ok();
    let call = collector.wait_for("tools/call echo");
    let arguments = call.attributes["gen_ai.tool.call.arguments"].to_string();
    let result = call.attributes["gen_ai.tool.call.result"].to_string();
    assert!(
        arguments.contains("hello there") && result.contains("hello there"),
        "{call:?}"
    );
}

#[test]
fn r_obs_02_a_command_sends_its_spans_before_it_ends() {
    let collector = Collector::start();
    let home = machine(&collector);
    home.run(&["call", "example/echo", "text=hi"]).ok();
    let names: Vec<String> = collector
        .spans()
        .into_iter()
        .map(|span| span.name)
        .collect();
    // No waiting: the spans are there when the command exits.
    for wanted in [
        "tools/list example",
        "tools/call echo",
        "policy example__echo",
    ] {
        assert!(
            names.iter().any(|name| name == wanted),
            "{wanted}: {names:?}"
        );
    }
    let failed = home.run(&["call", "example/no_such_tool"]).exits(7);
    assert!(!failed.stderr.contains("traces"), "{}", failed.stderr);
}

#[test]
fn r_obs_02_a_client_over_stdio_is_traced_until_its_end() {
    let collector = Collector::start();
    let home = machine(&collector);
    let line = |value: Value| format!("{value}\n");
    let opening = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"},
    }});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "example__echo", "arguments": {"text": "hi"},
    }});
    let input = line(opening) + &line(call);
    let run = home.run_with_input(&["stdio", "--alone"], &input).ok();
    assert!(
        run.stdout.lines().all(|line| line.starts_with('{')),
        "{}",
        run.stdout
    );
    let request = (collector.spans().into_iter())
        .find(|span| span.name == "tools/call example__echo")
        .expect("the last request was sent before the end");
    check(
        &request,
        &json!({"network.transport": "pipe", "mcp.protocol.version": "2025-11-25"}),
    );
    assert_eq!(collector.wait_for("tools/call echo").parent, request.id);
    assert!(
        collector
            .spans()
            .iter()
            .any(|span| span.name == "initialize")
    );
}
