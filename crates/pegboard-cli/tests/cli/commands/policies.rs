//! `policy`, `approvals` and `activity`.

use pegboard_testkit::Script;
use serde_json::{Value, json};

use crate::support::Home;

fn home(more: &str) -> Home {
    let home = Home::new();
    let script = Script::new().tools(["drop", "look"]);
    home.add_script("s", &script, more);
    home.run(&["refresh", "s"]).ok();
    home
}

#[test]
fn r_pol_01_rules_are_set_tested_listed_and_taken_out() {
    let home = home("policies = { \"dr*\" = \"ask\" }");
    home.run(&["policy", "set", "s/drop", "deny"]).ok();
    assert!(
        home.config().contains("[policies]\n\"s/drop\" = \"deny\""),
        "{}",
        home.config()
    );
    let tested = home
        .run(&["policy", "test", "s/drop", "--json"])
        .ok()
        .json();
    assert_eq!(tested["policy"], "deny");
    assert_eq!(tested["rule"], "policies.\"s/drop\"");
    assert_eq!(tested["file"], json!(home.config_file()));
    assert!(tested["line"].as_u64().unwrap() > 1, "{tested}");
    let lost = |rule: &str| -> Value {
        let rules = tested["rules"].as_array().unwrap();
        let found = rules.iter().find(|found| found["rule"] == rule);
        found.unwrap_or_else(|| panic!("{rule}: {tested}"))["lost_because"].clone()
    };
    assert_eq!(
        lost("policies.\"dr*\" of server s"),
        "a pattern is less specific than an exact name"
    );
    let run = home.run(&["call", "s/drop", "--json"]).exits(6);
    assert_eq!(run.error()["reason"], "POLICY_DENIED");
    let text = home.run(&["policy", "test", "s/look"]).ok().stdout;
    assert!(text.starts_with("s__look: allow\n"), "{text}");

    home.run(&["policy", "set", "look", "disable", "--server", "s"])
        .ok();
    let tools = home.run(&["tools", "--json"]).ok().json();
    assert!(!tools.to_string().contains("s__look"), "{tools}");
    let tested = home
        .run(&["policy", "test", "s/look", "--json"])
        .ok()
        .json();
    assert_eq!(tested["policy"], "disable");
    let listed = home.run(&["policy", "list", "--json"]).ok().json();
    let rules = listed["rules"].as_array().unwrap();
    assert_eq!(rules.len(), 3, "{listed}");
    assert_eq!(listed["ask_destructive"], "when_possible");

    home.run(&["policy", "unset", "s/drop"]).ok();
    home.run(&["policy", "unset", "s/drop"]).exits(7);
    home.run(&["policy", "set", "@no_such", "ask"]).exits(2);
    home.run(&["policy", "unset", "look", "--server", "s"]).ok();
    home.run(&["call", "s/look"]).ok();
}

#[test]
fn r_pol_01_a_project_can_only_tighten() {
    let home = home("policies = { drop = \"deny\" }");
    home.write("project/.pegboard/config.toml", "");
    home.run(&["policy", "set", "s/*", "ask", "--in-project"])
        .ok();
    home.run(&["policy", "set", "s/drop", "allow", "--in-project"])
        .ok();
    for (tool, policy) in [("s/drop", "deny"), ("s/look", "ask")] {
        let tested = home.run(&["policy", "test", tool, "--json"]).ok().json();
        assert_eq!(tested["policy"], policy, "{tested}");
    }
}

/// Returns the id of the pending call.
fn waiting(home: &Home) -> String {
    let mut id = None;
    pegboard_testkit::wait_until_sync("a call waits", crate::support::TIMEOUT, || {
        let approvals = home.run(&["approvals", "--json"]).ok().json();
        let first = &approvals["approvals"][0];
        id = first["id"].as_str().map(str::to_owned);
        if id.is_some() {
            assert_eq!(first["arguments"], r#"{"text":"x"}"#);
            assert_eq!(first["tool"], "s__drop");
        }
        id.is_some()
    });
    id.expect("an approval that waits")
}

#[test]
fn r_sec_07_whitespace_cannot_hide_arguments_in_the_inbox() {
    let home = home("policies = { drop = \"ask\" }");
    let padded = format!("text=ls{}; rm -rf x", " ".repeat(5_000));
    let mut call = home.start(&["call", "s/drop", &padded]);
    let mut shown = String::new();
    pegboard_testkit::wait_until_sync("a call waits", crate::support::TIMEOUT, || {
        shown = home.run(&["approvals"]).ok().stdout;
        shown.contains("s__drop")
    });
    let expected = r#"arguments  {"text":"ls⟨5000 spaces⟩; rm -rf x"}"#;
    assert!(shown.contains(expected), "{shown}");
    call.signal("-TERM");
    call.wait();
}

#[test]
fn r_pol_02_a_call_in_one_terminal_is_answered_in_another() {
    let home = home("policies = { drop = \"ask\" }");
    let call = || home.start(&["call", "s/drop", "text=x"]);
    let mut refused = call();
    let id = waiting(&home);
    refused.wait_for(&format!("pegboard approvals allow {id}"));
    home.run(&["approvals", "deny", &id]).ok();
    assert_eq!(refused.wait().code(), Some(6));
    assert!(
        refused.output().contains("APPROVAL_REFUSED"),
        "{}",
        refused.output()
    );

    let mut watcher = home.start(&["approvals", "watch"]);
    watcher.wait_for("Watching");
    let mut allowed = call();
    let id = waiting(&home);
    watcher.wait_for(&id);
    home.run(&["approvals", "allow", &id, "--always"]).ok();
    assert!(allowed.wait().success(), "{}", allowed.output());
    home.run(&["approvals", "allow", &id]).exits(7);
    watcher.signal("-TERM");
    assert!(watcher.wait().success());

    // No approval is needed until the grant is revoked.
    home.run(&["call", "s/drop", "text=x"]).ok();
    let grants = home.run(&["policy", "grants", "--json"]).ok().json();
    assert_eq!(grants["grants"][0]["exposed"], "s__drop", "{grants}");
    home.run(&["policy", "revoke", "s/drop"]).ok();
    home.run(&["policy", "revoke", "s/drop"]).exits(7);
    let mut again = call();
    home.run(&["approvals", "allow", &waiting(&home)]).ok();
    assert!(again.wait().success());

    let lines = home.run(&["activity", "--json"]).ok().json();
    let outcomes: Vec<(&str, &str)> = (lines["activity"].as_array().unwrap().iter())
        .map(|line| {
            (
                line["kind"].as_str().unwrap(),
                line["outcome"].as_str().unwrap(),
            )
        })
        .collect();
    for expected in [
        ("call", "ok"),
        ("call", "APPROVAL_REFUSED"),
        ("approval", "refuse"),
        ("approval", "always"),
        ("discovery", "ok"),
    ] {
        assert!(outcomes.contains(&expected), "{expected:?}: {outcomes:?}");
    }
    assert!(!lines.to_string().contains("text"), "no contents: {lines}");
    home.assert_nothing_runs();
}

#[test]
fn r_pol_02_no_answer_in_time_is_a_refusal() {
    let home = home("policies = { drop = \"ask\" }\n[settings]\napproval_timeout = \"200ms\"");
    let run = home.run(&["call", "s/drop", "--json"]).exits(6);
    assert_eq!(run.error()["reason"], "APPROVAL_TIMEOUT");
    assert_eq!(run.error()["code"], "TOOL_DENIED");
}
