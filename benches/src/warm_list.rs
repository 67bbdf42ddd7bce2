//! Lists of a warm gateway, against a server that writes prepared bytes.

use std::process::Command;
use std::time::Duration;

use crate::client::{Client, Era, McpRequest};
use crate::load::{Target, alternate, runtime};
use crate::process::ServerProcess;
use crate::report::{Figure, Goal, report};
use crate::setup::{DIRECT, Setup, program};

const SERVERS: usize = 50;
const TOOLS: usize = 20;
const ROUNDS: usize = 7;
const TIME: Duration = Duration::from_millis(500);

pub(crate) fn run() {
    let setup = Setup::known(SERVERS, TOOLS);
    let gateway = ServerProcess::start(setup.serve());
    let direct = format!("/mcp/{DIRECT}");
    let known = SERVERS * TOOLS;
    for era in [Era::Legacy, Era::Modern] {
        let of = match era {
            Era::Legacy => "a client with a session",
            Era::Modern => "a client without sessions",
        };
        measure(
            &setup,
            &gateway,
            "/mcp",
            era,
            &format!("warm list of the meta tools, {known} tools behind, {of}, p50"),
            Goal::AtMost(60.0),
        );
        measure(
            &setup,
            &gateway,
            &direct,
            era,
            &format!("warm list of all {known} tools, {of}, p50"),
            Goal::Times(1.5),
        );
    }
}

fn measure(setup: &Setup, gateway: &ServerProcess, path: &str, era: Era, what: &str, goal: Goal) {
    let request = McpRequest::list();
    let answer = runtime().block_on(async {
        let mut client = Client::open(&gateway.address, path, era).await;
        client.send(&request).await.to_vec()
    });
    let file = setup.file("warm-list.json", &answer);
    let mut command = Command::new(program("floor-http"));
    command.args([&file, &file]);
    let floor = ServerProcess::start(command);
    let target = |process| Target {
        process,
        path,
        era,
        request: request.clone(),
    };
    let [floor, ours] = alternate([&target(&floor), &target(gateway)], 1, ROUNDS, TIME);
    let (floor, ours) = (Figure::Micros(floor.p50), Figure::Micros(ours.p50));
    report(what, floor, ours, goal);
}
