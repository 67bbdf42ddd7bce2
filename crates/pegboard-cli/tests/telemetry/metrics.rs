//! `/metrics` of the real program.

use pegboard_testkit::Script;
use serde_json::json;

use crate::serving::Serving;
use crate::support::{Home, http, mcp};

fn machine() -> Home {
    let home = Home::new();
    home.add_example("example");
    home.add_script(
        "failing",
        &Script::new()
            .tools(["fail"])
            .with(|script| script.call.is_error = true),
        "",
    );
    home.add("broken", "false", &[], "");
    home
}

/// Returns the value of a sample by its name and labels.
#[track_caller]
fn sample(page: &str, name: &str) -> f64 {
    let line = page.lines().find_map(|line| line.strip_prefix(name));
    let value = line.and_then(|rest| rest.trim().parse().ok());
    value.unwrap_or_else(|| panic!("no `{name}` in\n{page}"))
}

#[test]
fn r_obs_04_metrics_report_calls_errors_durations_caches_servers_and_savings() {
    let home = machine();
    let mut serving = Serving::start(&home, &[]);
    serving.call("list_available_tools", json!({}));
    serving.call("search_tools", json!({"query": "add"}));
    for _ in 0..3 {
        serving.call_tool("example/add_numbers", json!({"a": 1, "b": 2}));
    }
    serving.call_tool("failing/fail", json!({}));
    serving.call_tool("example/add_numbers", json!({"a": "x"}));
    serving.call_tool("missing/tool", json!({}));
    for _ in 0..2 {
        assert_eq!(
            mcp(&serving.url, &serving.token, "tools/list", json!({})).0,
            200
        );
    }
    let page = serving.metrics();
    for (name, expected) in [
        (
            "pegboard_calls_total{server=\"example\",outcome=\"ok\"}",
            3.0,
        ),
        (
            "pegboard_calls_total{server=\"example\",outcome=\"error\"}",
            1.0,
        ),
        (
            "pegboard_calls_total{server=\"failing\",outcome=\"error\"}",
            1.0,
        ),
        ("pegboard_errors_total{code=\"TOOL_FAILED\"}", 1.0),
        ("pegboard_errors_total{code=\"ARGS_INVALID\"}", 1.0),
        (
            "pegboard_call_duration_seconds_count{server=\"example\"}",
            4.0,
        ),
        ("pegboard_search_duration_seconds_count", 1.0),
        ("pegboard_servers_configured", 3.0),
        ("pegboard_server_running{server=\"example\"}", 1.0),
        ("pegboard_server_running{server=\"broken\"}", 0.0),
        ("pegboard_server_tools{server=\"example\"}", 16.0),
        ("pegboard_tools", 17.0),
    ] {
        assert_eq!(sample(&page, name), expected, "{name}");
    }
    assert!(sample(&page, "pegboard_server_failures{server=\"broken\"}") >= 1.0);
    assert!(sample(&page, "pegboard_discoveries_failed_total") >= 1.0);
    assert!(sample(&page, "pegboard_discovery_duration_seconds_count") >= 2.0);
    assert!(sample(&page, "pegboard_cache_lookups_total{result=\"hit\"}") >= 1.0);
    assert!(sample(&page, "pegboard_cache_lookups_total{result=\"miss\"}") >= 1.0);
    assert!(sample(&page, "pegboard_servers_running") >= 1.0);
    let per_list = sample(&page, "pegboard_tokens_saved_per_list");
    assert!(per_list > 100.0, "{per_list}");
    assert_eq!(sample(&page, "pegboard_tokens_saved_total"), 2.0 * per_list);
    // A second scrape counts nothing twice.
    assert_eq!(
        sample(&serving.metrics(), "pegboard_tokens_saved_total"),
        2.0 * per_list
    );
    serving.stop();
}

#[test]
fn r_sec_03_metrics_are_behind_the_token() {
    let home = machine();
    let mut serving = Serving::start(&home, &[]);
    let url = serving.url.replace("/mcp", "/metrics");
    assert_eq!(http(&url, "GET", &[], "").0, 401);
    let wrong = [("Authorization", "Bearer wrong")];
    assert_eq!(http(&url, "GET", &wrong, "").0, 401);
    let bearer = format!("Bearer {}", serving.token);
    let evil = [
        ("Authorization", bearer.as_str()),
        ("Origin", "http://evil.example"),
    ];
    assert_eq!(http(&url, "GET", &evil, "").0, 403);
    assert!(serving.metrics().starts_with("# HELP"));
    serving.stop();
}
