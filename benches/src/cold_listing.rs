//! A cold `pegboard tools --json` against a minimal program that reads and prints the same bytes.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::report::{Figure, Goal, report};
use crate::setup::{Setup, program, recorded_lists};
use crate::tool_lists::Size;

const RUNS: usize = 41;
const GOAL: Goal = Goal::Times(3.0);

pub(crate) fn run(lists: Option<&Path>) {
    let setup = Setup::new();
    let lists = match lists {
        Some(folder) => recorded_lists(folder),
        None => setup.generated_lists(112, 22, Size::Two),
    };
    setup.configure(&lists, 0);
    setup.refresh();

    let listing = || {
        let mut command = setup.pegboard();
        command.args(["tools", "--json"]);
        command
    };
    let bytes = listing().output().expect("a listing").stdout;
    let file = setup.folder.path().join("listing.json");
    std::fs::write(&file, &bytes).expect("the listing");
    let document: serde_json::Value = serde_json::from_slice(&bytes).expect("a JSON document");
    let total = document
        .get("total")
        .and_then(serde_json::Value::as_u64)
        .unwrap_or_default();

    let (mut floors, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let mut floor = Command::new(program("floor-print"));
        floor.arg(&file);
        floors.push(timed(&mut floor, bytes.len()));
        ours.push(timed(&mut listing(), bytes.len()));
    }
    let what = format!(
        "cold `tools --json`: {} servers, {total} tools, {:.1} MB",
        lists.len(),
        bytes.len() as f64 / 1e6
    );
    let (floor, ours) = (Figure::of_times(floors), Figure::of_times(ours));
    report(&what, floor, ours, GOAL);
}

fn timed(command: &mut Command, expected: usize) -> Duration {
    let started = Instant::now();
    let output = command.output().expect("a run");
    let took = started.elapsed();
    assert_eq!(
        output.stdout.len(),
        expected,
        "each run prints the same bytes"
    );
    took
}
