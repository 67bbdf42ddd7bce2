//! A destructive call that is approved in the inbox while the client waits.

use pegboard_metatools::CALL;
use pegboard_testkit::wait_until_sync;
use serde_json::json;

use crate::client::Client;
use crate::clients::{CLAUDE_CODE, CODEX_APPROVING, GEMINI_CLI, OPENCODE};
use crate::machine::{Approvals, Machine};
use crate::session::Session;
use crate::support::TIMEOUT;
use crate::tour::ran;

#[test]
fn r_gate_05_claude_code_runs_a_destructive_call_after_an_approval() {
    // Claude Code cancels the elicitation, because it cannot ask anyone; that is not a refusal.
    check(CLAUDE_CODE, Approvals::ClientThenInbox);
}

#[test]
fn r_gate_05_codex_runs_a_destructive_call_after_an_approval() {
    // `codex exec` declines every elicitation, which looks like a refusal by a person, so it must not be asked.
    check(CODEX_APPROVING, Approvals::Inbox);
}

#[test]
fn r_gate_05_gemini_cli_runs_a_destructive_call_after_an_approval() {
    check(GEMINI_CLI, Approvals::ClientThenInbox);
}

#[test]
fn r_gate_05_opencode_runs_a_destructive_call_after_an_approval() {
    check(OPENCODE, Approvals::ClientThenInbox);
}

#[track_caller]
fn check(client: Client, approvals: Approvals) {
    let Some(machine) = Machine::with(approvals) else {
        return;
    };
    let erase = json!({"tool_name": "vault__erase_record", "arguments": {"number": 5}});
    let session = Session::start(&machine, client, &[vec![client.call(CALL, erase)]]);
    let id = waiting(&machine, &session);
    assert_eq!(
        machine.calls_of("vault"),
        0,
        "{}: it ran unasked",
        client.name
    );
    machine.home.run(&["approvals", "allow", &id]).ok();
    let results = session.end().results();
    let [erased] = results.as_slice() else {
        panic!("{}: one result expected: {results:#?}", client.name);
    };
    assert!(
        erased.contains(&ran("erase_record", 5)),
        "{}: {erased}",
        client.name
    );
    assert_eq!(machine.calls_of("vault"), 1);
}

/// Waits for a call in the inbox and returns its id.
#[track_caller]
fn waiting(machine: &Machine, session: &Session<'_>) -> String {
    let mut id = None;
    wait_until_sync("a call in the inbox", TIMEOUT, || {
        session.assert_running();
        let inbox = machine.home.run(&["approvals", "--json"]).ok().json();
        id = inbox["approvals"][0]["id"].as_str().map(str::to_owned);
        id.is_some()
    });
    id.expect("it waits")
}
