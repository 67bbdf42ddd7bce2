//! Undiscovered servers: how reading commands handle them, and what discovers them.

use pegboard_testkit::{Script, starts_in, wait_until_sync};
use serde_json::json;

use crate::support::{Home, TIMEOUT, http, mcp};
use crate::terminal::AtTerminal;

fn slow(home: &Home, delay_ms: u64) {
    let script = Script::new().tools(["one"]).start_delay_ms(delay_ms);
    home.add_script("slow", &script.count_in(home.path("count")), "");
}

fn starts(home: &Home) -> usize {
    starts_in(&home.path("count")).len()
}

#[test]
fn r_disc_01_a_slow_server_delays_one_command_and_a_note_says_what_to_run() {
    let home = Home::new();
    slow(&home, 60_000);
    for args in [&["tools"][..], &["tools"], &["search", "one"], &["context"]] {
        let run = home.run(args).ok();
        let note = "not discovered yet: slow. Run `pegboard refresh slow`, which waits for it.";
        assert!(run.stderr.contains(note), "{args:?}: {}", run.stderr);
        assert_eq!(starts(&home), 1, "{args:?} starts it no second time");
    }
    home.assert_nothing_runs();
}

#[test]
fn r_disc_13_at_a_terminal_a_command_waits_for_the_first_list_and_shows_the_progress() {
    let home = Home::new();
    slow(&home, 4_000);
    let mut terminal = AtTerminal::start(home.command(&["tools"]));
    terminal.wait_for("starting slow, ");
    assert_eq!(terminal.ends(), 0, "{}", terminal.seen());
    let seen = terminal.seen();
    assert!(seen.contains("slow__one"), "{seen}");
    assert_eq!(starts(&home), 1);
}

#[test]
fn r_disc_07_trusting_a_server_discovers_it_at_once() {
    let home = Home::new();
    let script = Script::new().tools(["one"]).count_in(home.path("count"));
    let (command, args) = script.stdio_command();
    let file = json!({"mcpServers": {"theirs": {"command": command, "args": args}}});
    home.write("project/.mcp.json", &file.to_string());
    // It counts its starts in a file outside the project.
    home.write(
        "config/config.toml",
        "[settings]\nproject_sandbox = \"off\"\n",
    );
    home.run(&["trust", "theirs", "--yes", "--no-discover"])
        .ok();
    assert_eq!(starts(&home), 0);
    home.run(&["trust", "theirs", "--revoke"]).ok();

    let run = home.run(&["trust", "theirs", "--yes"]).ok();
    assert!(run.stdout.contains("✓ theirs  1 tool"), "{}", run.stdout);
    assert!(run.stdout.contains("    + one\n"), "{}", run.stdout);
    let listed = home.run(&["tools", "--json"]).ok().json();
    assert_eq!(listed["tools"][0]["name"], "theirs__one", "{listed}");
    assert_eq!(starts(&home), 1, "the list was kept");
}

#[test]
fn r_disc_08_an_edited_definition_shows_what_changed_against_the_one_before() {
    let home = Home::new();
    home.add_script("s", &Script::new().tools(["kept", "gone"]), "");
    home.run(&["refresh", "s"]).ok();
    let script = Script::new().tools(["kept", "new"]);
    home.write("config/config.toml", "");
    home.add_script("s", &script, "");
    let delta = home.run(&["refresh", "s", "--json"]).ok().json();
    let delta = &delta["servers"][0]["delta"];
    assert_eq!(delta["added"], json!(["new"]), "{delta}");
    assert_eq!(delta["removed"], json!(["gone"]), "{delta}");
    assert_eq!(delta["unchanged"], 1, "{delta}");
}

#[test]
fn r_disc_01_serving_discovers_nothing_until_a_client_connects() {
    let home = Home::new();
    slow(&home, 0);
    let mut serve = home.start(&["serve", "--port", "0"]);
    serve.wait_for("0 tools in the catalog");
    let endpoint = serve.output();
    let line = endpoint
        .lines()
        .find_map(|line| line.strip_prefix("MCP endpoint  "));
    let url = line.expect("the address is printed").to_owned();
    let token = home.run(&["token"]).ok().stdout.trim().to_owned();
    let admin = home
        .run(&["token", "--admin"])
        .ok()
        .stdout
        .trim()
        .to_owned();
    let bearer = format!("Bearer {admin}");
    let servers = url.replace("/mcp", "/api/v1/servers");
    let (status, body) = http(&servers, "GET", &[("Authorization", &bearer)], "");
    assert_eq!((status, starts(&home)), (200, 0), "{body}");
    assert!(!serve.output().contains("✓ slow"), "{}", serve.output());

    assert_eq!(mcp(&url, &token, "tools/list", json!({})).0, 200);
    let (status, response) = mcp(&url, &token, "server/discover", json!({}));
    assert_eq!(status, 200, "{response}");
    wait_until_sync("a client's session discovers it", TIMEOUT, || {
        serve.output().contains("✓ slow")
    });
    serve.signal("-TERM");
    assert!(serve.wait().success());
}

#[test]
fn r_disc_01_listing_over_the_api_starts_discovery() {
    let home = Home::new();
    slow(&home, 0);
    let mut serve = home.start(&["serve", "--port", "0"]);
    serve.wait_for("0 tools in the catalog");
    let printed = serve.output();
    let line = printed
        .lines()
        .find_map(|line| line.strip_prefix("MCP endpoint  "));
    let tools = line
        .expect("the address is printed")
        .replace("/mcp", "/api/v1/tools");
    let token = home.run(&["token"]).ok().stdout.trim().to_owned();
    let bearer = format!("Bearer {token}");
    assert_eq!(
        http(&tools, "GET", &[("Authorization", &bearer)], "").0,
        200
    );
    serve.wait_for("✓ slow");
    serve.signal("-TERM");
    assert!(serve.wait().success());
}
