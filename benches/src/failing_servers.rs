//! Searches and calls through a gateway in which two of five servers are undiscovered and always fail, against the
//! same gateway without them.

use std::time::Duration;

use crate::client::{Era, McpRequest};
use crate::load::{Target, alternate};
use crate::process::ServerProcess;
use crate::report::{Figure, Goal, report};
use crate::setup::{Setup, program};
use crate::tool_lists::{Size, first_tool};

const GOOD: usize = 60;
const FAILING: usize = 40;
const TOOLS: usize = 50;
const ROUNDS: usize = 5;
const TIME: Duration = Duration::from_secs(4);
const ARGUMENTS: &str = r#"{"title":"The roof leaks","limit":5}"#;
const QUERY: &str = r#"{"query":"report that the roof leaks"}"#;
const GOAL: Goal = Goal::Times(2.0);
/// Short times, so that lists become stale and hanging servers time out within a round.
const SETTINGS: &str = "[settings]\nttl = \"1s\"\ndiscovery_timeout = \"1s\"\n";

pub(crate) fn run() {
    let setups = [configured(false), configured(true)];
    let [good, failing] = setups
        .each_ref()
        .map(|setup| ServerProcess::start(setup.serve()));
    let call = McpRequest::call(&format!("server_0__{}", first_tool(0)), ARGUMENTS);
    let search = McpRequest::call("search_tools", QUERY);
    for (what, request) in [("search", search), ("call", call)] {
        let target = |process| Target {
            process,
            path: "/mcp",
            era: Era::Modern,
            request: request.clone(),
        };
        let (floor, ours) = (target(&good), target(&failing));
        let [floor, ours] = alternate([&floor, &ours], 1, ROUNDS, TIME);
        let what = format!(
            "{what}, {GOOD} servers, with {FAILING} undiscovered ones that always fail, p99"
        );
        report(
            &what,
            Figure::Micros(floor.p99),
            Figure::Micros(ours.p99),
            GOAL,
        );
    }
}

/// A setup whose good servers are discovered. The failing ones are configured afterwards.
fn configured(with_failing: bool) -> Setup {
    let setup = Setup::new();
    let lists = setup.generated_lists(GOOD + FAILING, TOOLS, Size::One);
    let trouble = setup.file("trouble", b"");
    let mut text = SETTINGS.to_owned();
    for (index, list) in lists.iter().enumerate() {
        if index == GOOD {
            setup.write_config(&text);
            setup.refresh();
            if !with_failing {
                break;
            }
        }
        let mut words = vec![list.display().to_string()];
        if index >= GOOD {
            let fault = match index % 3 {
                0 => "--hang-if",
                1 => "--crash-if",
                _ => "--flood-if",
            };
            words.extend([fault.to_owned(), trouble.display().to_string()]);
        }
        let command = program("mock-server");
        text += &format!("[servers.server_{index}]\ncommand = {command:?}\nargs = {words:?}\n");
    }
    setup.write_config(&text);
    setup
}
