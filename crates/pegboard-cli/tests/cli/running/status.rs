//! `pegboard status`: finds the running Pegboard and never prints a token.

use pegboard_testkit::wait_until_sync;
use serde_json::{Value, json};

use super::serving::{endpoint, open_session, token};
use super::stdio::{call, conversation};
use crate::support::{Home, TIMEOUT, http};

#[test]
fn r_cli_05_without_a_running_pegboard_the_exit_code_is_3() {
    let home = Home::with_example();
    home.add("gone", "no-such-program-anywhere", &[], "");
    home.run(&["refresh", "gone"]).exits(3);
    let run = home.run(&["status", "--json"]).exits(3);
    let status = run.json();
    assert_eq!(status["running"], Value::Null);
    assert_eq!(status["clients"], Value::Null);
    assert_eq!(
        status["token"],
        json!({"file": null, "command": "pegboard token"})
    );
    assert_eq!(
        status["servers"]["by_state"],
        json!({"failed": 1, "known": 1})
    );
    assert_eq!(status["tools"], 16);
    assert_eq!(status["last_errors"][0]["server"], "gone");
    assert!(status["store"]["bytes"].as_u64() > Some(1_000), "{status}");
    let text = home.run(&["status"]).exits(3).stdout;
    assert!(
        text.contains("not running") && text.contains("1 failed, 1 known"),
        "{text}"
    );
}

#[test]
fn r_cli_05_a_running_pegboard_is_found_with_its_clients_and_without_its_token() {
    let home = Home::with_example();
    let mut up = home.start(&["up", "--port", "0"]);
    let url = endpoint(&up);
    open_session(&home, &up);
    let token = token(&home);
    let run = home.run(&["status", "--json"]).ok();
    let status = run.json();
    let running = &status["running"];
    assert_eq!(running["mcp_url"], url.as_str());
    assert_eq!(running["url"], url.trim_end_matches("/mcp"));
    assert_eq!(running["pid"], up.pid());
    assert_eq!(running["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(running["reachable"], true);
    assert!(running["since"].is_u64(), "{status}");
    assert_eq!(
        status["clients"].as_array().map(Vec::len),
        Some(1),
        "{status}"
    );
    let file = status["token"]["file"].as_str().expect("a file");
    let stored = std::fs::read_to_string(file).expect("the token's file");
    assert_eq!(stored.trim(), token);
    let text = home.run(&["status"]).ok();
    for printed in [&run.stdout, &run.stderr, &text.stdout, &text.stderr] {
        assert!(!printed.contains(&token), "{printed}");
    }
    assert!(
        text.stdout.contains("running at http://127.0.0.1:"),
        "{}",
        text.stdout
    );

    // Another one on the same port says who is there.
    let port = url
        .rsplit_once(':')
        .and_then(|(_, rest)| rest.split('/').next());
    let second = home.run(&["up", "--port", port.expect("a port")]).exits(2);
    let said = format!(
        "Pegboard already runs at {}/ (process {})",
        url.trim_end_matches("/mcp"),
        up.pid()
    );
    assert!(second.stderr.contains(&said), "{}", second.stderr);

    up.signal("-TERM");
    assert!(up.wait().success());
    home.run(&["status"]).exits(3);
}

#[test]
fn r_cli_05_errors_of_the_configuration_have_exit_code_2() {
    let home = Home::new();
    home.write(
        "config/config.toml",
        "[servers.a]\ncommand = \"x\"\ndiscovery_timeout = \"soon\"\n",
    );
    let status = home.run(&["status", "--json"]).exits(2).json();
    assert_eq!(status["config"]["errors"], 1);
    assert_eq!(status["servers"]["broken"], json!(["a"]));
}

#[test]
fn r_cli_06_activity_names_the_client_and_can_be_filtered_by_it() {
    let home = Home::with_example();
    let sum = call(2, "example__add_numbers", json!({"a": 1, "b": 2}));
    home.run_with_input(&["stdio"], &conversation(&[sum])).ok();
    home.run(&["call", "example/add_numbers", "a=1", "b=2"])
        .ok();
    let of = |args: &[&str]| -> Vec<String> {
        let run = home.run(&[&["activity", "--json"], args].concat()).ok();
        let lines = run.json()["activity"].as_array().expect("a list").clone();
        let clients = lines.iter().filter_map(|line| line["client"].as_str());
        clients.map(str::to_owned).collect()
    };
    wait_until_sync("the activity is stored", TIMEOUT, || {
        of(&[]) == ["cli", "t 1"]
    });
    assert_eq!(of(&["--client", "T"]), ["t 1"]);
    assert_eq!(of(&["--client", "cli", "-n", "1"]), ["cli"]);
    assert!(of(&["--client", "unknown"]).is_empty());
    let table = home.run(&["activity"]).ok().stdout;
    assert!(
        table
            .lines()
            .next()
            .is_some_and(|head| head.contains("CLIENT")),
        "{table}"
    );
}

#[test]
fn r_cli_06_the_api_returns_the_client_of_an_entry() {
    let home = Home::with_example();
    let up = home.start(&["up", "--port", "0"]);
    let url = endpoint(&up).replace("/mcp", "/api/v1");
    let bearer = format!("Bearer {}", token(&home));
    let headers = [
        ("Authorization", bearer.as_str()),
        ("Content-Type", "application/json"),
    ];
    let body = json!({"arguments": {"a": 1, "b": 2}}).to_string();
    let tool = format!("{url}/tools/example__add_numbers/call");
    let (status, answer) = http(&tool, "POST", &headers, &body);
    assert_eq!(status, 200, "{answer}");
    // Entries are written in batches.
    let activity = format!("{url}/activity");
    pegboard_testkit::wait_until_sync("the entry of the call", TIMEOUT, || {
        let (_, page) = http(&activity, "GET", &headers, "");
        page.contains("\"client\":\"api\"")
    });
}
