//! `pegboard call` against starting the server and calling the tool by hand.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::client::check;
use crate::pipe_client::PipeClient;
use crate::report::{Figure, Goal, report};
use crate::setup::{Setup, program};
use crate::tool_lists::{Size, first_tool};

const RUNS: usize = 31;
const GOAL: Goal = Goal::OnTop(10.0);

pub(crate) fn run() {
    let setup = Setup::new();
    let lists = setup.generated_lists(50, 20, Size::One);
    setup.configure_mocks(&lists, &[]);
    setup.refresh();
    let list = lists.first().expect("one list");
    let (mut floors, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        floors.push(by_hand(list));
        ours.push(by_command(&setup));
    }
    let what = "`pegboard call`, 1000 tools of 50 servers known";
    report(what, Figure::of_times(floors), Figure::of_times(ours), GOAL);
}

fn by_hand(list: &Path) -> Duration {
    let started = Instant::now();
    let mut command = Command::new(program("mock-server"));
    command.arg(list);
    let mut client = PipeClient::start(command);
    let name = first_tool(0);
    let answer = client.send(&format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{name}","arguments":{{"title":"x"}}}}}}"#
    ));
    drop(client);
    let took = started.elapsed();
    check(&answer);
    took
}

fn by_command(setup: &Setup) -> Duration {
    let started = Instant::now();
    let mut command = setup.pegboard();
    command.args(["call", &format!("server_0/{}", first_tool(0)), "title=x"]);
    let output = command.output().expect("a call");
    let took = started.elapsed();
    let answer = String::from_utf8_lossy(&output.stdout);
    assert!(answer.contains("xxxxxxxxxx"), "not a result: {answer}");
    took
}
