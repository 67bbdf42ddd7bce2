//! `kill -9` at any time.

use std::time::{Duration, Instant};

use pegboard_testkit::{binary, wait_until_sync};
use serde_json::json;

use crate::support::Home;

const ROUNDS: u64 = 200;
const SERVERS: [&str; 2] = ["one", "two"];
const TOOLS: usize = 60;

#[test]
fn r_store_05_r_sec_04_a_kill_at_any_moment_leaves_the_old_or_the_new_list_and_no_child() {
    let home = Home::new();
    let replay = binary("pegboard-replay").display().to_string();
    home.write("tools.json", &recording(0));
    let recording_file = home.path("tools.json").display().to_string();
    for server in SERVERS {
        home.add(server, &replay, &[&recording_file], "");
    }
    let started = Instant::now();
    home.run(&["refresh", "--all"]).ok();
    let whole = started.elapsed();

    let mut known = SERVERS.map(|_| 0);
    let mut caught_new = 0;
    for round in 1..=ROUNDS {
        home.write("tools.json", &recording(round));
        let mut run = home.start(&["refresh", "--all", "--force"]);
        // Spread over the whole run and a little beyond, in mixed order.
        let moment = whole.mul_f64((round * 7 % ROUNDS) as f64 / ROUNDS as f64 * 1.3);
        wait(moment);
        run.signal("-9");
        run.wait();
        home.assert_nothing_runs();

        let response = home.run(&["tools", "--json"]).ok();
        assert_eq!(response.stderr, "", "round {round}");
        for (server, version) in SERVERS.iter().zip(&mut known) {
            let found = version_of(server, &response.json());
            assert!(
                found == *version || found == round,
                "round {round}: {server} has {found}"
            );
            caught_new += usize::from(found == round);
            *version = found;
        }
    }
    let all = SERVERS.len() * ROUNDS as usize;
    assert!(
        (1..all).contains(&caught_new),
        "every kill came at the same moment: {caught_new}/{all}"
    );
    home.run(&["refresh", "--all", "--force"]).ok();
}

/// Sleeps; this test is about timing.
fn wait(time: Duration) {
    let started = Instant::now();
    wait_until_sync("the moment", Duration::from_secs(60), || {
        started.elapsed() >= time
    });
}

fn recording(version: u64) -> String {
    let tool = |number| {
        json!({"name": format!("t{number}"), "description": format!("version {version}."),
        "inputSchema": {"type": "object"}})
    };
    json!({"tools": (0..TOOLS).map(tool).collect::<Vec<_>>()}).to_string()
}

/// Returns the version that all tools of a server have.
fn version_of(server: &str, document: &serde_json::Value) -> u64 {
    let tools = document["tools"]
        .as_array()
        .expect("a list of tools")
        .iter();
    let own: Vec<_> = tools.filter(|tool| tool["server"] == server).collect();
    assert_eq!(own.len(), TOOLS, "{server}");
    let version = |tool: &serde_json::Value| -> u64 {
        let words = tool["summary"].as_str().expect("a summary");
        let digits: String = words.chars().filter(char::is_ascii_digit).collect();
        digits.parse().expect("a version in the summary")
    };
    let first = version(own[0]);
    assert!(
        own.iter().all(|tool| version(tool) == first),
        "{server} is half old and half new"
    );
    first
}
