//! Measures Pegboard against floors taken in the same run, so that the load of the machine cancels out.

#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a benchmark starts processes, prints a table and stops if its setup fails"
)]

mod all_known;
mod calls;
mod cli_call;
mod cold_listing;
mod failing_servers;
mod faulty_reads;
mod first_list;
mod memory;
mod refresh_all;
mod searching;
mod sharing;
mod warm_list;

mod api_client;
mod client;
mod load;
mod pipe_client;
mod process;
mod report;
mod setup;
mod tool_lists;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

type Measurement = fn(Option<&Path>);

const MEASUREMENTS: [(&str, Measurement); 11] = [
    ("cold-listing", cold_listing::run),
    ("refresh-all", |_| refresh_all::run()),
    ("first-list", |_| first_list::run()),
    ("all-known", |_| all_known::run()),
    ("warm-list", |_| warm_list::run()),
    ("calls", |_| calls::run()),
    ("cli-call", |_| cli_call::run()),
    ("memory", |_| memory::run()),
    ("search", |_| searching::run()),
    ("sharing", |_| sharing::run()),
    ("faulty-reads", |_| {
        faulty_reads::run();
        failing_servers::run();
    }),
];

fn main() -> ExitCode {
    let mut lists = None;
    let mut wanted = Vec::new();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        if word == "--lists" {
            lists = words.next().map(PathBuf::from);
        } else {
            wanted.push(word);
        }
    }
    let is_known = |word: &String| MEASUREMENTS.iter().any(|(name, _)| name == word);
    if let Some(unknown) = wanted.iter().find(|word| !is_known(word)) {
        let known = MEASUREMENTS.map(|(name, _)| name).join(", ");
        println!("unknown measurement `{unknown}`; choose from {known}");
        return ExitCode::FAILURE;
    }
    report::head();
    for (name, measure) in MEASUREMENTS {
        if wanted.is_empty() || wanted.iter().any(|word| word == name) {
            measure(lists.as_deref());
        }
    }
    ExitCode::SUCCESS
}
