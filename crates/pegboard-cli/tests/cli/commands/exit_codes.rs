//! Each exit code with a real failure.

use pegboard_testkit::Script;

use crate::support::Home;

/// A machine with a server for each failure.
fn home() -> Home {
    let home = Home::with_example();
    home.add("gone", "no-such-program-anywhere", &[], "");
    home.add_script(
        "failing",
        &Script::new()
            .tools(["work"])
            .with(|s| s.call.is_error = true),
        "",
    );
    home.add_script(
        "denied",
        &Script::new().tools(["work"]),
        "policy = \"deny\"",
    );
    home.add_script("off", &Script::new().tools(["work"]), "enabled = false");
    home
}

#[track_caller]
fn check(home: &Home, args: &[&str], code: i32, reason: &str) {
    let run = home.run(args).exits(code);
    let printed = format!("{}{}", run.stdout, run.stderr);
    assert!(
        printed.contains(reason),
        "{args:?} does not say {reason}:\n{printed}"
    );
}

#[test]
fn every_exit_code_is_reached_by_a_real_case() {
    let home = home();
    check(
        &home,
        &["call", "example/add_numbers", "a=1", "b=2"],
        0,
        "{\"sum\":3}",
    );
    check(&home, &["--help"], 0, "Exit codes: 0 ok, 1 failure");
    check(&home, &["--version"], 0, "pegboard 0.");

    check(&home, &[], 2, "Usage:");
    check(&home, &["lst"], 2, "list");
    check(&home, &["call", "example/add_numbers"], 2, "ARGS_INVALID");
    check(&home, &["call", "__x"], 2, "TOOL_NAME_INVALID");
    check(&home, &["--config", "nowhere.toml", "list"], 2, "CONFIG_IO");
    check(&home, &["--project", "nowhere", "list"], 2, "CONFIG_IO");

    check(&home, &["refresh", "gone"], 3, "SPAWN_NOT_FOUND");
    check(&home, &["refresh", "--all"], 3, "SPAWN_NOT_FOUND");
    check(&home, &["doctor", "gone"], 3, "SPAWN_NOT_FOUND");
    check(&home, &["call", "gone/work"], 3, "SPAWN_NOT_FOUND");
    check(&home, &["up", "--once"], 3, "SPAWN_NOT_FOUND");

    check(&home, &["call", "failing/work"], 5, "{\"tool\":\"work\"");

    check(&home, &["call", "denied/work"], 6, "POLICY_DENIED");
    check(&home, &["call", "off/work"], 6, "SERVER_DISABLED");
    check(&home, &["refresh", "off"], 6, "SERVER_DISABLED");

    check(&home, &["show", "exmple"], 7, "did you mean example?");
    check(&home, &["call", "exmple/echo"], 7, "did you mean example?");
    check(
        &home,
        &["call", "example/ecko"],
        7,
        "did you mean example__echo",
    );
    check(
        &home,
        &["call", "ad_numbers"],
        7,
        "did you mean example__add_numbers",
    );
    check(&home, &["describe", "nothing_like_it"], 7, "TOOL_UNKNOWN");
    for command in [
        "remove", "enable", "disable", "refresh", "logs", "doctor", "tools", "trust",
    ] {
        check(&home, &[command, "exmple"], 7, "SERVER_UNKNOWN");
    }
    check(&home, &["config", "explain", "exmple"], 7, "SERVER_UNKNOWN");
}

#[test]
fn exit_code_1_a_state_folder_that_cannot_be_used() {
    let mut home = Home::new();
    let file = home.write("a-file", "in the way");
    home.set("PEGBOARD_STATE_DIR", &file.display().to_string());
    check(&home, &["list"], 1, "STORE_IO");
}

#[test]
fn exit_code_4_a_server_that_wants_a_login() {
    let home = Home::new();
    let script = Script::new().tools(["work"]);
    let server = script
        .with(|s| s.http.bearer = Some("right-token".to_owned()))
        .serve_http();
    let run = home.run(&["add", "web", &server.url(), "--json"]).exits(4);
    assert_eq!(run.json()["error"]["reason"], "LOGIN_NEEDED");
    check(&home, &["call", "web/work"], 4, "pegboard login web");
    check(&home, &["doctor", "web"], 4, "LOGIN_NEEDED");
}

#[test]
fn an_ambiguous_tool_name_requires_a_server() {
    let home = Home::with_example();
    home.add_example("other");
    home.run(&["refresh", "--all"]).ok();
    let run = home.run(&["call", "echo", "text=x", "--json"]).exits(2);
    assert_eq!(run.error()["reason"], "TOOL_AMBIGUOUS");
    assert_eq!(
        run.error()["nearest"],
        serde_json::json!(["example__echo", "other__echo"])
    );
}
