//! Invalid names and duplicates are reported, never resolved silently.

use crate::fixture::{Fixture, names, short};

#[track_caller]
fn check(file: &str, text: &str, servers: &[&str], broken: &[&str], problems: &[&str]) {
    let loaded = Fixture::with(file, text).load();
    assert_eq!(names(&loaded), servers, "{text}\n{:#?}", loaded.problems);
    assert_eq!(
        loaded.broken.keys().map(String::as_str).collect::<Vec<_>>(),
        broken,
        "{text}"
    );
    assert_eq!(short(&loaded), problems, "{text}\n{:#?}", loaded.problems);
}

#[test]
fn r_cfg_05_bad_names_are_reported_with_the_corrected_form() {
    check(
        "config.toml",
        "[servers.Git-Hub]\ncommand='a'\n[servers.ok]\ncommand='b'",
        &["ok"],
        &["Git-Hub"],
        &["error CONFIG_NAME Git-Hub:1"],
    );
    check(
        "config.toml",
        "[mcpServers.Git-Hub]\ncommand='a'\n[servers.ok]\ncommand='b'",
        &["git_hub", "ok"],
        &[],
        &["warning CONFIG_NAME Git-Hub:1"],
    );
    check(
        "config.toml",
        "[servers.mcp]\ncommand='a'",
        &[],
        &["mcp"],
        &["error CONFIG_NAME_RESERVED mcp:1"],
    );
    check(
        "config.json",
        r#"{"mcpServers":{"a__b":{"command":"a"},"x/y":{"command":"a"},"":{"command":"a"}}}"#,
        &["x_y"],
        &["", "a__b"],
        &[
            "error CONFIG_NAME a__b:1",
            "warning CONFIG_NAME x/y:1",
            "error CONFIG_NAME :1",
        ],
    );
    let loaded = Fixture::with("config.toml", "[servers.Git-Hub]\ncommand='a'").load();
    assert_eq!(loaded.problems[0].help, "rename it to `git_hub`");
}

#[test]
fn r_cfg_05_two_names_with_the_same_form_are_an_error_that_names_both() {
    let text = "{\"mcpServers\":{\n\"my-server\":{\"command\":\"a\"},\n\"other\":{\"command\":\"b\"},\n\"my_server\":{\"command\":\"c\"}}}";
    check(
        "config.json",
        text,
        &["other"],
        &["my_server"],
        &[
            "warning CONFIG_NAME my-server:2",
            "error CONFIG_NAME my-server:4",
        ],
    );
    let loaded = Fixture::with("config.json", text).load();
    assert!(
        loaded.problems[1].message.contains("line 2 and line 4"),
        "{}",
        loaded.problems[1]
    );
}

#[test]
fn a_duplicate_server_is_ignored_in_every_format() {
    let both = &["error CONFIG_DUPLICATE a:3"];
    check(
        "config.toml",
        "[servers.a]\ncommand='x'\n[servers.a]\ncommand='y'\n[servers.b]\ncommand='z'",
        &["b"],
        &["a"],
        both,
    );
    check(
        "config.yaml",
        "servers:\n  a: { command: x }\n  a: { command: y }\n  b: { command: z }\n",
        &["b"],
        &["a"],
        both,
    );
    check(
        "config.json",
        "{\"servers\":{\n\"a\":{\"command\":\"x\"},\n\"a\":{\"command\":\"y\"},\"b\":{\"command\":\"z\"}}}",
        &["b"],
        &["a"],
        both,
    );
    check(
        "config.toml",
        "[servers.a]\ncommand='x'\n[mcpServers.a]\ncommand='y'\n[servers.b]\ncommand='z'",
        &["b"],
        &["a"],
        both,
    );
    let loaded = Fixture::with(
        "config.toml",
        "[servers.a]\ncommand='x'\n[servers.a]\ncommand='y'",
    )
    .load();
    assert!(
        loaded.problems[0].message.contains("line 1 and line 3"),
        "{}",
        loaded.problems[0]
    );
}

#[test]
fn a_duplicate_key_breaks_only_its_server() {
    let one = &["error CONFIG_DUPLICATE a:3"];
    check(
        "config.toml",
        "[servers.a]\ncommand='x'\ncommand='y'\n[servers.b]\ncommand='z'",
        &["b"],
        &["a"],
        one,
    );
    check(
        "config.toml",
        "[servers.a]\nenv.K='x'\nenv.K='y'\ncommand='c'\n[servers.b]\ncommand='z'",
        &["b"],
        &["a"],
        one,
    );
    check(
        "config.yaml",
        "servers:\n  a: { command: x,\n    command: y }\n  b: { command: z }\n",
        &["b"],
        &["a"],
        one,
    );
    check(
        "config.json",
        "{\"servers\":{\"a\":\n{\"command\":\"x\",\n\"command\":\"y\"},\"b\":{\"command\":\"z\"}}}",
        &["b"],
        &["a"],
        one,
    );
    check(
        "config.toml",
        "[settings]\nttl='1m'\nttl='2m'\n[servers.b]\ncommand='z'",
        &["b"],
        &[],
        &["error CONFIG_DUPLICATE -:3"],
    );
    let loaded = Fixture::with("config.toml", "[settings]\nttl='1m'\nttl='2m'\n").load();
    assert_eq!(loaded.settings.ttl.as_secs(), 300, "neither counts");
}

#[test]
fn both_roots_in_one_file_are_merged() {
    check(
        "config.yaml",
        "servers:\n  a: { command: x }\nmcpServers:\n  b: { command: y }\n",
        &["a", "b"],
        &[],
        &[],
    );
    check(
        "config.yaml",
        "servers:\nmcpServers:\n  b: { command: y }\n",
        &["b"],
        &[],
        &[],
    );
    check(
        "config.yaml",
        "servers: [a]\n",
        &[],
        &[],
        &["error CONFIG_INVALID -:1"],
    );
    check(
        "config.json",
        "{\"servers\":{\n\"a\":{\"command\":\"x\"}},\n\"servers\":{\"b\":{\"command\":\"y\"}}}",
        &[],
        &["a", "b"],
        &["error CONFIG_DUPLICATE -:3"],
    );
}

#[test]
fn r_cfg_04_unknown_root_keys_are_reported_with_a_suggestion() {
    check(
        "config.toml",
        "[server.a]\ncommand='x'",
        &[],
        &[],
        &["warning CONFIG_UNKNOWN_KEY -:1"],
    );
    let loaded = Fixture::with("config.toml", "[mcp_servers.a]\ncommand='x'").load();
    assert_eq!(loaded.problems[0].help, "did you mean `mcpServers`?");
    check(
        "config.json",
        "{\"$schema\":\"x\",\"servers\":{}}",
        &[],
        &[],
        &[],
    );
    check(
        "config.json",
        "[1]",
        &[],
        &[],
        &["error CONFIG_INVALID -:1"],
    );
    check("config.json", "", &[], &[], &["warning CONFIG_INVALID -:-"]);
}

#[test]
fn r_cfg_04_a_file_that_cannot_be_parsed_is_reported_with_its_line() {
    for (file, text, line) in [
        ("config.toml", "[servers.a]\ncommand = \"x\n[servers.b]", 2),
        ("config.toml", "a = 1\n[servers", 2),
        ("config.json", "{\n\"servers\": {\n", 2),
        ("config.json", "{\n\"servers\" {}}", 2),
        ("config.json", "{} {}", 1),
        ("config.yaml", "servers:\n  a: { command: x\n", 3),
        ("config.yaml", "a: b\n---\nc: d\n", 2),
        ("config.yaml", "servers:\n\ta: 1\n", 2),
    ] {
        let loaded = Fixture::with(file, text).load();
        let problem = &loaded.problems[0];
        assert_eq!(
            problem.reason,
            pegboard_model::Reason::ConfigParse,
            "{text}: {problem}"
        );
        assert_eq!(problem.line, Some(line), "{text}: {problem}");
    }
}

#[test]
fn r_cfg_04_a_json_syntax_error_is_reported_with_its_place_and_a_fix() {
    for (text, line, column, help) in [
        ("{\n  \"servers\": {} # mine\n}", 2, 17, "`// …`"),
        ("{\"servers\": {},,}", 1, 16, "remove this `,`"),
        ("{\"servers\": {}\n\"settings\": {}}", 1, 15, "put a `,`"),
        ("{'servers': {}}", 1, 2, "double quotes"),
        ("{servers: {}}", 1, 2, "double quotes"),
        ("{\"servers\" {}}", 1, 12, "put a `:`"),
        ("{\"servers\": {", 1, 13, "missing `}`"),
        ("{} {}", 1, 4, "remove everything after"),
    ] {
        let loaded = Fixture::with("config.json", text).load();
        let problem = &loaded.problems[0];
        assert!(problem.help.contains(help), "{text}: {problem}");
        let place = (problem.line, problem.column);
        assert_eq!(place, (Some(line), Some(column)), "{text}: {problem}");
    }
}

#[test]
fn r_cfg_04_text_of_another_encoding_is_reported_with_its_place() {
    let fixture = Fixture::with("config.json", "");
    for (bytes, line, column) in [
        (&b"\xff\xfe{\0}\0"[..], 1, 1),
        (b"{\r\n  \"caf\xe9\": 1}", 2, 7),
    ] {
        std::fs::write(fixture.paths().config_dir.join("config.json"), bytes).unwrap();
        let loaded = fixture.load();
        let problem = &loaded.problems[0];
        assert_eq!(problem.reason, pegboard_model::Reason::ConfigParse);
        let place = (problem.line, problem.column);
        assert_eq!(place, (Some(line), Some(column)), "{problem}");
        assert!(problem.to_string().contains("UTF-8"), "{problem}");
    }
}

#[test]
fn r_cfg_04_a_broken_project_file_leaves_the_users_servers() {
    let loaded = Fixture::with("config.toml", "[servers.a]\ncommand='x'")
        .project(".mcp.json", "{")
        .load();
    assert_eq!(names(&loaded), ["a"]);
    assert_eq!(short(&loaded).len(), 1);
}

#[test]
fn a_broken_server_of_the_project_hides_the_one_it_replaces() {
    let loaded = Fixture::with("config.toml", "[servers.a]\ncommand='x'")
        .project(".mcp.json", r#"{"mcpServers":{"a":{}}}"#)
        .load();
    assert!(names(&loaded).is_empty());
    assert!(loaded.broken.contains_key("a"));
}
