//! Measures the encoder on this machine: minimum and median of many runs.
//!
//! `cargo run --release -p pegboard-encoder --example encoder_speed`

#![allow(
    clippy::print_stdout,
    reason = "a program that measures prints a table"
)]

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use pegboard_encoder::{Encoder, PackedVector, TextKind, document_text, scores, short_text};

const RUNS: usize = 200;

/// Number of vectors of the largest catalog in the search benchmark, two per tool.
const VECTORS: usize = 2 * 5_325;

const QUERY: &str = "turn the spreadsheet from last week into a printable report";
const LONG_QUERY: &str = "take the numbers from the report that came yesterday, put them into a new sheet, \
    share it with finance and notify me when they read it";
const DESCRIPTION: &str = "Create a new issue in a repository. The title is required; the body may \
    use Markdown. Labels and assignees must exist already, and a milestone is given by its number. \
    Returns the number and the address of the new issue, or an error if the repository does not \
    accept issues or the caller may not write to it.";

fn main() -> Result<(), Box<dyn Error>> {
    let encoder = Encoder::embedded()?;
    let portable = Encoder::embedded()?.portable();
    let document = document_text("create_issue", DESCRIPTION);
    let short = short_text(Some("github"), "create_issue");
    measure("making an encoder", || Encoder::embedded().is_ok());
    measure("reading a query's words", || {
        encoder.token_ids(QUERY, TextKind::Query)
    });
    for (name, text, kind) in [
        ("query", QUERY, TextKind::Query),
        ("query on one thread", QUERY, TextKind::Document),
        ("query", LONG_QUERY, TextKind::Query),
        ("query on one thread", LONG_QUERY, TextKind::Document),
        ("document", document.as_str(), TextKind::Document),
        ("short text", short.as_str(), TextKind::Short),
    ] {
        let tokens = encoder.token_ids(text, kind).len();
        measure(&format!("{name} of {tokens} tokens"), || {
            encoder.encode(text, kind)
        });
        measure(&format!("{name} of {tokens} tokens, portable"), || {
            portable.encode(text, kind)
        });
    }
    measure("tool (document and short text)", || {
        (
            encoder.encode(&document, TextKind::Document),
            encoder.encode(&short, TextKind::Short),
        )
    });
    let query = encoder.encode(QUERY, TextKind::Query);
    let vectors = vec![PackedVector::from(&query); VECTORS];
    measure(&format!("scores of {VECTORS} vectors"), || {
        scores(&vectors, &query)
    });
    Ok(())
}

fn measure<Output>(name: &str, run: impl Fn() -> Output) {
    let mut times: Vec<Duration> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            black_box(run());
            start.elapsed()
        })
        .collect();
    times.sort();
    let middle = times.get(RUNS / 2).copied().unwrap_or_default();
    let least = times.first().copied().unwrap_or_default();
    println!(
        "{name:42} least {:8.3} ms   middle {:8.3} ms",
        in_ms(least),
        in_ms(middle)
    );
}

fn in_ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
