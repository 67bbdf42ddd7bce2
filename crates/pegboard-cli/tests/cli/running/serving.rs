//! `up` and `serve`: MCP clients over HTTP, with the real program.

use std::net::TcpListener;

use pegboard_testkit::wait_until_sync;
use serde_json::json;

use crate::support::{Home, Running, TIMEOUT, http, mcp};

/// Returns the printed URL.
pub(super) fn endpoint(running: &Running) -> String {
    running.wait_for("/mcp\"");
    let printed = running.output();
    let line = printed
        .lines()
        .find_map(|line| line.strip_prefix("MCP endpoint  "));
    line.expect("the address is printed").to_owned()
}

pub(super) fn token(home: &Home) -> String {
    home.run(&["token"]).ok().stdout.trim().to_owned()
}

/// Opens a client session, which discovers undiscovered servers.
pub(super) fn open_session(home: &Home, running: &Running) {
    let (url, token) = (endpoint(running), token(home));
    let (status, response) = mcp(&url, &token, "server/discover", json!({}));
    assert_eq!(status, 200, "{response}");
}

#[test]
fn r_gate_01_up_serves_clients_at_the_address_it_prints_and_leaves_nothing_behind() {
    let home = Home::with_example();
    let mut up = home.start(&["up", "--port", "0"]);
    let url = endpoint(&up);
    let token = token(&home);
    let params = json!({"name": "call_tool", "arguments": {
        "tool_name": "example/add_numbers", "arguments": {"a": 1, "b": 2},
    }});
    let (status, response) = mcp(&url, &token, "tools/call", params);
    assert_eq!(status, 200, "{response}");
    assert_eq!(response["result"]["structuredContent"], json!({"sum": 3}));
    let health = url.replace("/mcp", "/healthz");
    let (status, body) = http(&health, "GET", &[], "");
    assert_eq!(status, 200);
    assert!(
        body.contains("\"ok\"") && body.contains(env!("CARGO_PKG_VERSION")),
        "{body}"
    );

    up.signal("-TERM");
    assert!(up.wait().success());
    let printed = up.output();
    assert!(
        printed.contains("$(pegboard token)") && printed.contains("\"stdio\""),
        "{printed}"
    );
    assert!(!printed.contains(&token), "the token is for terminals only");
    home.assert_nothing_runs();
}

#[test]
fn r_sec_03_the_token_is_required_and_can_be_rotated_while_running() {
    let home = Home::with_example();
    let mut serve = home.start(&["serve", "--port", "0"]);
    let url = endpoint(&serve);
    let list = |token: &str| mcp(&url, token, "tools/list", json!({})).0;
    let old = token(&home);
    assert_eq!((list(&old), list("wrong"), list("")), (200, 401, 401));
    let new = home
        .run(&["token", "--rotate"])
        .ok()
        .stdout
        .trim()
        .to_owned();
    assert_ne!(old, new);
    wait_until_sync("the new token counts", TIMEOUT, || list(&new) == 200);
    assert_eq!(list(&old), 401);
    serve.signal("-INT");
    assert!(serve.wait().success());
}

#[test]
fn r_sec_03_no_auth_is_limited_to_loopback_and_gives_a_warning() {
    let home = Home::with_example();
    for wide in ["0.0.0.0", "::"] {
        let run = home.run(&["serve", "--no-auth", "--listen", wide, "--port", "0"]);
        let run = run.exits(2);
        assert!(run.stderr.contains("--no-auth"), "{}", run.stderr);
    }
    let mut serve = home.start(&["serve", "--no-auth", "--port", "0"]);
    let url = endpoint(&serve);
    serve.wait_for("warning: every program on this machine");
    assert_eq!(mcp(&url, "", "tools/list", json!({})).0, 200);
    let evil = [("Origin", "http://evil.example")];
    assert_eq!(
        http(&url.replace("/mcp", "/healthz"), "GET", &evil, "").0,
        403
    );
    serve.signal("-TERM");
    assert!(serve.wait().success());
}

#[test]
fn r_sec_03_a_public_address_gives_a_warning_and_host_names_must_be_allowed() {
    let home = Home::with_example();
    let args = [
        "serve",
        "--listen",
        "0.0.0.0",
        "--port",
        "0",
        "--allow-host",
        "box.lan",
    ];
    let mut serve = home.start(&args);
    let url = endpoint(&serve);
    serve.wait_for("is reachable from other machines");
    let health = url.replace("/mcp", "/healthz");
    assert_eq!(http(&health, "GET", &[], "").0, 200);
    serve.signal("-TERM");
    assert!(serve.wait().success());
}

#[test]
fn r_gate_01_a_requested_port_is_used_or_the_command_fails() {
    let home = Home::with_example();
    let other = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = other.local_addr().expect("its address").port().to_string();
    let run = home.run(&["serve", "--port", &port, "--json"]).exits(2);
    assert_eq!(run.error()["reason"], "ADDRESS_IN_USE");
    assert!(
        run.error()["remedy"].to_string().contains("--port"),
        "{}",
        run.stderr
    );
    let beside = format!("127.0.0.1:{port}");
    let run = home.run(&["serve", "--listen", &beside, "--json"]).exits(2);
    assert_eq!(run.error()["reason"], "ADDRESS_IN_USE");
    let run = home
        .run(&["serve", "--listen", &beside, "--port", "1"])
        .exits(2);
    assert!(run.stderr.contains("contradict"), "{}", run.stderr);
    home.write(
        "config/config.toml",
        &format!("[settings]\nport = {port}\n{}", home.config()),
    );
    let run = home.run(&["up", "--json"]).exits(2);
    assert_eq!(run.error()["reason"], "ADDRESS_IN_USE");
}

#[test]
fn r_gate_01_without_a_requested_port_a_free_one_is_used_and_reported() {
    let home = Home::with_example();
    let mut held = None;
    // Another test may be using the port.
    wait_until_sync("7340 is ours", TIMEOUT, || {
        held = TcpListener::bind("127.0.0.1:7340").ok();
        held.is_some()
    });
    let mut serve = home.start(&["serve"]);
    let url = endpoint(&serve);
    assert!(!url.contains(":7340/"), "{url}");
    assert!(
        serve.output().contains("port 7340 is taken"),
        "{}",
        serve.output()
    );
    assert_eq!(mcp(&url, &token(&home), "tools/list", json!({})).0, 200);
    serve.signal("-TERM");
    assert!(serve.wait().success());
}

#[test]
fn r_cfg_01_profiles_are_reloaded_while_running() {
    let home = Home::with_example();
    let servers = home.config();
    let mut serve = home.start(&["serve", "--port", "0"]);
    let url = endpoint(&serve);
    let token = token(&home);
    let tools = |profile: &str| {
        let (status, response) = mcp(&format!("{url}{profile}"), &token, "tools/list", json!({}));
        let tools = response["result"]["tools"].as_array().map_or(0, Vec::len);
        (status, tools)
    };
    assert_eq!((tools(""), tools("/work").0), ((200, 5), 404));
    let profiles = "[profiles.work]\nmode = 'direct'\nservers = ['example']\n\
                    [profiles.default]\npinned = ['example/echo']\n";
    home.write("config/config.toml", &format!("{servers}{profiles}"));
    wait_until_sync("the profile is there", TIMEOUT, || {
        tools("/work") == (200, 16)
    });
    assert_eq!(tools(""), (200, 6));
    home.write("config/config.toml", &servers);
    wait_until_sync("the profile is gone", TIMEOUT, || tools("/work").0 == 404);
    assert_eq!(tools(""), (200, 5));
    serve.signal("-TERM");
    assert!(serve.wait().success());
}

#[test]
fn r_lib_02_serve_can_end_with_its_input_and_is_then_not_shared() {
    let home = Home::with_example();
    let args = ["serve", "--json", "--port", "0", "--reuse", "--exit-on-eof"];
    let mut command = home.command(&args);
    let (reader, input) = std::io::pipe().expect("a pipe");
    command.stdin(reader);
    let mut serve = Running::with_input(command);
    serve.wait_for("\"reused\": false");
    // Others do not find it, because it ends with the program that started it.
    let dashboard = home.run(&["dashboard"]);
    assert!(
        dashboard.stderr.contains("NOT_RUNNING"),
        "{}",
        dashboard.stderr
    );
    drop(input);
    assert!(serve.wait().success());
    // Without a pipe it would never end, or at once.
    let refused = Running::of(home.command(&args)).wait();
    assert_eq!(refused.code(), Some(2));
    home.assert_nothing_runs();
}

#[test]
fn r_lib_02_reuse_prints_the_address_of_a_pegboard_with_the_same_configuration() {
    let home = Home::with_example();
    let mut serve = home.start(&["serve", "--port", "0"]);
    let url = endpoint(&serve);
    let reused = home.run(&["serve", "--reuse", "--json"]).ok().json();
    assert_eq!(
        (&reused["url"], &reused["reused"]),
        (&json!(url), &json!(true))
    );
    let shown = home.run(&["serve", "--reuse"]).ok().stdout;
    assert!(shown.contains(&url), "{shown}");
    // Other files, other servers: it starts its own.
    let other = home.write("other.toml", "");
    let other = other.display().to_string();
    let mut own = home.start(&["serve", "--port", "0", "--reuse", "--config", &other]);
    assert_ne!(endpoint(&own), url);
    for running in [&mut own, &mut serve] {
        running.signal("-TERM");
        assert!(running.wait().success());
    }
    home.assert_nothing_runs();
}
