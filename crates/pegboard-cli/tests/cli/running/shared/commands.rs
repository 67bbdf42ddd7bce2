//! Commands that use the servers of the running process.

use pegboard_testkit::{Script, starts_in, wait_until_sync};
use serde_json::{Value, json};

use super::client::Client;
use crate::support::{Home, Run, TIMEOUT};

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
