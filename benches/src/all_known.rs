//! From the start of a gateway with an empty catalog to all tools of slow servers, against starting and listing
//! all servers at once by hand.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use memchr::memmem::find_iter;

use crate::client::{Client, Era, McpRequest};
use crate::load::runtime;
use crate::pipe_client::PipeClient;
use crate::process::ServerProcess;
use crate::report::{Figure, Goal, report};
use crate::setup::{DIRECT, Setup, program};
use crate::tool_lists::Size;

const RUNS: usize = 9;
const SERVERS: usize = 50;
const TOOLS: usize = 20;
const START_MS: &str = "300";
const GOAL: Goal = Goal::Times(1.15);

pub(crate) fn run() {
    let setup = Setup::new();
    let lists = setup.generated_lists(SERVERS, TOOLS, Size::One);
    setup.configure_mocks(&lists, &["--delay-ms", START_MS]);
    let (mut floors, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        floors.push(by_hand(&lists));
        setup.forget();
        ours.push(through_the_gateway(&setup));
    }
    let what = format!(
        "start to all {} tools of {SERVERS} undiscovered servers of {START_MS} ms",
        SERVERS * TOOLS
    );
    report(
        &what,
        Figure::of_times(floors),
        Figure::of_times(ours),
        GOAL,
    );
}

fn through_the_gateway(setup: &Setup) -> Duration {
    let started = Instant::now();
    let process = ServerProcess::start(setup.serve());
    let path = format!("/mcp/{DIRECT}");
    runtime().block_on(async {
        let mut client = Client::open(&process.address, &path, Era::Legacy).await;
        loop {
            let answer = client.send(&McpRequest::list()).await;
            if find_iter(answer, b"\"inputSchema\"").count() == SERVERS * TOOLS {
                return started.elapsed();
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
}

fn by_hand(lists: &[PathBuf]) -> Duration {
    let started = Instant::now();
    let start_and_list = |list: &Path| {
        let mut command = Command::new(program("mock-server"));
        command.arg(list).args(["--delay-ms", START_MS]);
        let mut client = PipeClient::start(command);
        client.list();
        client
    };
    // Ending the servers is not measured: clients of the gateway do not wait for that either.
    let clients = std::thread::scope(|scope| {
        let started: Vec<_> = lists
            .iter()
            .map(|list| scope.spawn(move || start_and_list(list)))
            .collect();
        let joined = started.into_iter().map(|thread| thread.join());
        joined.collect::<Result<Vec<_>, _>>()
    });
    let took = started.elapsed();
    drop(clients.expect("every server's list"));
    took
}
