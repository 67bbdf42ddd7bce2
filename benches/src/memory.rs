//! Resident memory of an idle gateway after a few requests, against a server that holds the same definitions as
//! one text.

use std::process::Command;

use crate::client::{Client, Era, McpRequest, check};
use crate::load::runtime;
use crate::process::ServerProcess;
use crate::report::{Figure, Goal, median, report};
use crate::setup::{DIRECT, Setup, program};
use crate::tool_lists::{Size, first_tool};

const RUNS: usize = 3;

pub(crate) fn run() {
    with_running_servers(10, 15.0);
    with_tools(50, 20, 25.0);
    with_tools(50, 200, 60.0);
}

fn with_running_servers(servers: usize, goal: f64) {
    let setup = Setup::new();
    let lists = setup.generated_lists(servers, 20, Size::One);
    setup.configure_mocks(&lists, &[]);
    setup.refresh();
    let (mut floors, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let gateway = ServerProcess::start(setup.serve());
        runtime().block_on(async {
            let mut client = Client::open(&gateway.address, "/mcp", Era::Legacy).await;
            client.send(&McpRequest::list()).await;
            for server in 0..servers {
                let tool = format!("server_{server}__{}", first_tool(server));
                check(client.send(&McpRequest::call(&tool, "{}")).await);
            }
        });
        ours.push(gateway.resident_megabytes());
        let list = lists.first().expect("one list");
        floors.push(floor(list));
    }
    let what = format!("resident memory with {servers} running servers");
    report_megabytes(&what, floors, ours, goal);
}

fn with_tools(servers: usize, tools: usize, goal: f64) {
    let setup = Setup::known(servers, tools);
    let (mut floors, mut after_meta, mut after_all) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let gateway = ServerProcess::start(setup.serve());
        let list = |path: String| {
            runtime().block_on(async {
                let mut client = Client::open(&gateway.address, &path, Era::Legacy).await;
                client.send(&McpRequest::list()).await.to_vec()
            })
        };
        list("/mcp".to_owned());
        after_meta.push(gateway.resident_megabytes());
        let all = list(format!("/mcp/{DIRECT}"));
        after_all.push(gateway.resident_megabytes());
        floors.push(floor(&setup.file("all.json", &all)));
    }
    let what = format!("resident memory with {} tools of 1 kB", servers * tools);
    let meta = format!("{what}, the meta tools listed");
    report_megabytes(&meta, floors.clone(), after_meta, goal);
    report_megabytes(&format!("{what}, all listed"), floors, after_all, goal);
}

fn floor(list: &std::path::Path) -> f64 {
    let mut command = Command::new(program("floor-http"));
    command.args([list, list]);
    let floor = ServerProcess::start(command);
    runtime().block_on(async {
        let mut client = Client::open(&floor.address, "/mcp", Era::Legacy).await;
        client.send(&McpRequest::list()).await;
    });
    floor.resident_megabytes()
}

fn report_megabytes(what: &str, floors: Vec<f64>, ours: Vec<f64>, goal: f64) {
    let megabytes = |runs| Figure::Megabytes(median(runs));
    report(what, megabytes(floors), megabytes(ours), Goal::AtMost(goal));
}
