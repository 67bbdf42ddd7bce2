//! Forty planted secrets through every path. Each path's output, every log line, span, metric and error, and every
//! stored file is searched for each of them, also encoded. A new output of the program gets a
//! row in `paths.rs`; a new input gets one in `planted.rs`.

#![allow(
    clippy::panic,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "failing tests panic with a message"
)]

#[path = "../cli/support/mod.rs"]
#[allow(
    dead_code,
    unused_imports,
    reason = "the fixtures are shared with the command line tests, which use more of them"
)]
mod support;

#[path = "../../../trace/tests/trace/otlp.rs"]
#[allow(
    dead_code,
    reason = "the OTLP messages are shared with the tests of the trace crate, which use more of them"
)]
mod otlp;

#[path = "../telemetry/collector.rs"]
#[allow(
    dead_code,
    reason = "shared with the telemetry tests, which use more of it"
)]
mod collector;

#[path = "../telemetry/serving.rs"]
#[allow(dead_code, reason = "shared like the collector")]
mod serving;

mod leak_search;
mod machine;
mod paths;
mod planted;

use collector::Collector;
use leak_search::{Finder, Output};
use machine::Machine;
use paths::{
    COMMANDS, through_an_agent, through_api, through_approvals, through_http, through_stdio,
};
use planted::{ALL, Canary};

/// Runs every path and searches all outputs.
fn check(capture: bool) {
    let collector = Collector::start();
    let machine = Machine::new(&collector, capture);
    let mut outputs: Vec<Output> = Vec::new();
    for command in COMMANDS {
        outputs.extend(command.run(&machine));
    }
    outputs.extend(through_approvals(&machine));
    outputs.extend(through_stdio(&machine));
    outputs.extend(through_http(&machine));
    outputs.extend(through_api(&machine));
    outputs.extend(through_an_agent(&machine));
    let spans = collector.spans();
    for request in collector.seen() {
        let may_hold = if capture { planted::CONTENTS } else { &[] };
        outputs.push(Output::new("spans", request.body, may_hold));
    }
    outputs.extend(machine.files());
    let finder = Finder::new(&machine.token);
    let leaks: Vec<String> = outputs
        .iter()
        .flat_map(|output| finder.leaks(output))
        .collect();
    assert!(
        leaks.is_empty(),
        "{} leaks:\n{}",
        leaks.len(),
        leaks.join("\n")
    );

    // The work was done, and contents are where they were requested.
    for name in [
        "tools/list leaky",
        "tools/call report",
        "search tools",
        "policy leaking__report",
    ] {
        assert!(
            spans.iter().any(|span| span.name == name),
            "no span `{name}`"
        );
    }
    let printed: Vec<&'static str> = finder.found_in(&outputs, "spans");
    match capture {
        true => assert!(printed.contains(&"argument of a call"), "{printed:?}"),
        false => assert_eq!(printed, [] as [&str; 0]),
    }
    let shown = finder.found_in(&outputs, "call leaking/report text=… (stdout)");
    assert!(shown.contains(&"text of a result"), "{shown:?}");
    machine.assert_servers_leaked_their_secrets();
    machine.home.assert_nothing_runs();
}

#[test]
fn r_obs_03_forty_canaries_leak_nowhere() {
    check(false);
}

#[test]
fn r_obs_03_forty_canaries_leak_nowhere_when_contents_are_captured() {
    check(true);
}

#[test]
fn the_table_has_forty_distinct_rows() {
    assert!(ALL.len() >= 40);
    for (number, Canary { name, .. }) in ALL.iter().enumerate() {
        let same = ALL.iter().filter(|other| other.name == *name).count();
        assert_eq!(same, 1, "{name}");
        // A leak of any canary is found in every encoding.
        let finder = Finder::new("unused-token");
        for form in leak_search::forms(&planted::value(number)) {
            let output = Output::new("test", format!("x{form}y"), &[]);
            assert!(!finder.leaks(&output).is_empty(), "{name} as {form}");
        }
    }
}
