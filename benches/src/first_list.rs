//! From the start of the gateway to its first list, with all tools known and all servers silent, against programs
//! that read the same catalog and return the same bytes.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::client::{Client, Era, McpRequest, check};
use crate::load::runtime;
use crate::pipe_client::PipeClient;
use crate::process::ServerProcess;
use crate::report::{Figure, Goal, report};
use crate::setup::{DIRECT, Setup, program};

const RUNS: usize = 21;
const SERVERS: usize = 50;
const TOOLS: usize = 20;
const GOAL: Goal = Goal::Times(2.0);

pub(crate) fn run() {
    let setup = Setup::known(SERVERS, TOOLS);
    let direct_list = PipeClient::start(stdio(&setup, DIRECT)).list();
    let catalog = setup.file("catalog.json", &direct_list);
    for (profile, shown) in [(DIRECT, "all tools listed"), ("", "meta tools listed")] {
        let list = PipeClient::start(stdio(&setup, profile)).list();
        check(&list);
        let list = setup.file("first-list.json", &list);
        let floor = |name: &str| {
            let mut command = Command::new(program(name));
            command.args([&catalog, &list]);
            command
        };
        let what = format!(
            "first list, {} tools of {SERVERS} silent servers known, {shown}",
            SERVERS * TOOLS
        );
        over_stdio(&setup, profile, &what, || floor("floor-stdio"));
        over_http(&setup, profile, &what, || floor("floor-http"), &list);
    }
}

fn stdio(setup: &Setup, profile: &str) -> Command {
    let mut command = setup.pegboard();
    // Through the bridge: see `sharing`.
    command.args(["stdio", "--alone"]);
    if !profile.is_empty() {
        command.args(["--profile", profile]);
    }
    command
}

fn over_stdio(setup: &Setup, profile: &str, what: &str, floor: impl Fn() -> Command) {
    let timed = |command: Command| {
        let started = Instant::now();
        let mut client = PipeClient::start(command);
        let length = client.list().len();
        (started.elapsed(), length)
    };
    let (mut floors, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let (floor_time, floor_length) = timed(floor());
        let (time, length) = timed(stdio(setup, profile));
        assert_eq!(floor_length, length, "both return the same bytes");
        floors.push(floor_time);
        ours.push(time);
    }
    let (floor, ours) = (Figure::of_times(floors), Figure::of_times(ours));
    report(&format!("{what}, stdio"), floor, ours, GOAL);
}

fn over_http(
    setup: &Setup,
    profile: &str,
    what: &str,
    floor: impl Fn() -> Command,
    list: &PathBuf,
) {
    let length = std::fs::metadata(list).expect("the list").len() as usize;
    let path = match profile {
        "" => "/mcp".to_owned(),
        _ => format!("/mcp/{profile}"),
    };
    let runtime = runtime();
    let timed = |command: Command| -> Duration {
        let started = Instant::now();
        let process = ServerProcess::start(command);
        runtime.block_on(async {
            let mut client = Client::open(&process.address, &path, Era::Legacy).await;
            let answer = client.send(&McpRequest::list()).await;
            assert_eq!(answer.len(), length, "the same bytes as over stdio");
        });
        started.elapsed()
    };
    let (mut floors, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        floors.push(timed(floor()));
        ours.push(timed(setup.serve()));
    }
    let (floor, ours) = (Figure::of_times(floors), Figure::of_times(ours));
    report(&format!("{what}, HTTP"), floor, ours, GOAL);
}
