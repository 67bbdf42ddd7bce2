//! A bad server does not affect others.

use std::time::{Duration, Instant};

use pegboard_testkit::Script;
use pegboard_testkit::script::{Moment, NoiseKind};
use serde_json::Value;

use crate::support::Home;

const GOOD: usize = 9;
const TIMEOUT_MS: u64 = 5_000;

/// Checks nine good servers and a bad one that fails with one of these reasons.
#[track_caller]
fn check(add_bad: impl FnOnce(&Home), reasons: &[&str]) {
    let home = Home::new();
    for number in 0..GOOD {
        home.add_script(
            &format!("good{number}"),
            &Script::new().tools(["work", "rest"]),
            "",
        );
    }
    add_bad(&home);
    let started = Instant::now();
    let response = home.run(&["refresh", "--all", "--json"]).exits(3).json();
    let took = started.elapsed();
    assert_eq!(response["failed"], 1, "{reasons:?}");
    let servers = response["servers"].as_array().expect("all servers");
    let is_bad = |server: &&Value| server["server"] == "bad";
    let bad = servers.iter().find(is_bad).expect("the bad one is named");
    let reason = bad["error"]["reason"].as_str().expect("a reason");
    assert!(reasons.contains(&reason), "{bad}");
    for good in servers.iter().filter(|server| !is_bad(server)) {
        assert_eq!(good["tools"], 2, "{good}");
        let waited = good["duration_ms"].as_u64().expect("a duration");
        assert!(
            waited < TIMEOUT_MS,
            "a good server waited for the bad one: {good}"
        );
    }
    assert!(took < Duration::from_millis(4 * TIMEOUT_MS), "{took:?}");
    assert_eq!(
        home.run(&["tools", "--json"]).ok().json()["total"],
        2 * GOOD
    );
    home.run(&["call", "good3/work"]).ok();
    home.assert_nothing_runs();
}

fn scripted(script: Script) -> impl FnOnce(&Home) {
    let timeout = format!("discovery_timeout = \"{TIMEOUT_MS}ms\"");
    move |home| home.add_script("bad", &script, &timeout)
}

#[test]
fn r_disc_02_a_server_hanging_on_start_does_not_delay_others() {
    check(
        scripted(Script::new().hang(Moment::Start)),
        &["DISCOVERY_TIMEOUT"],
    );
}

#[test]
fn r_disc_02_a_server_hanging_on_tools_list_does_not_delay_others() {
    check(
        scripted(Script::new().hang(Moment::List)),
        &["DISCOVERY_TIMEOUT"],
    );
}

#[test]
fn r_disc_02_a_server_writing_garbage_does_not_affect_others() {
    let garbage = Script::new()
        .noise(Moment::Start, NoiseKind::Flood(20_000_000), 4)
        .hang(Moment::Start);
    check(
        scripted(garbage),
        &["FRAME_TOO_LARGE", "STDOUT_POLLUTION", "DISCOVERY_TIMEOUT"],
    );
}

#[test]
fn r_disc_02_a_missing_or_exiting_server_does_not_affect_others() {
    check(
        |home| home.add("bad", "no-such-program-anywhere", &[], ""),
        &["SPAWN_NOT_FOUND"],
    );
    check(
        scripted(Script::new().crash(Moment::Start, 9)),
        &["SERVER_EXITED"],
    );
}
