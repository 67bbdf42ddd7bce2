//! Problems are reported with their location and affect only their server or file.

use crate::support::{EXAMPLE_TOOLS, Home};

#[track_caller]
fn check(broken: &str, line: usize, column: usize, message: &str, instead: &str) {
    let home = Home::with_example();
    let good = home.config();
    let file = home.write("config/config.toml", &format!("{good}{broken}"));
    let first = good.lines().count();
    let place = format!("{}:{}:{column}", file.display(), first + line);

    let run = home.run(&["tools", "--json"]).ok();
    assert_eq!(
        run.json()["total"],
        EXAMPLE_TOOLS,
        "the good server works:\n{}",
        run.stderr
    );
    for words in [place.as_str(), message, instead] {
        assert!(
            run.stderr.contains(words),
            "`{words}` is not in:\n{}",
            run.stderr
        );
    }
    home.run(&["call", "example/echo", "text=hi"]).ok();
    let run = home.run(&["config", "check", "--json"]).exits(2);
    assert_eq!(run.json()["problems"][0]["line"], first + line);
    assert_eq!(run.json()["problems"][0]["column"], column);
}

#[test]
fn r_cfg_04_a_broken_server_is_reported_with_its_position_and_the_others_work() {
    check(
        "[servers.bad]\nurl = 3\n",
        2,
        7,
        "`url` is not a valid URL",
        "write `url = ",
    );
    check(
        "[servers.bad]\n",
        1,
        10,
        "neither `command` nor `url`",
        "write `command` and `args`",
    );
    check(
        "[servers.bad]\ncommand = \"x\"\nargs = \"y\"\n",
        3,
        8,
        "must be a list",
        "args = [",
    );
    check(
        "[servers.bad]\ncommand = \"x\"\nenabled = \"yes\"\n",
        3,
        11,
        "true or false",
        "enabled = true",
    );
    check(
        "[servers.bad]\ncommand = \"${NOWHERE_SET}\"\n",
        2,
        11,
        "NOWHERE_SET",
        "${NOWHERE_SET:-",
    );
    check(
        "[servers.Bad-Name]\ncommand = \"x\"\n",
        1,
        10,
        "Bad-Name",
        "bad_name",
    );
}

#[test]
fn r_cfg_04_a_broken_server_is_reported_by_every_command_that_names_it() {
    let home = Home::with_example();
    home.write(
        "config/config.toml",
        &format!("{}[servers.bad]\nurl = 3\n", home.config()),
    );
    for args in [
        &["show", "bad"][..],
        &["refresh", "bad"],
        &["call", "bad/x"],
        &["describe", "bad/x"],
    ] {
        let run = home.run(args).exits(2);
        assert!(
            run.stderr.contains("server `bad` cannot be used"),
            "{args:?}: {}",
            run.stderr
        );
    }
    let list = home.run(&["list", "--json"]).ok().json();
    assert_eq!(list["broken"], serde_json::json!(["bad"]));
}

#[test]
fn r_cfg_05_a_call_to_a_server_with_an_invalid_name_says_what_is_wrong() {
    let home = Home::with_example();
    let program = crate::support::PEGBOARD;
    let servers = ["mcp", "a__b", "\"a/b\""].map(|name| {
        format!("[servers.{name}]\ncommand = \"{program}\"\nargs = [\"example-server\"]\n")
    });
    home.write(
        "config/config.toml",
        &format!("{}{}", home.config(), servers.concat()),
    );
    for (tool, server, code) in [
        ("mcp/echo", "mcp", "CONFIG_NAME_RESERVED"),
        ("mcp__echo", "mcp", "CONFIG_NAME_RESERVED"),
        ("a__b__echo", "a__b", "CONFIG_NAME"),
        ("a/b/echo", "a/b", "CONFIG_NAME"),
    ] {
        for command in ["call", "describe"] {
            let run = home.run(&[command, tool, "--quiet"]).exits(2);
            let message = format!("server `{server}` cannot be used");
            assert!(run.stderr.contains(&message), "{tool}: {}", run.stderr);
            assert!(run.stderr.contains(code), "{tool}: {}", run.stderr);
        }
    }
    home.run(&["call", "example/echo", "text=hi"]).ok();
}

#[test]
fn r_cfg_04_a_skipped_file_is_reported_even_with_quiet() {
    let home = Home::new();
    home.write("config/config.toml", "[servers\n");
    for args in [
        &["list", "--quiet"][..],
        &["tools", "--quiet", "--json"],
        &["search", "x", "--quiet"],
    ] {
        let run = home.run(args).ok();
        assert!(
            run.stderr.contains("CONFIG_PARSE"),
            "{args:?}: {}",
            run.stderr
        );
        assert!(
            run.stderr.contains("config.toml:1:"),
            "{args:?}: {}",
            run.stderr
        );
    }
}

#[test]
fn r_cfg_04_an_unparsable_file_does_not_affect_other_files() {
    let home = Home::new();
    home.write("config/config.toml", "[servers\n");
    let program = crate::support::PEGBOARD;
    home.write("project/.mcp.json", &format!(r#"{{"mcpServers": {{"theirs": {{"command": "{program}", "args": ["example-server"]}}}}}}"#));
    home.run(&["trust", "--yes"]).ok();
    let run = home.run(&["call", "theirs/echo", "text=hi"]).ok();
    assert_eq!(run.stdout, "hi\n");
    assert!(run.stderr.contains("config.toml:1:"), "{}", run.stderr);
}

#[test]
fn strict_fails_on_warnings() {
    let home = Home::with_example();
    home.run(&["config", "check", "--strict"]).ok();
    home.write(
        "config/config.toml",
        &format!("{}nonsense = 1\n", home.config()),
    );
    home.run(&["config", "check"]).ok();
    home.run(&["config", "check", "--strict"]).exits(2);
}

#[test]
fn r_sec_01_strict_refuses_a_file_that_others_can_change() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::with_example();
    let file = home.write("config/config.toml", &home.config());
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).unwrap();
    let run = home.run(&["call", "example/echo", "text=hi"]).ok();
    assert!(
        run.stderr.contains("warning[CONFIG_PERMISSION]"),
        "{}",
        run.stderr
    );
    let run = home
        .run(&["--strict", "call", "example/echo", "text=hi"])
        .exits(2);
    assert_eq!(run.stdout, "");
    assert!(run.stderr.contains("chmod go-w"), "{}", run.stderr);
    let list = home.run(&["list", "--json", "--strict"]).ok().json();
    assert_eq!(list["broken"], serde_json::json!(["example"]));
}

#[test]
fn r_reg_09_tool_overrides_are_checked_once_tools_are_known() {
    let home = Home::new();
    let program = crate::support::PEGBOARD;
    let text = format!(
        r#"[servers.example]
command = "{program}"
args = ["example-server"]

[servers.example.tools.add_numbers]
summary = "Adds"
related = ["ecko", "example/echo", "other/thing"]
examples = [{{ arguments = {{ a = 1, b = 2 }}, expected_output = 3 }}, {{ arguments = {{ a = "x" }} }}]

[servers.example.tools]
add_number = "allow"
"#
    );
    let file = home.write("config/config.toml", &text);
    let run = home.run(&["config", "check"]).ok();
    assert!(
        run.stderr.contains("0 problems"),
        "unknown as yet: {}",
        run.stderr
    );
    home.run(&["refresh", "--all"]).ok();
    let expected = [
        (7, "related tool `ecko` of"),
        (7, "related tool `other/thing` of"),
        (8, "example 2 of tool `add_numbers` is invalid"),
        (11, "the server has no tool `add_number`"),
    ];
    let run = home.run(&["config", "check", "--json"]).ok();
    let document = run.json();
    let problems = document["problems"].as_array().unwrap();
    assert_eq!(problems.len(), expected.len(), "{problems:#?}");
    for (line, words) in expected {
        let is = |problem: &&serde_json::Value| {
            problem["message"]
                .as_str()
                .is_some_and(|text| text.contains(words))
        };
        let problem = problems.iter().find(is);
        let problem = problem.unwrap_or_else(|| panic!("`{words}` is not in {problems:#?}"));
        assert_eq!(problem["line"], line, "{problem}");
        assert_eq!(problem["severity"], "warning");
    }
    home.run(&["config", "check", "--strict"]).exits(2);
    let run = home.run(&["doctor"]).ok();
    for (line, words) in expected {
        let place = format!("({}:{line})", file.display());
        let message = run.stdout.lines().find(|message| message.contains(words));
        let message = message.unwrap_or_else(|| panic!("`{words}` is not in {}", run.stdout));
        assert!(
            message.starts_with('!') && message.contains(&place),
            "{message}"
        );
        assert!(message.contains("server `example`"), "{message}");
    }
    let run = home
        .run(&["describe", "example/add_numbers", "--json"])
        .ok();
    assert_eq!(run.json()["examples"][0]["expected_output"], 3);
}

#[test]
fn r_cfg_04_doctor_names_the_server_of_a_broken_definition() {
    let home = Home::new();
    let file = home.write("config/config.toml", "[servers.bad]\nurl = 3\n");
    let run = home.run(&["doctor"]).exits(2);
    assert!(
        run.stdout.contains("configuration: server `bad`: "),
        "{}",
        run.stdout
    );
    assert!(
        run.stdout.contains(&format!("({}:2)", file.display())),
        "{}",
        run.stdout
    );
}

#[test]
fn r_disc_04_a_missing_command_is_reported_with_a_suggestion() {
    let mut home = Home::new();
    let folder = home.path("bin");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("uvx"), "").unwrap();
    home.set("PATH", &folder.display().to_string());
    home.add("s", "uvxx", &["server"], "");
    let run = home.run(&["refresh", "s"]).exits(3);
    let message = format!("{}{}", run.stdout, run.stderr);
    assert!(message.contains("`uvxx` not found in PATH"), "{message}");
    assert!(message.contains("Did you mean `uvx`?"), "{message}");
    assert!(
        !message.contains(&folder.display().to_string()),
        "{message}"
    );
}
