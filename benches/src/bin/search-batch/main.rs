//! `search-batch --batch --catalog FILE --method METHOD`: runs queries over a catalog in a file, to score the ranking on
//! any data set and to compare it with baselines.
//!
//! The catalog has one JSON object per line: `id`, `name`, and optionally `server`, `description`,
//! `server_description` and `input_schema`. Queries are lines `{"id", "query", "k"}` on standard input. Each gets a
//! line `{"id", "ranked": [ids]}` on standard output before the next query is read.

mod baseline;

use std::error::Error;
use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use pegboard_benches::retrieval::{CachedEncoder, Corpus, Searcher};
use pegboard_model::UntrustedText;
use serde::{Deserialize, Serialize};

use crate::baseline::Baseline;

/// Number of results if a query has no `k`.
const DEFAULT_RESULTS: usize = 10;

#[derive(Parser)]
#[command(about = "Run search queries from standard input over a catalog in a file")]
struct Args {
    /// Read queries from standard input, one JSON line each (the only mode)
    #[arg(long, required = true)]
    batch: bool,
    /// The catalog: one tool per line with id, name, server, description, input_schema
    #[arg(long, value_name = "FILE")]
    catalog: PathBuf,
    /// The ranking method
    #[arg(long, value_enum, default_value_t = Method::Full)]
    method: Method,
    /// Maximum number of results per query
    #[arg(long)]
    limit: Option<usize>,
    /// Keep computed vectors in this file, so that the next run starts at once
    #[arg(long, value_name = "FILE")]
    vectors: Option<PathBuf>,
    /// Print no progress
    #[arg(long)]
    quiet: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Method {
    /// Words and meaning, as Pegboard ranks
    Full,
    /// Words only: fields, stems, synonyms, typos
    #[value(alias = "bm25f")]
    Words,
    /// Plain BM25 over name and description
    Bm25,
    /// The query as a substring of name or description
    Substring,
}

#[derive(Deserialize)]
struct BatchQuery {
    id: serde_json::Value,
    query: String,
    #[serde(default)]
    k: Option<usize>,
}

#[derive(Serialize)]
struct BatchResponse<'a> {
    id: &'a serde_json::Value,
    ranked: Vec<&'a str>,
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
    let corpus = Corpus::read(&args.catalog)?;
    let encoder = match args.method {
        Method::Full => Some(CachedEncoder::new(args.vectors.as_deref())?),
        Method::Words | Method::Bm25 | Method::Substring => None,
    };
    if encoder.is_some() && !args.quiet {
        writeln!(io::stderr(), "Encoding {} tools …", corpus.len())?;
    }
    let ranker = Ranker::new(&corpus, encoder.as_ref(), args);
    for line in io::stdin().lock().lines() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        let query: BatchQuery = serde_json::from_str(&line).map_err(|error| {
            let shown = UntrustedText::new(&line).shortened(80);
            format!(
                "invalid query `{shown}`: {error}. Send one query per line: \
                 {{\"id\": 1, \"query\": \"create an issue\", \"k\": 10}}."
            )
        })?;
        let limit = args.limit.unwrap_or(usize::MAX);
        let limit = query.k.unwrap_or(DEFAULT_RESULTS).min(limit);
        let response = BatchResponse {
            id: &query.id,
            ranked: ranker.rank(&corpus, &query.query, limit),
        };
        let mut out = io::stdout().lock();
        writeln!(out, "{}", serde_json::to_string(&response)?)?;
        out.flush()?;
    }
    Ok(())
}

enum Ranker<'a> {
    Bm25(Baseline),
    Substring(Baseline),
    Pegboard(Box<Searcher<'a>>),
}

impl<'a> Ranker<'a> {
    fn new(corpus: &'a Corpus, encoder: Option<&'a CachedEncoder>, args: &Args) -> Self {
        let baseline = || Baseline::new(corpus.names_and_descriptions());
        match args.method {
            Method::Bm25 => Self::Bm25(baseline()),
            Method::Substring => Self::Substring(baseline()),
            Method::Words | Method::Full => {
                Self::Pegboard(Box::new(Searcher::new(corpus, encoder)))
            }
        }
    }

    /// The ids of the best tools.
    fn rank(&self, corpus: &'a Corpus, text: &str, limit: usize) -> Vec<&'a str> {
        let found = match self {
            Self::Bm25(baseline) => baseline.bm25(text, limit),
            Self::Substring(baseline) => baseline.substring(text, limit),
            Self::Pegboard(searcher) => return searcher.ids(&searcher.search(text, limit, &[])),
        };
        found.into_iter().filter_map(|at| corpus.id(at)).collect()
    }
}
