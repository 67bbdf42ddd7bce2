//! `pegboard ask`, end to end.

use pegboard_testkit::{ModelServer, Script, wait_until_sync};
use serde_json::{Value, json};

use crate::scripted::{BOTH, KEY, ModelApi, model};
use crate::support::{Home, Run, TIMEOUT};
use crate::terminal::AtTerminal;

/// A machine whose model is scripted.
fn machine(api: ModelApi, server: &ModelServer) -> Home {
    let mut home = Home::with_example();
    point_at(&mut home, api, server);
    home
}

fn point_at(home: &mut Home, api: ModelApi, server: &ModelServer) {
    match api {
        ModelApi::Anthropic => {
            home.set("ANTHROPIC_API_KEY", KEY);
            home.set("ANTHROPIC_BASE_URL", &server.anthropic_url());
        }
        ModelApi::OpenAi => {
            home.set("OPENAI_API_KEY", KEY);
            home.set("OPENAI_BASE_URL", &server.openai_url());
        }
    }
}

fn sum() -> Value {
    json!([
        {"text": "I add.", "calls": [
            {"name": "call_tool", "input": {"tool_name": "example__add_numbers", "arguments": {"a": 2, "b": 40}}},
            {"name": "call_tool", "input": {"tool_name": "example__nothing"}}]},
        {"text": "It is 42."},
    ])
}

fn lines(run: &Run) -> Vec<Value> {
    let lines = run.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("each line is JSON"))
        .collect()
}

#[test]
fn r_agent_02_r_agent_03_ask_answers_and_says_what_was_used() {
    for api in BOTH {
        let server = model(sum());
        let home = machine(api, &server);
        let run = home.run(&["ask", "--model", "m-1", "What is 2 + 40?"]).ok();
        server.assert_satisfied();
        assert_eq!(run.stdout, "It is 42.\n", "{api:?}");
        for part in [
            "✓ example__add_numbers",
            "✗ example__nothing",
            "[TOOL_UNKNOWN]",
            "240 input tokens",
            "60 output tokens",
            "saved",
            "Servers used: example.",
        ] {
            assert!(run.stderr.contains(part), "`{part}` in {}", run.stderr);
        }
        assert!(!run.stderr.contains('\u{1b}'), "{}", run.stderr);
        let activity = home.run(&["activity", "--json"]).ok().stdout;
        assert!(activity.contains("example__add_numbers"), "{activity}");
        for text in [&run.stdout, &run.stderr, &activity] {
            assert!(!text.contains(KEY));
        }
        home.assert_nothing_runs();
    }
}

#[test]
fn r_agent_03_json_lines_report_every_step_and_a_summary() {
    let server = model(sum());
    let home = machine(ModelApi::OpenAi, &server);
    let args = ["ask", "--json", "--model", "m-1", "-"];
    let run = home.run_with_input(&args, "What is 2 + 40?\n").ok();
    server.assert_satisfied();
    let lines = lines(&run);
    let events: Vec<&str> = lines
        .iter()
        .filter_map(|line| line["event"].as_str())
        .collect();
    for event in [
        "turn_started",
        "text",
        "call_started",
        "call_finished",
        "turn_finished",
    ] {
        assert!(events.contains(&event), "{events:?}");
    }
    let done = lines.last().expect("a last line");
    assert_eq!(done["event"], "done");
    assert_eq!(done["answer"], "It is 42.");
    let used = done["used"].as_array().expect("a record");
    let sum = used
        .iter()
        .find(|used| used["tool"] == "example__add_numbers");
    assert_eq!(sum.expect("it is there")["server"], "example");
    assert_eq!(done["usage"]["input_tokens"], 240);
    assert!(done["saved_tokens"].as_u64().expect("a number") > 0);
    assert!(
        server.requests()[0]
            .body
            .to_string()
            .contains("What is 2 + 40?")
    );
}

#[test]
fn r_agent_02_the_model_and_its_key_come_from_flags_config_or_environment() {
    let mut home = Home::new();
    let error = |home: &Home, args: &[&str]| {
        let run = home.run(args).exits(2);
        let error = run.error();
        format!("{} {}", error["message"], error["remedy"])
    };
    let text = error(&home, &["ask", "--json", "Hello?"]);
    assert!(text.contains("ANTHROPIC_API_KEY"), "{text}");
    let text = error(&home, &["ask", "--json", "--provider", "openai", "Hello?"]);
    assert!(
        text.contains("--model") && text.contains("OPENAI_MODEL"),
        "{text}"
    );
    let text = error(
        &home,
        &[
            "ask",
            "--json",
            "--provider",
            "openai",
            "--model",
            "m",
            "Hello?",
        ],
    );
    assert!(text.contains("OPENAI_API_KEY"), "{text}");
    let text = error(&home, &["ask", "--json"]);
    assert!(text.contains("no question"), "{text}");

    let server = model(json!([{"text": "Hello."}, {"text": "Again."}]));
    let config = format!(
        "[agent]\nprovider = \"anthropic\"\nmodel = \"m-7\"\nbase_url = \"{}\"\napi_key = \"${{secret:model}}\"\n",
        server.anthropic_url()
    );
    home.write("config/config.toml", &config);
    let run = home.run(&["ask", "Hello?"]).exits(2);
    assert!(run.stderr.contains("secret set model"), "{}", run.stderr);
    home.run_with_input(&["secret", "set", "model"], KEY).ok();
    let run = home.run(&["ask", "Hello?"]).ok();
    assert_eq!(run.stdout, "Hello.\n");
    assert_eq!(server.requests()[0].body["model"], "m-7");
    // The settings of the file do not apply to the other provider.
    home.set("OPENAI_API_KEY", "other");
    home.set("OPENAI_BASE_URL", &server.openai_url());
    home.set("OPENAI_MODEL", "m-8");
    home.run(&["ask", "--provider", "openai", "Hello?"]).ok();
    assert_eq!(server.requests()[1].body["model"], "m-8");
    let explained = home.run(&["config", "explain"]).ok().stdout;
    assert!(
        explained.contains("agent.model") && !explained.contains(KEY),
        "{explained}"
    );
    server.assert_satisfied();
}

#[test]
fn r_agent_02_a_project_cannot_send_the_key_to_another_host() {
    let server = model(json!([]));
    let mut home = Home::new();
    home.set("ANTHROPIC_API_KEY", KEY);
    home.set("ANTHROPIC_BASE_URL", "http://127.0.0.1:9");
    let config = format!("[agent]\nbase_url = \"{}\"\n", server.anthropic_url());
    home.write("project/.pegboard/config.toml", &config);
    let run = home
        .run(&["ask", "--model", "m", "--retries", "0", "Hello?"])
        .exits(3);
    assert!(run.stderr.contains("`agent` is ignored"), "{}", run.stderr);
    assert!(server.requests().is_empty());
}

#[test]
fn r_agent_02_exit_codes_follow_the_outcome() {
    for (turns, args, code) in [
        (json!([{"status": 529}]), ["--retries", "0"], 3),
        (
            json!([{"status": 401, "error": "authentication_error"}]),
            ["--retries", "0"],
            4,
        ),
        (
            json!([{"status": 404, "error": "not_found_error"}]),
            ["--retries", "0"],
            2,
        ),
        (
            json!([{"calls": [{"name": "list_available_tools"}]}]),
            ["--max-turns", "1"],
            1,
        ),
    ] {
        let server = model(turns);
        let home = machine(ModelApi::Anthropic, &server);
        let mut all = vec!["ask", "--model", "m-1", "Hello?"];
        all.extend(args);
        let run = home.run(&all).exits(code);
        assert!(run.stderr.contains("error:"), "{}", run.stderr);
        assert!(!run.stderr.contains(KEY), "{}", run.stderr);
        server.assert_satisfied();
    }
}

#[test]
fn r_agent_02_a_policy_that_asks_is_answered_at_the_terminal() {
    for (key, word, result) in [("y\n", "Dropped.", false), ("n\n", "Refused.", true)] {
        let server = model(json!([
            {"calls": [{"name": "call_tool", "input": {"tool_name": "s__drop"}}]},
            {"text": word},
        ]));
        let mut home = Home::new();
        let script = Script::new().tools(["drop"]);
        home.add_script("s", &script, "policy = \"ask\"");
        home.run(&["refresh", "--all"]).ok();
        point_at(&mut home, ModelApi::Anthropic, &server);
        let command = home.command(&["ask", "--model", "m-1", "Drop it."]);
        let mut person = AtTerminal::start(command);
        person.wait_for("asks for your approval");
        person.types(key);
        person.wait_for(word);
        assert_eq!(person.ends(), 0, "{}", person.seen());
        person.wait_for("input tokens");
        let last = server.requests()[1].body.to_string();
        assert_eq!(last.contains("APPROVAL_REFUSED"), result, "{last}");
        server.assert_satisfied();
        home.assert_nothing_runs();
    }
}

#[test]
fn r_agent_02_an_interrupt_stops_the_run_and_leaves_nothing_behind() {
    let server = model(json!([
        {"text": "A sentence that never ends, because the stream hangs.", "breaks": "hang"},
    ]));
    let home = machine(ModelApi::Anthropic, &server);
    let mut running = home.start(&["ask", "--json", "--model", "m-1", "Speak for ever."]);
    wait_until_sync("the model speaks", TIMEOUT, || {
        running.output().contains("\"text\"")
    });
    running.signal("-INT");
    assert_eq!(running.wait().code(), Some(1));
    running.wait_for("\"event\":\"failed\"");
    assert!(
        running.output().contains("CANCELLED"),
        "{}",
        running.output()
    );
    home.assert_nothing_runs();
}
