//! `call`: all notations of names and arguments.

use pegboard_testkit::{Script, starts_in};
use serde_json::json;

use crate::support::Home;

#[test]
fn r_reg_02_a_tool_is_called_by_each_form_of_its_name() {
    let home = Home::with_example();
    for name in ["example/add_numbers", "example__add_numbers", "add_numbers"] {
        let run = home.run(&["call", name, "a=1", "b=2"]).ok();
        assert_eq!(run.stdout, "{\"sum\":3}\n", "{name}");
    }
}

#[test]
fn arguments_come_as_pairs_as_json_or_from_standard_input() {
    let home = Home::with_example();
    let call = |args: &[&str], input: &str| {
        let run = home.run_with_input(&[&["call", "example/add_numbers"], args].concat(), input);
        run.ok().stdout
    };
    assert_eq!(call(&["a=1", "b=2.5"], ""), "{\"sum\":3.5}\n");
    assert_eq!(call(&["a:=1", "b:=2"], ""), "{\"sum\":3}\n");
    assert_eq!(
        call(&["--args", r#"{"a": 1, "b": 2}"#], ""),
        "{\"sum\":3}\n"
    );
    assert_eq!(call(&["-"], r#"{"a": 1, "b": 2}"#), "{\"sum\":3}\n");
    // A text stays a text even if it looks like a number.
    let run = home.run(&["call", "example/echo", "text=007"]).ok();
    assert_eq!(run.stdout, "007\n");
}

#[test]
fn r_reg_05_invalid_arguments_are_reported_by_field_before_any_start() {
    let home = Home::with_example();
    for (args, expected) in [
        (&["a=1"][..], "`/b` is missing"),
        (&["a=one", "b=2"], "`/a` must be number"),
        (&["a=1", "b=2", "c=3"], "`/c`"),
        (&["a"], "`a` is not key=value"),
        (&["a:=one"], "`a`: the arguments are not JSON"),
        (&["a=1", "-"], "`-` cannot be combined with other arguments"),
        (&["--args", "[1]"], "not a JSON object"),
        (&["--args", "{"], "not JSON"),
    ] {
        let run = home
            .run(&[&["call", "example/add_numbers"], args].concat())
            .exits(2);
        assert!(run.stderr.contains(expected), "{args:?}: {}", run.stderr);
        assert!(
            run.stderr.contains("[ARGS_INVALID]"),
            "{args:?}: {}",
            run.stderr
        );
        assert_eq!(run.stdout, "");
    }
}

#[test]
fn r_sec_10_a_key_that_is_given_twice_is_refused_however_it_is_written() {
    let home = Home::new();
    let calls = home.path("calls");
    home.add_script("one", &Script::new().tools(["work"]).count_in(&calls), "");
    home.run(&["refresh", "one"]).ok();
    let started = std::fs::read_to_string(&calls).unwrap();
    let twice = r#"{"text":"a","text":"b"}"#;
    for (args, input) in [
        (&["--args", twice][..], ""),
        (&["-"], twice),
        (&["--args", r#"{"a":[{"b":1,"\u0062":2}]}"#], ""),
        (&["text=a", "text=b"], ""),
        (&["text=a", "text:=1"], ""),
        (&[r#"a:={"b":1,"b":2}"#], ""),
    ] {
        let line = [&["call", "one/work"], args].concat();
        let run = home.run_with_input(&line, input).exits(2);
        assert!(run.stderr.contains("[ARGS_INVALID]"), "{}", run.stderr);
        let names_key = ["twice", "duplicate key"]
            .iter()
            .any(|part| run.stderr.contains(part));
        assert!(names_key, "{args:?}: {}", run.stderr);
        assert_eq!(run.stdout, "");
    }
    assert_eq!(std::fs::read_to_string(&calls).unwrap(), started);
}

#[test]
fn r_disc_01_a_qualified_call_discovers_only_its_server() {
    let home = Home::new();
    let (called, other) = (home.path("called"), home.path("other"));
    home.add_script(
        "called",
        &Script::new().tools(["work"]).count_in(&called),
        "",
    );
    home.add_script("other", &Script::new().tools(["work"]).count_in(&other), "");
    let run = home.run(&["call", "called/work", "text=hi"]).ok();
    assert_eq!(
        run.stdout,
        "{\"tool\":\"work\",\"arguments\":{\"text\":\"hi\"}}\n"
    );
    home.run(&["describe", "called/work"]).ok();
    home.run(&["call", "called/nothing"]).exits(7);
    assert!(!starts_in(&called).is_empty());
    assert_eq!(starts_in(&other), [] as [u32; 0]);
}

#[test]
fn r_reg_05_a_call_reports_why_its_server_cannot_start() {
    let home = Home::new();
    home.add("gone", "no-such-program-anywhere", &[], "");
    for _ in 0..2 {
        let run = home.run(&["call", "gone/work", "--json"]).exits(3);
        assert_eq!(run.error()["reason"], "SPAWN_NOT_FOUND");
        assert_eq!(run.error()["code"], "TOOL_UNAVAILABLE");
    }
}

#[test]
fn r_reg_06_a_result_is_shown_as_text_or_as_the_servers_own_bytes() {
    let home = Home::new();
    let script = Script::new().tools(["draw"]).with(|script| {
        script.call.image = true;
        script.call.extra_fields = true;
    });
    home.add_script("painter", &script, "");
    let run = home.run(&["call", "painter/draw"]).ok();
    let lines: Vec<_> = run.stdout.lines().collect();
    assert_eq!(lines[0], "{\"tool\":\"draw\",\"arguments\":{}}");
    assert!(lines[1].starts_with("[image image/png "), "{lines:?}");
    let run = home.run(&["call", "painter/draw", "--json"]).ok();
    let raw = "\"x-vendor\":{\"zeta\":1,\"alpha\":12345678901234567890}";
    assert!(run.stdout.contains(raw), "{}", run.stdout);
    assert_eq!(run.json()["content"][1]["type"], "image");
}

#[test]
fn tool_results_cannot_move_the_cursor() {
    let home = Home::with_example();
    let run = home
        .run(&["call", "example/echo", "text=\u{1b}[2Jgone\u{202e}"])
        .ok();
    assert_eq!(run.stdout, "\\u{1b}[2Jgone\\u{202e}\n");
}

#[test]
fn r_sec_01_json_prints_hidden_characters_as_escapes_of_the_same_value() {
    let home = Home::with_example();
    let printed = "\u{9b}31m\u{202e}\u{e0041}ä";
    let text = format!("text={printed}");
    let run = home.run(&["call", "example/echo", &text, "--json"]).ok();
    let hidden = ['\u{9b}', '\u{202e}', '\u{e0041}'];
    assert!(!run.stdout.contains(hidden), "{:?}", run.stdout);
    assert!(
        run.stdout.contains("\\u009b31m\\u202e\\udb40\\udc41ä"),
        "{}",
        run.stdout
    );
    assert_eq!(run.json()["content"][0]["text"], printed);

    let home = Home::new();
    let mut tool = pegboard_testkit::tool_json("a");
    tool["description"] = format!("Says {printed}.").into();
    let mut script = Script::new();
    script.list.tools = vec![tool];
    home.add_script("s", &script, "");
    home.run(&["refresh", "s"]).ok();
    // The scanner holds such a text back.
    home.run(&["review", "accept", "s"]).ok();
    for read in [
        &["tools", "--json"][..],
        &["describe", "s/a", "--json"],
        &["export", "--format", "anthropic"],
        &["export", "--format", "anthropic", "--json"],
    ] {
        let run = home.run(read).ok();
        assert!(!run.stdout.contains(hidden), "{read:?} {:?}", run.stdout);
        assert!(run.json().is_object() || run.json().is_array(), "{read:?}");
    }
    let listed = home.run(&["tools", "--json"]).ok().json();
    assert_eq!(
        listed["tools"][0]["definition"]["description"],
        format!("Says {printed}.")
    );
}

#[test]
fn r_sec_12_g15_a_result_that_does_not_match_its_schema_is_printed_with_a_warning() {
    let home = Home::new();
    let script = Script::new().with(|script| {
        script.list.tools = vec![json!({
            "name": "add", "inputSchema": {"type": "object"},
            "outputSchema": {"type": "object", "properties": {"sum": {"type": "number"}}},
        })];
        script.call.structured = Some(json!({"sum": "three"}));
    });
    home.add_script("one", &script, "");
    let run = home.run(&["call", "one/add", "--json"]).ok();
    assert!(run.stdout.contains(r#""sum":"three""#), "{}", run.stdout);
    let warning = "warning: SCHEMA_OUTPUT_MISMATCH: the result of `one__add` does not match its output schema: `/sum`";
    assert!(run.stderr.contains(warning), "{}", run.stderr);
    let activity = home.run(&["activity", "--json"]).ok().stdout;
    assert!(activity.contains("SCHEMA_OUTPUT_MISMATCH"), "{activity}");
}

#[test]
fn r_pol_01_policies_apply_to_calls_from_the_command_line() {
    let home = Home::new();
    let policies = "policies = { \"del_*\" = \"deny\", hidden = \"disable\", asked = \"ask\" }";
    let script = Script::new().tools(["del_all", "hidden", "asked", "plain"]);
    let policies = format!("{policies}\n[settings]\napproval_timeout = \"0s\"");
    home.add_script("s", &script, &policies);
    home.run(&["refresh", "s"]).ok();
    for (tool, reason) in [
        ("s/del_all", "POLICY_DENIED"),
        ("s/hidden", "TOOL_DISABLED"),
        ("s/asked", "POLICY_DENIED"),
    ] {
        let run = home.run(&["call", tool, "--json"]).exits(6);
        assert_eq!(run.error()["reason"], reason, "{tool}");
    }
    home.run(&["call", "s/asked", "--yes"]).ok();
    home.run(&["call", "s/plain"]).ok();
    home.run(&["call", "s/del_all", "--yes"]).exits(6);
    let names = home.run(&["tools", "--json"]).ok().json()["tools"].clone();
    assert!(!names.to_string().contains("s__hidden"), "{names}");
    let json = home.run(&["tools", "--all", "--json"]).ok().json();
    assert!(json.to_string().contains("s__hidden"), "{json}");
    assert_eq!(json["total"], json!(4));
}
