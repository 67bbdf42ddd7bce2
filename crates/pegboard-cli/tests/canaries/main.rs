//! Forty planted secrets through every path. Each path's output, every log line, span, metric and error, and every
//! file that lasts is searched for each of them, also encoded. A new way out of the program gets a
//! row in `paths.rs`; a new way in gets one in `planted.rs`.

#![allow(
    clippy::panic,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on stops, with a sentence that says why"
)]

#[path = "../cli/support/mod.rs"]
#[allow(
    dead_code,
    unused_imports,
    reason = "the machine in small is the same as that of the command line's tests, which use more of it"
)]
mod support;

#[path = "../../../trace/tests/trace/otlp.rs"]
#[allow(
    dead_code,
    reason = "the standard's messages are those of the tests of the room for traces, which use more of them"
)]
mod otlp;

#[path = "../telemetry/collector.rs"]
#[allow(
    dead_code,
    reason = "the collector is that of the tests of traces, which use more of it"
)]
mod collector;

#[path = "../telemetry/serving.rs"]
#[allow(dead_code, reason = "the same for what is served")]
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

/// Takes everything through every path and looks at all that came out.
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

    // That there was something to be seen: the work was done, and contents are where they were asked for.
    for name in [
        "tools/list leaky",
        "tools/call tell",
        "search tools",
        "policy telling__tell",
    ] {
        assert!(
            spans.iter().any(|span| span.name == name),
            "no span `{name}`"
        );
    }
    let told: Vec<&'static str> = finder.found_in(&outputs, "spans");
    match capture {
        true => assert!(told.contains(&"argument of a call"), "{told:?}"),
        false => assert_eq!(told, [] as [&str; 0]),
    }
    let shown = finder.found_in(&outputs, "call telling/tell text=… (stdout)");
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
        // A leak of any canary would be found, however it is encoded.
        let finder = Finder::new("unused-token");
        for form in leak_search::forms(&planted::value(number)) {
            let output = Output::new("test", format!("x{form}y"), &[]);
            assert!(!finder.leaks(&output).is_empty(), "{name} as {form}");
        }
    }
}
