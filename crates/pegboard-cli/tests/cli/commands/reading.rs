//! Commands that only read: results on stdout, everything else on stderr.

use crate::support::{EXAMPLE_TOOLS, Home};

/// Every command with JSON output.
const READS: &[&[&str]] = &[
    &["list"],
    &["show", "example"],
    &["tools"],
    &["tools", "example"],
    &["tools", "--category", "example/note"],
    &["tools", "--all"],
    &["describe", "example/add_numbers"],
    &["search", "add", "numbers"],
    &["context"],
    &["export", "--format", "anthropic"],
    &["export", "--format", "gemini", "--losses"],
    &["tokens"],
    &["refresh", "example"],
    &["refresh", "--all"],
    &["up", "--once"],
    &["token"],
    &["call", "example/add_numbers", "a=1", "b=2"],
    &["logs", "example"],
    &["logs"],
    &["activity"],
    &["doctor"],
    &["doctor", "example"],
    &["trust"],
    &["secret", "list"],
    &["config", "path"],
    &["config", "explain"],
    &["config", "explain", "example"],
    &["config", "check"],
    &["config", "schema"],
];

#[test]
fn every_read_gives_one_json_document_on_stdout_and_no_colours_in_a_pipe() {
    let home = Home::with_example();
    for read in READS {
        let run = home.run(&[read, &["--json"][..]].concat()).ok();
        assert!(run.json().is_object() || run.json().is_array(), "{read:?}");
        let run = home.run(read).ok();
        let printed = format!("{}{}", run.stdout, run.stderr);
        assert!(!printed.contains('\u{1b}'), "{read:?}: {printed:?}");
        let quiet = home.run(&[read, &["--quiet"][..]].concat()).ok();
        assert_eq!(quiet.stderr, "", "{read:?} prints more than its result");
    }
}

#[test]
fn counts_and_hints_are_written_to_stderr() {
    let home = Home::with_example();
    let run = home.run(&["tools"]).ok();
    let lines: Vec<_> = run.stdout.lines().collect();
    assert!(lines[0].starts_with("TOOL "), "{lines:?}");
    let tools = lines.iter().filter(|line| line.starts_with("example__"));
    assert_eq!(tools.count(), EXAMPLE_TOOLS);
    assert!(run.stderr.starts_with("16 tools, about "), "{}", run.stderr);
    let empty = Home::new();
    for command in [["list"], ["tools"]] {
        let run = empty.run(&command).ok();
        assert_eq!(run.stdout, "");
        assert!(
            run.stderr.contains("pegboard add example"),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn color_follows_flags_and_environment() {
    let mut home = Home::with_example();
    let coloured = |home: &Home, args: &[&str]| home.run(args).ok().stdout.contains('\u{1b}');
    assert!(!coloured(&home, &["list"]));
    assert!(coloured(&home, &["list", "--color", "always"]));
    home.set("CLICOLOR_FORCE", "1");
    assert!(coloured(&home, &["list"]));
    assert!(!coloured(&home, &["list", "--color", "never"]));
    home.set("NO_COLOR", "1");
    assert!(!coloured(&home, &["list"]));
}

#[test]
fn r_disc_04_list_and_show_print_status_time_and_tools() {
    let home = Home::with_example();
    let list = home.run(&["list", "--json"]).ok().json();
    assert_eq!(list["total"], 1);
    let row = &list["servers"][0];
    assert_eq!(row["name"], "example");
    assert_eq!(row["status"], "success");
    assert_eq!(row["stale"], false);
    assert_eq!(row["tools"], EXAMPLE_TOOLS);
    assert!(
        row["last_discovered"]
            .as_u64()
            .is_some_and(|at| at > 1_700_000_000_000)
    );

    let show = home.run(&["show", "example", "--json"]).ok().json();
    assert_eq!(show["protocol_version"], "2026-07-28");
    assert_eq!(show["server_info"]["name"], "pegboard-example");
    assert_eq!(show["origin"]["layer"], "user");
    assert_eq!(show["tools"].as_array().map(Vec::len), Some(EXAMPLE_TOOLS));
}

#[test]
fn r_reg_04_the_same_catalog_gives_the_same_bytes_sorted_by_name() {
    let home = Home::with_example();
    home.add_example("another");
    home.run(&["refresh", "--all"]).ok();
    let first = home.run(&["tools", "--json"]).ok();
    assert_eq!(first.stdout, home.run(&["tools", "--json"]).ok().stdout);
    let document = first.json();
    let tools = document["tools"].as_array().expect("a list of tools");
    let names: Vec<_> = tools
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert_eq!(
        names.len(),
        2 * EXAMPLE_TOOLS,
        "r_reg_03: the same name on two servers stays"
    );
    assert!(names.is_sorted(), "{names:?}");
}

#[test]
fn search_finds_by_words_and_says_so_when_it_does_not() {
    let home = Home::with_example();
    let hits = home
        .run(&["search", "--json", "--limit", "3", "add", "numbers"])
        .ok()
        .json();
    assert_eq!(hits["hits"][0]["name"], "example__add_numbers");
    assert!(hits["hits"].as_array().is_some_and(|hits| hits.len() <= 3));
    let none = home.run(&["search", "zzzzqqqq"]).ok();
    // With vectors the nearest tools are listed, without them nothing is.
    let is_empty = none.stdout.is_empty() && none.stderr.contains("No tool matches");
    assert!(
        is_empty || none.stderr.contains("No good match"),
        "{none:?}"
    );
}

#[test]
fn describe_shows_parameters_and_an_example_that_works() {
    let home = Home::with_example();
    let tool = home
        .run(&["describe", "example/add_numbers", "--json"])
        .ok()
        .json();
    assert_eq!(tool["name"], "example__add_numbers");
    assert_eq!(tool["parameters"][0]["name"], "a");
    assert_eq!(tool["parameters"][0]["required"], true);
    let example = tool["examples"][0]["arguments"].to_string();
    home.run(&["call", "example/add_numbers", "--args", &example])
        .ok();
    let text = home.run(&["describe", "example/add_numbers"]).ok().stdout;
    assert!(text.contains("PARAMETERS") && text.contains("pegboard call example__add_numbers"));
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let home = Home::with_example();
    let mut command = home.command(&["tools", "--json"]);
    let mut child = command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(output.status.success(), "{:?}", output.status);
}
