//! Many servers with CPU-heavy starts, discovered from fresh state on two processors. This is a separate binary, because
//! it keeps both processors busy, which would affect the timing of other tests.

#![allow(
    clippy::panic,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "failing tests panic with a message"
)]

#[path = "../cli/support/mod.rs"]
#[allow(
    dead_code,
    unused_imports,
    reason = "the fixtures are shared with the command line tests, which use more of them"
)]
mod support;

use std::process::{Command, Stdio};

use pegboard_testkit::Script;
use serde_json::Value;

use support::Home;

const SERVERS: usize = 30;
/// The CPU time that each server needs before it reads its first message.
const START_CPU_MS: u64 = 2_000;
/// Runs a program on the first two processors.
const TWO_PROCESSORS: [&str; 3] = ["taskset", "-c", "0,1"];

#[test]
fn r_disc_02_thirty_servers_that_need_the_processor_are_discovered_without_a_time_out() {
    let home = Home::new();
    for number in 0..SERVERS {
        let script = Script::new()
            .tools(["one"])
            .with(|script| script.start_cpu_ms = START_CPU_MS);
        home.add_script(&format!("s{number:02}"), &script, "");
    }
    let mut command = on_two_processors(home.command(&["refresh", "--json"]));
    // The run is bounded by its own timeouts; its duration depends on the load of the machine.
    let output = command.output().expect("the program runs");
    let response: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(response["failed"], 0, "{response}");
    assert!(output.status.success());
    let servers = response["servers"].as_array().expect("a list");
    assert_eq!(servers.len(), SERVERS);
    for server in servers {
        assert_eq!(server["tools"], 1, "{server}");
    }
    home.assert_nothing_runs();
}

/// Runs a command on two processors if the system supports it. Otherwise it runs on all, which does not make the test
/// fail.
fn on_two_processors(command: Command) -> Command {
    let [program, args @ ..] = TWO_PROCESSORS;
    let works = Command::new(program)
        .args(args)
        .arg("true")
        .stderr(Stdio::null())
        .status();
    if !works.is_ok_and(|status| status.success()) {
        return command;
    }
    let mut pinned = Command::new(program);
    pinned.args(args).arg(command.get_program());
    pinned.args(command.get_args()).env_clear();
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            pinned.env(name, value);
        }
    }
    if let Some(folder) = command.get_current_dir() {
        pinned.current_dir(folder);
    }
    pinned
}
