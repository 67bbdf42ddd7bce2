//! The programs of docs/python.md and docs/typescript.md, exactly as they are printed there.

use std::fs;

use pegboard_testkit::{ModelScript, ModelServer};
use serde_json::json;

use crate::packages::{Language, Machine, repository};
use crate::support::Run;

const MAX_LINES: usize = 25;

/// Returns the first program of a page.
pub(crate) fn program(page: &str, fence: &str) -> String {
    let text = fs::read_to_string(repository("docs").join(page)).expect("a page");
    let start = format!("```{fence}\n");
    let program = text.split(&start).nth(1);
    let program = program.and_then(|rest| rest.split("```").next());
    program.expect("the page has a program").to_owned()
}

#[test]
fn r_lib_02_the_programs_of_the_guides_are_short() {
    for (page, fence) in [("python.md", "python"), ("typescript.md", "ts")] {
        let lines = program(page, fence).lines().count();
        assert!(lines < MAX_LINES, "{page}: {lines} lines");
    }
}

#[track_caller]
fn check(language: Language, page: &str, fence: &str, file: &str) {
    let Some(machine) = Machine::new() else {
        return;
    };
    let file = machine
        .home
        .write(&format!("project/{file}"), &program(page, fence));
    let call = json!({"tool_name": "example__add_numbers", "arguments": {"a": 2, "b": 3}});
    let model = ModelServer::start(ModelScript::of(json!({"turns": [
        {"calls": [{"name": "search_tools", "input": {"query": "add"}}]},
        {"calls": [{"name": "call_tool", "input": call}]},
        {"text": "The sum is 5."},
    ]})));
    let mut command = machine.script(language, &file);
    command
        .arg("What is 2 + 3?")
        .env("ANTHROPIC_API_KEY", "sk-test")
        .env("ANTHROPIC_BASE_URL", model.anthropic_url());
    let run = Run::of(command, "").ok();
    assert_eq!(run.stdout, "The sum is 5.\n");
    assert_eq!(
        run.stderr,
        "[search_tools: ok]\n[example__add_numbers: ok]\n"
    );
    model.assert_satisfied();
    let request = &model.requests()[0].body;
    assert_eq!(request["messages"][0]["content"], "What is 2 + 3?");
    let system = request["system"].as_str().expect("a system prompt");
    assert!(system.contains("16 tools"), "{system}");
    machine.home.assert_nothing_runs();
}

#[test]
fn r_lib_02_the_program_of_the_python_guide_runs_as_printed() {
    check(Language::Python, "python.md", "python", "ask.py");
}

#[test]
fn r_lib_02_the_program_of_the_typescript_guide_runs_as_printed() {
    check(Language::JavaScript, "typescript.md", "ts", "ask.mjs");
}
