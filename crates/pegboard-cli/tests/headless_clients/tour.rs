//! What an agent does in a headless client: search, describe, call, and call concurrently.

use pegboard_metatools::{CALL, CALL_READ_ONLY, DESCRIBE, SEARCH};
use serde_json::{Value, json};

use crate::client::Client;
use crate::clients::{CLAUDE_CODE, CLAUDE_CODE_SEARCHING, CODEX, GEMINI_CLI, OPENCODE};
use crate::definitions::assert_offered;
use crate::machine::{Approvals, Machine};
use crate::session::Session;

#[test]
fn r_gate_05_claude_code_uses_pegboard_headless() {
    check(CLAUDE_CODE, "not run");
}

#[test]
fn r_gate_05_claude_code_with_its_own_tool_search_uses_pegboard_headless() {
    check(CLAUDE_CODE_SEARCHING, "not run");
}

#[test]
fn r_gate_05_codex_uses_pegboard_headless() {
    // Codex refuses tools that are not annotated as read-only, and runs the others without a prompt.
    check(CODEX, "approval");
}

#[test]
fn r_gate_05_gemini_cli_uses_pegboard_headless() {
    check(GEMINI_CLI, "not run");
}

#[test]
fn r_gate_05_opencode_uses_pegboard_headless() {
    check(OPENCODE, "not run");
}

/// One conversation with every kind of call; the last one is destructive and has no approval, so the model gets a
/// refusal that contains `refusal`.
#[track_caller]
fn check(client: Client, refusal: &str) {
    let Some(machine) = Machine::with(Approvals::NoInbox) else {
        return;
    };
    let call = |meta: &str, tool: &str, number: u32| {
        client.call(
            meta,
            json!({"tool_name": tool, "arguments": {"number": number}}),
        )
    };
    let turns = [
        vec![client.call(SEARCH, json!({"query": "read a page of a book"}))],
        vec![client.call(DESCRIBE, json!({"tool_name": "library__read_page"}))],
        vec![call(CALL_READ_ONLY, "library__read_page", 7)],
        vec![
            call(CALL_READ_ONLY, "gauges__read_pressure", 1),
            call(CALL_READ_ONLY, "gauges__read_heat", 2),
        ],
        vec![call(CALL, "vault__erase_record", 3)],
    ];
    let ended = Session::run(&machine, client, &turns);
    assert_offered(client, &ended);
    let results = ended.results();
    let [found, described, page, pressure, heat, erased] = results.as_slice() else {
        panic!("{}: six results expected: {results:#?}", client.name);
    };
    let has = |text: &str, part: &str| {
        assert!(text.contains(part), "{}: no {part} in: {text}", client.name);
    };
    has(found, "library__read_page(number)");
    has(described, "library__read_page");
    has(described, "Read a page of a book.");
    has(described, "number");
    has(page, &ran("read_page", 7));
    // Each call returns only while the other one is running.
    has(pressure, &ran("read_pressure", 1));
    has(heat, &ran("read_heat", 2));
    has(&erased.to_lowercase(), refusal);
    assert_eq!(
        (machine.calls_of("library"), machine.calls_of("vault")),
        (1, 0)
    );
}

/// Returns the servers' result of a call.
pub(crate) fn ran(tool: &str, number: u32) -> String {
    let answer: Value = json!({"tool": tool, "arguments": {"number": number}});
    answer.to_string()
}
