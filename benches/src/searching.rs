//! Searches over HTTP, against a round trip with the same response.

use std::process::Command;
use std::time::Duration;

use crate::client::{Client, Era, McpRequest, check};
use crate::load::{Target, alternate, runtime};
use crate::process::ServerProcess;
use crate::report::{Figure, Goal, report};
use crate::setup::{Setup, program};

const ROUNDS: usize = 5;
const TIME: Duration = Duration::from_millis(500);
const QUERY: &str = r#"{"query":"archive customer invoice"}"#;

pub(crate) fn run() {
    for tools in [20, 200] {
        measure(50, tools);
    }
}

fn measure(servers: usize, tools: usize) {
    let setup = Setup::known(servers, tools);
    let gateway = ServerProcess::start(setup.serve());
    let request = McpRequest::call("search_tools", QUERY);
    let answer = runtime().block_on(async {
        let mut client = Client::open(&gateway.address, "/mcp", Era::Legacy).await;
        client.send(&request).await.to_vec()
    });
    check(&answer);
    let file = setup.file("answer.json", &answer);
    let mut command = Command::new(program("floor-http"));
    command.args([&file, &file]);
    let floor = ServerProcess::start(command);
    let target = |process| Target {
        process,
        path: "/mcp",
        era: Era::Legacy,
        request: request.clone(),
    };
    let [floor, ours] = alternate([&target(&floor), &target(&gateway)], 1, ROUNDS, TIME);
    let what = format!("`search_tools` over {} tools, p50", servers * tools);
    let (floor, ours) = (Figure::Micros(floor.p50), Figure::Micros(ours.p50));
    report(&what, floor, ours, Goal::Informational);
}
