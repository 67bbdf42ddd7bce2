//! Server processes that leave everything by which they could be found.
#![cfg(target_os = "linux")]

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use pegboard_testkit::{processes_with_marker, wait_until_sync};

use crate::support::{Home, TIMEOUT};

/// Ways to leave the process group, the session and the environment; `SLEEP` is the escaping process.
const ESCAPES: [&str; 4] = [
    "setsid -f env -i SLEEP",
    // Two forks: the parent of the escaping process has exited.
    "(setsid env -i sh -c 'SLEEP & SLEEP' &)",
    "(exec 3>&- </dev/null >/dev/null 2>&1; trap '' TERM HUP; setsid env -i SLEEP &)",
    // A chain of processes, each leaving its parent.
    "setsid -f env -i sh -c 'setsid -f env -i SLEEP; exec SLEEP'",
];

/// Adds a server that lets a process escape and then works. Returns the sleep time that identifies the process.
fn add_escaping(home: &Home, name: &str, escape: &str, then: &str) -> String {
    // A unique sleep time.
    static NUMBER: AtomicU32 = AtomicU32::new(1);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let time = format!("1000.{}{number:03}", std::process::id());
    let escape = escape.replace("SLEEP", &format!("/bin/sleep {time}"));
    home.add(name, "sh", &["-c", &format!("{escape}; {then}")], "");
    time
}

fn assert_gone(time: &str) {
    wait_until_sync("nothing got away", Duration::from_secs(20), || {
        processes_with_marker(time).is_empty()
    });
}

#[test]
fn r_sec_04_processes_that_leave_group_session_and_environment_end_with_the_program() {
    for escape in ESCAPES {
        let home = Home::new();
        let time = add_escaping(&home, "escaping", escape, "sleep 0.2");
        home.run(&["refresh", "--all"]);
        assert!(processes_with_marker(&time).is_empty(), "{escape}");
        // The same when the server is stopped.
        let home = Home::new();
        let time = add_escaping(&home, "staying", escape, "cat > /dev/null");
        home.run(&["tools"]);
        assert!(processes_with_marker(&time).is_empty(), "{escape}");
    }
}

#[test]
fn r_sec_04_processes_that_leave_group_session_and_environment_end_when_the_program_is_killed() {
    for (escape, command) in ESCAPES.iter().zip(
        [&["up", "--once"][..], &["refresh", "--all"]]
            .iter()
            .cycle(),
    ) {
        let home = Home::new();
        let time = add_escaping(&home, "escaping", escape, "exec cat > /dev/null");
        let mut run = home.start(command);
        wait_until_sync("something got away", TIMEOUT, || {
            !processes_with_marker(&format!("/bin/sleep\0{time}")).is_empty()
        });
        run.signal("-KILL");
        run.wait();
        assert_gone(&time);
        home.assert_nothing_runs();
    }
}

#[test]
fn r_sec_04_a_running_server_is_not_mistaken_for_an_orphan() {
    let home = Home::with_example();
    let time = add_escaping(&home, "escaping", ESCAPES[0], "exit 1");
    let mut run = home.start(&["up"]);
    for _ in 0..3 {
        home.run(&["refresh", "escaping"]);
        home.run(&["call", "example__add", "a=1", "b=2"]);
    }
    run.signal("-TERM");
    run.wait();
    assert_gone(&time);
    home.assert_nothing_runs();
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a script that starts the program in its own place"
)]
fn r_sec_04_unrelated_processes_are_left_alone() {
    let home = Home::new();
    let time = add_escaping(&home, "escaping", ESCAPES[0], "exit 1");
    let program = home.command(&[]);
    let beside = format!("{time}5");
    let mut script = std::process::Command::new("sh");
    script
        .arg("-c")
        .arg(format!("sleep {beside} & exec \"$0\" refresh --all"))
        .arg(program.get_program())
        .current_dir(home.path("project"))
        .env_clear();
    for (name, value) in program.get_envs() {
        script.env(name, value.unwrap_or_default());
    }
    // The unrelated process keeps the output open, so it is not waited for.
    script.stdin(std::process::Stdio::null());
    script.stdout(std::process::Stdio::null());
    script.stderr(std::process::Stdio::null());
    let status = script.status().expect("the script runs");
    assert!(status.code().is_some());
    let beside = processes_with_marker(&format!("sleep\0{beside}"));
    assert_eq!(beside.len(), 1, "it keeps running");
    crate::support::kill("-KILL", beside[0]);
    wait_until_sync("the escaped process has ended", TIMEOUT, || {
        processes_with_marker(&format!("/bin/sleep\0{time}\0")).is_empty()
    });
}
