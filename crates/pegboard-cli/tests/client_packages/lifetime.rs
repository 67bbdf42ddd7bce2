//! A Pegboard that a client started ends with it, with all servers.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};
use std::time::Duration;

use pegboard_testkit::wait_until_sync;
use serde_json::json;

use crate::packages::{BOTH, Machine};
use crate::support::kill;

/// Starts a program that opens a client, calls a tool, prints `ready`, and acts on each line of its input.
fn started(
    machine: &Machine,
    language: crate::packages::Language,
) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut child = machine
        .program(language, "lifetime", &json!({}))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut output = BufReader::new(child.stdout.take().expect("its output"));
    expect_line(&mut output, "ready");
    // The program, Pegboard and the example server.
    assert!(machine.home.processes().len() >= 3, "{language:?}");
    (child, output)
}

fn expect_line(output: &mut impl BufRead, expected: &str) {
    let mut line = String::new();
    output.read_line(&mut line).expect("a line");
    assert_eq!(line.trim(), expected);
}

#[test]
fn r_lib_02_a_started_pegboard_ends_when_its_program_is_killed() {
    for language in BOTH {
        let Some(machine) = Machine::new() else {
            return;
        };
        let (mut child, _output) = started(&machine, language);
        kill("-KILL", child.id());
        child.wait().expect("it ended");
        machine.home.assert_nothing_runs();
    }
}

#[test]
fn r_lib_02_a_started_pegboard_ends_with_close() {
    for language in BOTH {
        let Some(machine) = Machine::new() else {
            return;
        };
        let (mut child, mut output) = started(&machine, language);
        let mut input = child.stdin.take().expect("its input");
        writeln!(input, "close").expect("it reads");
        expect_line(&mut output, "closed NOT_RUNNING");
        wait_until_sync("only the program is left", Duration::from_secs(20), || {
            machine.home.processes() == [child.id()]
        });
        drop(input);
        assert!(child.wait().expect("it ends").success());
        machine.home.assert_nothing_runs();
    }
}

#[test]
fn r_lib_02_a_program_that_does_not_close_its_client_ends_and_leaves_nothing() {
    for language in BOTH {
        let Some(machine) = Machine::new() else {
            return;
        };
        let (mut child, _output) = started(&machine, language);
        drop(child.stdin.take());
        assert!(child.wait().expect("it ends").success());
        machine.home.assert_nothing_runs();
    }
}
