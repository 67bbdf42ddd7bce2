//! The results of a run, and the table of them.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use crate::metrics::{Metrics, mean_of};

/// The sets whose tools the encoder was not tuned with. Their mean is what a change is judged by.
const JUDGED: [&str; 7] = [
    "livemcp_route",
    "livemcp_route_x5k",
    "livemcp_step",
    "livemcp_step_x5k",
    "livemcp_task",
    "mcpproxy",
    "toolalpaca",
];

/// The results of a run.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Results {
    pub(crate) sets: Vec<SetResult>,
}

/// The results of one set.
#[derive(Serialize, Deserialize)]
pub(crate) struct SetResult {
    pub(crate) name: String,
    pub(crate) tools: usize,
    pub(crate) queries: usize,
    /// All queries, without a history.
    pub(crate) plain: Metrics,
    /// The second half of the queries, without and with the first half as history.
    pub(crate) second_half: Metrics,
    pub(crate) learnt: Metrics,
}

impl Results {
    /// The mean over the judged sets that this run has.
    fn mean(&self, of: impl Fn(&SetResult) -> Metrics) -> Metrics {
        let judged = |set: &&SetResult| JUDGED.contains(&set.name.as_str());
        let all: Vec<Metrics> = self.sets.iter().filter(judged).map(of).collect();
        mean_of(&all)
    }
}

/// Prints a row for each set: before (if known) and after, then the second half without and with learning.
pub(crate) fn print(before: &Results, after: &Results) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "| set | tools | n | R@1 | R@5 | nDCG@5 | second half: R@1 | R@5 | nDCG@5 |"
    )?;
    writeln!(out, "|---|---:|---:|---:|---:|---:|---:|---:|---:|")?;
    for set in &after.sets {
        let old = before.sets.iter().find(|old| old.name == set.name);
        let (tools, queries) = (set.tools.to_string(), set.queries.to_string());
        let cells = cells(
            old.map(|old| old.plain),
            set.plain,
            set.second_half,
            set.learnt,
        );
        let pairs = pair_cell(old.map(|old| old.plain), set.plain);
        writeln!(
            out,
            "| {}{pairs} | {tools} | {queries} | {cells} |",
            set.name
        )?;
    }
    let has_before = !before.sets.is_empty();
    let cells = cells(
        has_before.then(|| before.mean(|set| set.plain)),
        after.mean(|set| set.plain),
        after.mean(|set| set.second_half),
        after.mean(|set| set.learnt),
    );
    writeln!(out, "| **mean of the seven judged sets** | | | {cells} |")
}

fn cells(old: Option<Metrics>, new: Metrics, without: Metrics, with: Metrics) -> String {
    let measures: [fn(&Metrics) -> f64; 3] = [|m| m.recall_1, |m| m.recall_5, |m| m.ndcg_5];
    let plain = measures.map(|of| change(old.as_ref().map(of), of(&new)));
    let learning = measures.map(|of| change(Some(of(&without)), of(&with)));
    [plain, learning].concat().join(" | ")
}

fn pair_cell(old: Option<Metrics>, new: Metrics) -> String {
    let Some(above) = new.right_above_wrong else {
        return String::new();
    };
    let old = old.and_then(|old| old.right_above_wrong);
    format!(" (right above wrong: {})", change(old, above))
}

fn change(old: Option<f64>, new: f64) -> String {
    match old {
        Some(old) => format!("{old:.3} → {new:.3}"),
        None => format!("{new:.3}"),
    }
}
