//! Every method of the clients, and their errors.

use serde_json::{Value, json};

use crate::packages::{BOTH, Machine};

/// Runs steps in all languages. Each step is a method with arguments; its outcome is a value or an error.
#[track_caller]
fn check(open: Value, steps: Value, assert: impl Fn(&Machine, &[Value])) {
    for language in BOTH {
        let Some(machine) = Machine::new() else {
            return;
        };
        let input = json!({"open": open, "steps": steps});
        let printed = machine.run(language, "methods", &input);
        println!("{language:?}: {printed}");
        assert(&machine, printed.as_array().expect("a list"));
        machine.home.assert_nothing_runs();
    }
}

#[test]
fn r_lib_02_reads_discover_a_new_configuration_first() {
    let steps = json!([
        ["search", "add two numbers"],
        ["describe", "example__add_numbers"],
        ["contextSummary"],
        ["definitions", "anthropic", "meta"],
        ["definitions", "openai", "all"],
    ]);
    check(json!({}), steps, |_, printed| {
        assert_eq!(printed[0]["value"][0], "example__add_numbers");
        assert_eq!(printed[1]["value"], "add_numbers(a: number, b: number)");
        let summary = printed[2]["value"].as_str().expect("a text");
        assert!(summary.contains("16 tools"), "{summary}");
        assert_eq!(printed[3]["value"], 5);
        assert_eq!(printed[4]["value"], crate::support::EXAMPLE_TOOLS + 1);
    });
}

#[test]
fn r_lib_02_a_tools_own_error_is_a_value_and_a_refusal_is_an_exception() {
    let steps = json!([
        ["call", "example__add_numbers", {"a": 1, "b": 2}],
        ["call", "example__convert_units", {"value": 1, "from": "metre", "to": "gram"}],
        ["call", "example__ad_numbers", {}],
        ["call", "example__add_numbers", {"a": "x"}],
        ["definitions", "acme", "meta"],
    ]);
    check(json!({}), steps, |_, printed| {
        assert_eq!(
            printed[0]["value"],
            json!({"isError": false, "code": null, "text": "{\"sum\":3}"})
        );
        let code = |step: usize| printed[step]["error"]["code"].clone();
        assert_eq!(printed[1]["value"]["isError"], true, "{printed:?}");
        assert_eq!(printed[1]["value"]["code"], "TOOL_FAILED");
        assert_eq!(code(2), "TOOL_UNKNOWN");
        assert_eq!(printed[2]["error"]["nearest"][0], "example__add_numbers");
        assert_eq!(code(3), "ARGS_INVALID");
        assert_eq!(code(4), "REQUEST_INVALID");
        for failed in &printed[2..5] {
            let remedy = failed["error"]["remedy"].as_str();
            assert!(remedy.is_some_and(|remedy| !remedy.is_empty()), "{failed}");
        }
    });
}

#[test]
fn r_lib_02_failures_to_open_say_what_to_do() {
    for (open, code, text) in [
        (
            json!({"program": "/no/such/pegboard"}),
            "SPAWN_NOT_FOUND",
            "Install Pegboard",
        ),
        (json!({"program": "/bin/false"}), "SPAWN_FAILED", "it ended"),
        (
            json!({"project": "/no/such/project"}),
            "CONFIG_IO",
            "does not exist",
        ),
        (
            json!({"url": "http://127.0.0.1:1"}),
            "NOT_RUNNING",
            "cannot reach",
        ),
        (
            json!({"url": "box.lan"}),
            "REQUEST_INVALID",
            "is not the URL",
        ),
    ] {
        check(open, json!([["search", "x"]]), |_, printed| {
            let error = &printed[0]["error"];
            assert_eq!(error["code"], code, "{printed:?}");
            let shown = error["shown"].as_str().unwrap_or_default();
            assert!(shown.contains(text) && shown.contains(code), "{shown}");
        });
    }
}

#[test]
fn r_lib_02_a_running_pegboard_is_used_and_keeps_running() {
    for language in BOTH {
        let Some(machine) = Machine::new() else {
            return;
        };
        let mut serve = machine.home.start(&["serve", "--json", "--port", "0"]);
        serve.wait_for("\"reused\"");
        let document = serve.output();
        let start = document.find('{').expect("a document");
        let document: Value = serde_json::from_str(&document[start..]).expect("JSON");
        let url = document["dashboard"]
            .as_str()
            .expect("a URL")
            .trim_end_matches('/')
            .to_owned();
        let input = json!({"open": {}, "steps": [["url"], ["search", "add"]]});
        let printed = machine.run(language, "methods", &input);
        assert_eq!(printed[0]["value"], url, "{printed}");
        assert!(printed[1]["value"][0].is_string(), "{printed}");
        // It is still there, and wrong tokens are refused with the code.
        let wrong = json!({"open": {"url": url, "token": "wrong"}, "steps": [["search", "x"]]});
        let printed = machine.run(language, "methods", &wrong);
        assert_eq!(printed[0]["error"]["code"], "TOKEN_WRONG", "{printed}");
        // Another configuration is not served by it.
        machine.home.write("other/config.toml", "");
        let configured = machine.home.path("other").display().to_string();
        let other = json!({"open": {"configDir": configured}, "steps": [["url"]]});
        let printed = machine.run(language, "methods", &other);
        assert_ne!(printed[0]["value"], url, "{printed}");
        serve.signal("-TERM");
        assert!(serve.wait().success());
        machine.home.assert_nothing_runs();
    }
}
