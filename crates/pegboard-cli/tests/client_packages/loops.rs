//! `runTools` with the official SDKs: every call has a result, and the scripted model refuses anything else.

use pegboard_testkit::{ModelScript, ModelServer};
use serde_json::{Value, json};

use crate::packages::{BOTH, Language, Machine};

const APIS: [&str; 3] = ["anthropic", "openai-responses", "openai-chat"];

/// Runs a scripted conversation in all languages and APIs. `stop` is what the run reports for each API.
#[track_caller]
fn check(
    turns: impl Fn(&str) -> Value,
    options: Value,
    stop: [&str; 3],
    assert: impl Fn(&Value, &ModelServer),
) {
    for language in BOTH {
        let Some(machine) = Machine::new() else {
            return;
        };
        for (api, stop) in APIS.iter().zip(stop) {
            for is_async in [false, true] {
                if is_async && language == Language::JavaScript {
                    continue;
                }
                let script = ModelScript::of(json!({"turns": turns(api)}));
                let model = ModelServer::start(script);
                let url = match *api {
                    "anthropic" => model.anthropic_url(),
                    _ => model.openai_url(),
                };
                let mut input = json!({"api": api, "url": url, "async": is_async});
                for (key, value) in options.as_object().expect("options") {
                    input[key] = value.clone();
                }
                let run = machine.run(language, "run_tools", &input);
                println!("{language:?} {api} {is_async}: {run}");
                model.assert_satisfied();
                assert_eq!(run["stop"], stop, "{language:?} {api}: {run}");
                assert(&run, &model);
            }
        }
        machine.home.assert_nothing_runs();
    }
}

fn of_calls(run: &Value, key: &str) -> Vec<Value> {
    let calls = run["calls"].as_array().expect("calls");
    calls.iter().map(|call| call[key].clone()).collect()
}

fn add(a: u32, b: u32) -> Value {
    let arguments = json!({"tool_name": "example__add_numbers", "arguments": {"a": a, "b": b}});
    json!({"name": "call_tool", "input": arguments})
}

#[test]
fn r_lib_02_parallel_calls_and_errors_become_results_in_order() {
    let turns = |api: &str| {
        let broken = match api {
            // Anthropic's arguments are always JSON.
            "anthropic" => json!({"name": "call_tool", "input": {}}),
            _ => json!({"name": "call_tool", "raw_input": "{\"tool_name\": \"exam"}),
        };
        let unknown = json!({"name": "call_tool", "input": {"tool_name": "nope", "arguments": {}}});
        json!([
            {"text": "I search.", "calls": [{"name": "search_tools", "input": {"query": "add numbers"}}]},
            {"thinking": "Five.", "calls": [add(1, 2), unknown, {"name": "invented", "input": {}}, broken, add(3, 4)]},
            {"text": "3 and 7."},
        ])
    };
    let stop = ["end_turn", "completed", "stop"];
    check(turns, json!({}), stop, |run, model| {
        assert_eq!(run["text"], "3 and 7.");
        assert_eq!(run["rounds"], 3);
        let errors = [false, false, true, true, true, false].map(Value::from);
        assert_eq!(of_calls(run, "isError"), errors);
        let codes = of_calls(run, "code");
        assert_eq!(codes[2..4], [json!("TOOL_UNKNOWN"), json!("TOOL_UNKNOWN")]);
        let texts = of_calls(run, "text");
        assert!(texts[0].to_string().contains("example__add_numbers"));
        assert_eq!(texts[1], r#"{"sum":3}"#);
        assert_eq!(texts[5], r#"{"sum":7}"#);
        let tools = of_calls(run, "tool");
        assert_eq!(tools[1], "example__add_numbers");
        // The definitions do not change between requests, so that prompt caches stay valid.
        let requests = model.requests();
        assert_eq!(requests[0].body["tools"], requests[2].body["tools"]);
        assert_eq!(requests[0].body["tools"].as_array().map(Vec::len), Some(5));
    });
}

#[test]
fn r_lib_02_a_response_that_was_cut_off_leaves_no_call_without_a_result() {
    let turns = |api: &str| {
        let stop = match api {
            "anthropic" => "max_tokens",
            "openai-responses" => "max_output_tokens",
            _ => "length",
        };
        json!([{"text": "I add", "calls": [add(1, 2)], "stop": stop}, {"text": "Again."}])
    };
    let stop = ["max_tokens", "max_output_tokens", "length"];
    check(turns, json!({"then": "Go on."}), stop, |run, _| {
        assert_eq!(run["rounds"], 1);
        assert_eq!(of_calls(run, "code"), ["CANCELLED"]);
        assert_eq!(run["then"], "Again.");
    });
}

#[test]
fn r_lib_02_the_number_of_requests_is_limited_and_the_conversation_can_continue() {
    let turns = |_: &str| json!([{"calls": [add(1, 2)]}, {"calls": [add(3, 4), add(5, 6)]}, {"text": "Done."}]);
    let options = json!({"maxRounds": 2, "then": "Finish."});
    check(turns, options, ["max_rounds"; 3], |run, _| {
        assert_eq!(run["rounds"], 2);
        assert_eq!(
            of_calls(run, "isError"),
            [false, true, true].map(Value::from)
        );
        assert_eq!(run["then"], "Done.");
    });
}

#[test]
fn r_lib_02_a_refusal_ends_the_run() {
    let turns = |api: &str| match api {
        "anthropic" => json!([{"stop": "refusal"}, {"text": "Yes."}]),
        "openai-responses" => json!([{"text": "No", "stop": "content_filter"}, {"text": "Yes."}]),
        _ => json!([{"text": "No.", "stop": "refusal"}, {"text": "Yes."}]),
    };
    let stop = ["refusal", "content_filter", "refusal"];
    check(turns, json!({"then": "Why?"}), stop, |run, _| {
        assert_eq!(run["rounds"], 1);
        assert_eq!(run["then"], "Yes.");
    });
}

#[test]
fn r_lib_02_all_tools_and_the_programs_own_run_by_their_names() {
    let turns = |_: &str| {
        let own = json!({"name": "order_status", "input": {"id": 7}});
        let failing = json!({"name": "order_status", "input": {"id": "x"}});
        let direct = json!({"name": "example__add_numbers", "input": {"a": 20, "b": 1}});
        json!([{"calls": [own, failing, direct]}, {"text": "Shipped."}])
    };
    let stop = ["end_turn", "completed", "stop"];
    let options = json!({"loading": "all", "own": true});
    check(turns, options, stop, |run, model| {
        let texts = of_calls(run, "text");
        assert!(texts[0].to_string().contains("shipped"), "{run}");
        assert!(texts[1].to_string().contains("no such order"), "{run}");
        assert_eq!(texts[2], r#"{"sum":21}"#);
        assert_eq!(
            of_calls(run, "isError"),
            [false, true, false].map(Value::from)
        );
        let tools = model.requests()[0].body["tools"].clone();
        // The example server's tools, `read_result`, and the program's own.
        let expected = crate::support::EXAMPLE_TOOLS + 2;
        assert_eq!(tools.as_array().map(Vec::len), Some(expected));
    });
}
