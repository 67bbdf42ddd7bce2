//! Commands that use the servers of the running process.

use pegboard_testkit::{Script, methods_in, starts_in, wait_until_sync};
use serde_json::{Value, json};

use super::client::Client;
use super::process_of;
use crate::support::{Home, Run, TIMEOUT, kill};
use crate::terminal::AtTerminal;

/// A machine with a window, and with a server whose starts are counted.
fn machine(more: &str) -> (Home, Client) {
    let home = Home::with_example();
    let script = Script::new().tools(["echo"]).count_in(home.path("starts"));
    home.add_script("s", &script, more);
    let mut large = Script::new().tools(["read"]);
    large.call.result_bytes = Some(6_000_000);
    home.add_script("large", &large, "");
    home.run(&["refresh", "--all"]).ok();
    std::fs::remove_file(home.path("starts")).expect("the discovery was counted");
    let mut client = Client::start(&home);
    client.open();
    (home, client)
}

fn starts(home: &Home) -> usize {
    starts_in(&home.path("starts")).len()
}

#[test]
fn r_share_01_a_call_uses_the_running_server_of_a_window() {
    let (home, mut window) = machine("");
    let response = window.call("s__echo", json!({"from": "window"}));
    assert!(response.get("result").is_some(), "{response}");
    assert_eq!(starts(&home), 1);
    for number in 0..3 {
        let run = home.run(&["call", "s/echo", &format!("n={number}")]).ok();
        assert!(run.stdout.contains(&number.to_string()), "{run:?}");
    }
    assert_eq!(starts(&home), 1, "the calls used the running server");
    home.run(&["call", "--alone", "s/echo"]).ok();
    assert_eq!(starts(&home), 2, "this one did not");
    let clients = || -> Vec<Value> {
        let run = home.run(&["activity", "--json", "--client", "cli"]).ok();
        let lines = run.json()["activity"].as_array().expect("a list").clone();
        lines.iter().map(|line| line["client"].clone()).collect()
    };
    wait_until_sync("the activity is stored", TIMEOUT, || clients().len() == 4);
    assert!(clients().iter().all(|name| name == "cli"));
    window.end();
    home.assert_nothing_runs();
}

#[test]
fn r_share_01_a_call_prints_the_same_in_the_process_and_alone() {
    let (home, window) = machine("");
    let same = |args: &[&str], input: &str, code: i32| {
        let shared = home.run_with_input(&[&["call"], args].concat(), input);
        let alone = home.run_with_input(&[&["call", "--alone"], args].concat(), input);
        let text = |run: &Run| (run.stdout.clone(), run.stderr.clone(), run.code);
        assert_eq!(text(&shared), text(&alone), "{args:?}");
        assert_eq!(shared.code, code, "{args:?}: {shared:?}");
    };
    same(&["example/add_numbers", "a=1", "b=2"], "", 0);
    same(&["example.add_numbers", r#"{"a": 1, "b": 2}"#], "", 0);
    same(&["example/add_numbers", "-"], r#"{"a": 4, "b": 2}"#, 0);
    same(&["--json", "example/add_numbers", "a=1", "b=2"], "", 0);
    same(&["example/decode_base64", "data=?"], "", 5);
    same(&["example/add_numbers", "a=1"], "", 2);
    same(&["example/add_numbers", "a=x", "b=2"], "", 2);
    same(&["example/add_numbers", "word"], "", 2);
    same(&["example/add_nubers"], "", 7);
    same(&["--json", "nowhere/tool"], "", 7);
    let input = json!({ "text": "x".repeat(5_000_000) }).to_string();
    same(&["s/echo", "-"], &input, 2);
    same(&["large/read"], "", 0);
    window.end();
    home.assert_nothing_runs();
}

#[test]
fn r_share_01_policies_decide_about_a_call_in_the_process() {
    let (home, window) = machine("policy = \"deny\"");
    let run = home.run(&["call", "s/echo"]).exits(6);
    assert!(run.stderr.contains("POLICY_DENIED"), "{run:?}");
    // A change of the files counts for the next call, however soon it follows.
    home.run(&["edit", "s", "policy", "ask"]).ok();
    let run = home.run(&["call", "s/echo", "--yes"]).ok();
    assert!(run.stdout.contains("echo"), "{run:?}");
    home.run(&["edit", "s", "policy", "allow"]).ok();
    home.run(&["call", "s/echo"]).ok();
    home.run(&["disable", "s"]).ok();
    let run = home.run(&["call", "s/echo"]);
    assert_ne!(run.code, 0, "{run:?}");
    assert_eq!(starts(&home), 1, "all in the process");
    window.end();
    home.assert_nothing_runs();
}

#[test]
fn r_share_01_a_prompt_of_the_process_appears_at_the_terminal_of_the_command() {
    let (home, window) = machine("policy = \"ask\"");
    let command = || AtTerminal::start(home.command(&["call", "s/echo", "text=hi"]));
    let mut refused = command();
    refused.wait_for("asks for your approval");
    refused.wait_for(r#"Arguments: {"text":"hi"}"#);
    refused.types("n\r");
    assert_eq!(refused.ends(), 6, "{}", refused.seen());
    let mut allowed = command();
    allowed.wait_for("Call s__echo? [y: yes, a: always for this version of the tool, N: no]");
    allowed.types("a\r");
    assert_eq!(allowed.ends(), 0, "{}", allowed.seen());
    // The grant is stored.
    home.run(&["call", "s/echo", "text=again"]).ok();
    assert_eq!(starts(&home), 1, "all in the process");
    window.end();
    home.assert_nothing_runs();
}

#[test]
fn r_share_01_a_call_in_the_process_that_waits_in_the_inbox_says_so() {
    let (home, window) = machine("policy = \"ask\"");
    let mut call = home.start(&["call", "s/echo", "text=hi"]);
    call.wait_for("waiting for approval: run `pegboard approvals allow ");
    let waiting = home.run(&["approvals", "list", "--json"]).ok().json();
    let id = waiting["approvals"][0]["id"].as_str().expect("an id");
    home.run(&["approvals", "allow", id]).ok();
    assert!(call.wait().success(), "{}", call.output());
    window.end();
    home.assert_nothing_runs();
}

/// A machine with a window and a server whose calls take long.
fn slow_machine() -> (Home, Client) {
    let home = Home::new();
    let mut slow = Script::new().tools(["wait"]).count_in(home.path("calls"));
    slow.call.delay_ms = 600_000;
    home.add_script("slow", &slow, "");
    home.run(&["refresh", "--all"]).ok();
    let mut client = Client::start(&home);
    client.open();
    (home, client)
}

fn received(home: &Home, method: &str) -> usize {
    let methods = methods_in(&home.path("calls"));
    methods.iter().filter(|name| *name == method).count()
}

#[test]
fn r_share_01_an_interrupted_command_cancels_its_call() {
    let (home, window) = slow_machine();
    let mut call = home.start(&["call", "slow/wait"]);
    wait_until_sync("the server has the call", TIMEOUT, || {
        received(&home, "tools/call") == 1
    });
    call.signal("-INT");
    assert!(!call.wait().success());
    assert!(call.output().contains("[CANCELLED]"), "{}", call.output());
    wait_until_sync("the call is cancelled", TIMEOUT, || {
        received(&home, "notifications/cancelled") == 1
    });
    window.end();
    home.assert_nothing_runs();
}

#[test]
fn r_share_04_a_command_whose_process_is_killed_fails_and_does_not_call_again() {
    let (home, window) = slow_machine();
    let mut call = home.start(&["call", "slow/wait"]);
    wait_until_sync("the server has the call", TIMEOUT, || {
        received(&home, "tools/call") == 1
    });
    kill("-9", process_of(&home));
    assert_eq!(call.wait().code(), Some(3), "{}", call.output());
    assert!(
        call.output().contains("[PROCESS_ENDED]"),
        "{}",
        call.output()
    );
    assert_eq!(received(&home, "tools/call"), 1);
    window.end();
    home.assert_nothing_runs();
}
