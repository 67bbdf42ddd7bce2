//! The process that all windows of a user share: what the bridge to it costs, and what ten windows need.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::client::check;
use crate::pipe_client::PipeClient;
use crate::process::{pss_megabytes, with_marker};
use crate::report::{Figure, Goal, median, report};
use crate::setup::{DIRECT, Setup, program};
use crate::tool_lists::{Size, first_tool};

const ROUNDS: usize = 7;
const CALLS: usize = 2_000;
/// Goal for the latency that the bridge adds, in microseconds.
const BRIDGE_GOAL: f64 = 15.0;
const RUNS: usize = 21;
const WINDOWS: usize = 10;
const SERVERS: usize = 8;
/// How long the processes of a measurement may take to end.
const END_TIMEOUT: Duration = Duration::from_secs(20);

pub(crate) fn run() {
    added_latency();
    first_list();
    ten_windows();
}

fn stdio(setup: &Setup, options: &[&str]) -> Command {
    let mut command = setup.pegboard();
    // Ends soon after the measurement.
    command.env("PEGBOARD_BACKGROUND_IDLE", "1");
    command.arg("stdio").args(options);
    command
}

/// One client in its own process against one that is served through the bridge, in turns.
fn added_latency() {
    let setup = Setup::new();
    let lists = setup.generated_lists(1, 20, Size::One);
    setup.configure_mocks(&lists, &[]);
    setup.refresh();
    let tool = format!("server_0__{}", first_tool(0));
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{{"title":"x"}}}}}}"#
    );
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.to_owned();
    let mut alone = PipeClient::start(stdio(&setup, &["--alone"]));
    let mut bridged = PipeClient::start(stdio(&setup, &[]));
    for (what, request) in [("call of a stdio server", &call), ("ping", &ping)] {
        for client in [&mut alone, &mut bridged] {
            check(&client.send(request));
        }
        let (mut floors, mut ours) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            floors.push(p50(&mut alone, request));
            ours.push(p50(&mut bridged, request));
        }
        report(
            &format!("{what} through the bridge against a process of its own, p50"),
            Figure::Micros(median(floors)),
            Figure::Micros(median(ours)),
            Goal::OnTop(BRIDGE_GOAL),
        );
    }
    drop((alone, bridged));
    wait_for_end(&setup);
}

/// The median of many round trips, in microseconds.
fn p50(client: &mut PipeClient, request: &str) -> f64 {
    let times = (0..CALLS).map(|_| {
        let started = Instant::now();
        client.send(request);
        started.elapsed().as_secs_f64() * 1e6
    });
    median(times.collect())
}

/// From the start of a bridge to its first list, while another window keeps the process running, and without one.
fn first_list() {
    let (servers, tools) = (50, 20);
    let setup = Setup::known(servers, tools);
    let direct = ["--profile", DIRECT];
    let all = PipeClient::start(stdio(&setup, &direct)).list();
    let catalog = setup.file("catalog.json", &all);
    for (options, shown) in [
        (&direct[..], "all tools listed"),
        (&[], "meta tools listed"),
    ] {
        let list = PipeClient::start(stdio(&setup, options)).list();
        check(&list);
        let list = setup.file("first-list.json", &list);
        let floor = || {
            let mut command = Command::new(program("floor-stdio"));
            command.args([&catalog, &list]);
            command
        };
        let window = PipeClient::start(stdio(&setup, options));
        let (mut floors, mut ours) = (Vec::new(), Vec::new());
        for _ in 0..RUNS {
            floors.push(timed_list(floor()));
            ours.push(timed_list(stdio(&setup, options)));
        }
        drop(window);
        let what = format!(
            "first list through the bridge, {} tools known, {shown}",
            servers * tools
        );
        let floor_time = Figure::of_times(floors);
        report(&what, floor_time, Figure::of_times(ours), Goal::Times(2.0));
        wait_for_end(&setup);
        let started = timed_list(stdio(&setup, options));
        let started = Figure::of_times(vec![started]);
        let what = format!("{what}, the process is started first");
        report(&what, floor_time, started, Goal::Informational);
        wait_for_end(&setup);
    }
}

fn timed_list(command: Command) -> Duration {
    let started = Instant::now();
    let mut client = PipeClient::start(command);
    client.list();
    started.elapsed()
}

/// Ten windows that use eight servers each: with servers of their own, with a Pegboard of their own, and shared.
fn ten_windows() {
    let setup = Setup::new();
    let lists = setup.generated_lists(SERVERS, 20, Size::One);
    setup.configure_mocks(&lists, &[]);
    setup.refresh();
    let direct = || -> Vec<PipeClient> {
        let windows = (0..WINDOWS).flat_map(|_| &lists);
        let server = |list| {
            let mut command = Command::new(program("mock-server"));
            command.arg(list).env("HOME", setup.folder.path());
            PipeClient::start(command)
        };
        windows.map(server).collect()
    };
    let through = |options: &[&str]| -> Vec<PipeClient> {
        let windows = (0..WINDOWS).map(|_| {
            let mut command = stdio(&setup, options);
            command.env("HOME", setup.folder.path());
            let mut client = PipeClient::start(command);
            for server in 0..SERVERS {
                let tool = format!("server_{server}__{}", first_tool(server));
                check(&client.send(&format!(
                    r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{{"title":"x"}}}}}}"#
                )));
            }
            client
        });
        windows.collect()
    };
    let measured = |windows: Vec<PipeClient>| {
        let running = with_marker(&setup.folder.path().display().to_string());
        let memory = running.iter().copied().map(pss_megabytes).sum::<f64>();
        let count = running.len();
        drop(windows);
        wait_for_end(&setup);
        (Figure::Processes(count as f64), Figure::Megabytes(memory))
    };
    let floor = measured(direct());
    let alone = measured(through(&["--alone"]));
    let shared = measured(through(&[]));
    let what = format!("{WINDOWS} windows with {SERVERS} servers");
    // Ten bridges, the process, its watcher and eight servers, instead of eighty servers.
    let goal = Goal::AtMost((WINDOWS + SERVERS + 2) as f64);
    report(
        &format!("{what}, shared: processes"),
        floor.0,
        shared.0,
        goal,
    );
    report(
        &format!("{what}, shared: memory"),
        floor.1,
        shared.1,
        Goal::Informational,
    );
    let whole = format!("{what}, `--alone`");
    report(
        &format!("{whole}: processes"),
        floor.0,
        alone.0,
        Goal::Informational,
    );
    report(
        &format!("{whole}: memory"),
        floor.1,
        alone.1,
        Goal::Informational,
    );
}

/// Waits until no process of a setup is left, so that it does not disturb the next measurement.
fn wait_for_end(setup: &Setup) {
    let marker = setup.folder.path().display().to_string();
    let begun = Instant::now();
    while !with_marker(&marker).is_empty() {
        assert!(begun.elapsed() < END_TIMEOUT, "a process does not end");
        std::thread::yield_now();
    }
}
