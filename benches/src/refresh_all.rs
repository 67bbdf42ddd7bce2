//! `refresh --all` over slow servers against starting and asking them all at once by hand.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::setup::{Setup, program};
use crate::spread::{median, report};

const RUNS: usize = 9;
const SERVERS: usize = 50;
const START_MS: u64 = 300;
const GOAL: f64 = 1.3;

pub(crate) fn run() {
    let setup = Setup::new();
    let lists = setup.generated_lists(SERVERS, 20);
    setup.configure(&lists, START_MS);
    let refresh = || {
        let started = Instant::now();
        let mut command = setup.pegboard();
        command
            .args(["refresh", "--all", "--force"])
            .stdout(Stdio::null());
        assert!(
            command.status().is_ok_and(|status| status.success()),
            "a refresh failed"
        );
        started.elapsed()
    };
    let cold = refresh();
    let (mut floors, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        floors.push(by_hand(&lists));
        ours.push(refresh());
    }
    let floor = median(floors);
    let what = format!("`refresh --all`: {SERVERS} servers of {START_MS} ms");
    report(&what, floor, median(ours), GOAL);
    report(
        &format!("{what}, never seen before (one run)"),
        floor,
        cold,
        GOAL,
    );
}

/// What the machine allows: a thread per server that starts it and asks for its list.
fn by_hand(lists: &[PathBuf]) -> Duration {
    let started = Instant::now();
    std::thread::scope(|scope| {
        for list in lists {
            scope.spawn(|| ask(list));
        }
    });
    started.elapsed()
}

fn ask(list: &Path) {
    let mut child = Command::new(program("pegboard-replay"))
        .arg(list)
        .args(["--delay-ms", &START_MS.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a server");
    let mut stdin = child.stdin.take().expect("its stdin");
    let mut lines = BufReader::new(child.stdout.take().expect("its stdout")).lines();
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"floor","version":"1"}}}"#;
    let list = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
    writeln!(stdin, "{hello}").expect("a request");
    lines.next().expect("an answer").expect("an answer");
    writeln!(
        stdin,
        r#"{{"jsonrpc":"2.0","method":"notifications/initialized"}}"#
    )
    .expect("a notice");
    writeln!(stdin, "{list}").expect("a request");
    lines.next().expect("a list").expect("a list");
    drop(stdin);
    child.wait().expect("its end");
}
