//! `search-eval --data DIR`: scores Pegboard's search on query sets and prints a table.
//!
//! A set is a folder with `corpus.jsonl` (a catalog, as for `search-batch`) and `queries.dev.jsonl`: one JSON object per
//! line with `id`, `query` and `gold_groups`, the needed tools, each as a list of equally right ids. Minimal pairs are a
//! set whose queries also name a `wrong` tool.

mod metrics;
mod reliability;
mod replay;
mod sets;
mod table;

use std::error::Error;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use pegboard_benches::retrieval::{CachedEncoder, Corpus, Searcher};

use crate::metrics::{Metrics, mean_of};
use crate::reliability::Reliability;
use crate::replay::{Replay, replay};
use crate::sets::{QuerySet, sets_in};
use crate::table::{Results, SetResult};

/// Number of hits that are scored.
const HITS: usize = 10;

#[derive(Parser)]
#[command(about = "Score the search on query sets and print a table")]
struct Args {
    /// A folder with one folder per set; repeatable
    #[arg(long, value_name = "DIR", required = true)]
    data: Vec<PathBuf>,
    /// Only these sets, separated by commas
    #[arg(long, value_delimiter = ',')]
    sets: Vec<String>,
    /// The queries of each set: `dev` for `queries.dev.jsonl`
    #[arg(long, default_value = "dev")]
    half: String,
    /// Keep computed vectors in this file, so that the next run starts at once
    #[arg(long, value_name = "FILE")]
    vectors: Option<PathBuf>,
    /// Compare with the results of an earlier run
    #[arg(long, value_name = "FILE")]
    before: Option<PathBuf>,
    /// Store the results for a later comparison
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Also print how often the first hit is right, by its confidence
    #[arg(long)]
    reliability: bool,
    /// Print the queries whose tools are not all among the first five
    #[arg(long)]
    misses: bool,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    let encoder = CachedEncoder::new(args.vectors.as_deref())?;
    let before: Results = match &args.before {
        Some(path) => serde_json::from_str(&fs::read_to_string(path)?)?,
        None => Results::default(),
    };
    let mut results = Results::default();
    let mut reliability = Reliability::default();
    for set in sets_in(&args.data, &args.half, &args.sets)? {
        let corpus = Corpus::read(&set.corpus)?;
        let searcher = Searcher::new(&corpus, Some(&encoder));
        let scored = score(&set, &searcher, &mut reliability);
        if args.misses {
            print_misses(&set, &scored)?;
        }
        let all: Vec<Metrics> = scored.into_iter().map(|(metrics, _)| metrics).collect();
        let Replay { without, with } = replay(&set, &corpus, &searcher);
        results.sets.push(SetResult {
            name: set.name,
            tools: corpus.len(),
            queries: all.len(),
            plain: mean_of(&all),
            second_half: mean_of(&without),
            learnt: mean_of(&with),
        });
    }
    table::print(&before, &results)?;
    if args.reliability {
        reliability.print()?;
    }
    if let Some(path) = &args.save {
        fs::write(path, serde_json::to_string_pretty(&results)?)?;
    }
    Ok(())
}

/// Scores every query, with the ids that were found.
fn score<'a>(
    set: &QuerySet,
    searcher: &Searcher<'a>,
    reliability: &mut Reliability,
) -> Vec<(Metrics, Vec<&'a str>)> {
    let scored = set.queries.iter().map(|query| {
        let ranking = searcher.search(&query.query, HITS, &[]);
        let ids = searcher.ids(&ranking);
        let metrics = Metrics::of(&ids, query);
        reliability.add(&ranking, metrics.first_is_right);
        (metrics, ids)
    });
    scored.collect()
}

fn print_misses(set: &QuerySet, scored: &[(Metrics, Vec<&str>)]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for (query, (metrics, ids)) in set.queries.iter().zip(scored) {
        if metrics.recall_5 < 1.0 || metrics.right_above_wrong == Some(0.0) {
            let first: Vec<&str> = ids.iter().take(5).copied().collect();
            let needed = &query.gold_groups;
            let text = &query.query;
            writeln!(
                out,
                "{}: {text}\n  needs {needed:?}\n  found {first:?}",
                set.name
            )?;
        }
    }
    Ok(())
}
