//! Many servers that need the processor to start, discovered from fresh state on two processors. A binary of its own:
//! it keeps both processors busy, which would disturb the timing of other tests.

#![allow(
    clippy::panic,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test that cannot go on stops, with a sentence that says why"
)]

#[path = "../cli/support/mod.rs"]
#[allow(
    dead_code,
    unused_imports,
    reason = "the support code is shared with the tests of the command line, which use more of it"
)]
mod support;

use std::process::{Command, Stdio};

use pegboard_testkit::Script;
use serde_json::Value;

use support::Home;

const SERVERS: usize = 30;
/// Processor time that each server needs before it reads its first message.
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
    // Its own limits bound the run; how long it takes depends on what else the machine does.
    let output = command.output().expect("the program runs");
    let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(answer["failed"], 0, "{answer}");
    assert!(output.status.success());
    let servers = answer["servers"].as_array().expect("a list");
    assert_eq!(servers.len(), SERVERS);
    for server in servers {
        assert_eq!(server["tools"], 1, "{server}");
    }
    home.assert_nothing_runs();
}

/// The same command on two processors, where the system can do that. On a machine with more of them the command runs
/// on all where it cannot, which is no failure of the program.
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
