//! Calls through the gateway against calls straight to a server over HTTP.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::client::{Era, McpRequest};
use crate::load::{Target, alternate};
use crate::process::ServerProcess;
use crate::report::{Figure, Goal, report};
use crate::setup::{Setup, program};
use crate::tool_lists::{Size, first_tool};

const TOOLS: usize = 20;
const ROUNDS: usize = 7;
const TIME: Duration = Duration::from_millis(700);
const CLIENTS: usize = 64;
const ARGUMENTS: &str = r#"{"title":"The roof leaks","limit":5}"#;
/// Goal for the gateway's CPU time per call under load, in microseconds.
const CPU_GOAL: f64 = 50.0;

pub(crate) fn run() {
    for (era, shown) in [(Era::Legacy, "legacy"), (Era::Modern, "modern")] {
        let setup = Setup::new();
        let lists = setup.generated_lists(1, TOOLS, Size::One);
        let list = lists.first().expect("one list").as_path();
        let backend = ServerProcess::start(mock(list, &["--http", "--era", shown]));
        let direct = Target {
            process: &backend,
            path: "/mcp",
            era,
            request: McpRequest::call(&first_tool(0), ARGUMENTS),
        };

        setup.configure_mocks(&lists, &["--era", shown]);
        let goals = (Goal::Times(2.0), Goal::Share(0.25));
        measure(&setup, &direct, &format!("HTTP→stdio, {shown}"), goals);

        let url = format!("http://{}/mcp", backend.address);
        setup.write_config(&format!("[servers.server_0]\nurl = {url:?}\n"));
        let goals = (Goal::Times(3.0), Goal::Share(0.2));
        measure(&setup, &direct, &format!("HTTP→HTTP, {shown}"), goals);
    }
}

fn measure(setup: &Setup, direct: &Target<'_>, way: &str, goals: (Goal, Goal)) {
    setup.refresh();
    let gateway = ServerProcess::start(setup.serve());
    let through = Target {
        process: &gateway,
        request: McpRequest::call(&format!("server_0__{}", first_tool(0)), ARGUMENTS),
        ..direct.clone()
    };
    let [floor, ours] = alternate([direct, &through], 1, ROUNDS, TIME);
    let micros = Figure::Micros;
    let what = format!("call {way}");
    report(
        &format!("{what}, 1 client, p50"),
        micros(floor.p50),
        micros(ours.p50),
        goals.0,
    );
    report(
        &format!("{what}, 1 client, p99"),
        micros(floor.p99),
        micros(ours.p99),
        Goal::Informational,
    );
    let one = (floor.cpu, ours.cpu);
    let [floor, ours] = alternate([direct, &through], CLIENTS, ROUNDS, TIME);
    report(
        &format!("{what}, {CLIENTS} clients"),
        Figure::PerSecond(floor.per_second),
        Figure::PerSecond(ours.per_second),
        goals.1,
    );
    let under_load = (floor.cpu, ours.cpu);
    // With one client the processor sleeps between calls, and waking it takes the floor itself longer than the goal.
    let goals = [Goal::Informational, Goal::AtMost(CPU_GOAL)];
    let times = [(1, one), (CLIENTS, under_load)];
    for ((clients, (floor, ours)), goal) in times.into_iter().zip(goals) {
        let what = format!("{what}, own time per call, clients: {clients}");
        report(&what, micros(floor), micros(ours), goal);
    }
}

fn mock(list: &Path, options: &[&str]) -> Command {
    let mut command = Command::new(program("mock-server"));
    command.arg(list).args(options);
    command
}
