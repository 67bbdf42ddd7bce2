//! `refresh --all` over slow servers, against starting and listing all of them at once by hand.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::pipe_client::PipeClient;
use crate::report::{Figure, Goal, report};
use crate::setup::{Setup, program};
use crate::tool_lists::Size;

const RUNS: usize = 9;
const SERVERS: usize = 50;
const START_MS: u64 = 300;
const GOAL: Goal = Goal::Times(1.3);

pub(crate) fn run() {
    let setup = Setup::new();
    let lists = setup.generated_lists(SERVERS, 20, Size::Two);
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
    let floor = Figure::of_times(floors);
    let what = format!("`refresh --all`: {SERVERS} servers of {START_MS} ms");
    report(&what, floor, Figure::of_times(ours), GOAL);
    report(
        &format!("{what}, undiscovered (one run)"),
        floor,
        Figure::of_times(vec![cold]),
        GOAL,
    );
}

/// The floor: one thread per server that starts it and requests its list.
fn by_hand(lists: &[PathBuf]) -> Duration {
    let started = Instant::now();
    std::thread::scope(|scope| {
        for list in lists {
            scope.spawn(|| start_and_list(list));
        }
    });
    started.elapsed()
}

fn start_and_list(list: &Path) {
    let mut command = Command::new(program("pegboard-replay"));
    command
        .arg(list)
        .args(["--delay-ms", &START_MS.to_string()]);
    PipeClient::start(command).list();
}
