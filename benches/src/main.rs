//! Measures Pegboard against floors taken in the same run, so that the machine's mood cancels out.

#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a program that measures starts processes, prints a table and stops when its set-up is wrong"
)]

mod cold_listing;
mod refresh_all;
mod setup;
mod spread;

use std::path::PathBuf;

fn main() {
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
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|word| word == name);
    println!("| measurement | floor | pegboard | ratio | goal |");
    println!("|---|---|---|---|---|");
    if is_wanted("cold-listing") {
        cold_listing::run(lists.as_deref());
    }
    if is_wanted("refresh-all") {
        refresh_all::run();
    }
}
