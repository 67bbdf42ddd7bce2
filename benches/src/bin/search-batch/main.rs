//! `search-batch --batch --catalog FILE --method METHOD`: runs queries over a catalog in a file, to score the ranking on
//! any data set and to compare it with baselines.
//!
//! The catalog has one JSON object per line: `id`, `name`, and optionally `server`, `description`,
//! `server_description` and `input_schema`. Queries are lines `{"id", "query", "k"}` on standard input. Each gets a
//! line `{"id", "ranked": [ids]}` on standard output before the next query is read.

mod baseline;
mod corpus;

use std::error::Error;
use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use pegboard_model::UntrustedText;
use pegboard_search::{Index, Query, SemanticQuery};
use serde::{Deserialize, Serialize};

use crate::baseline::Baseline;
use crate::corpus::{Corpus, CorpusVectors};

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
    let ranker = Ranker::new(&corpus, args)?;
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
        let ranked = ranker.rank(&query.query, query.k.unwrap_or(DEFAULT_RESULTS).min(limit));
        let response = BatchResponse {
            id: &query.id,
            ranked: ranked
                .into_iter()
                .filter_map(|tool| corpus.id(tool))
                .collect(),
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
    Pegboard {
        corpus: &'a Corpus,
        index: Box<Index>,
        vectors: Option<Box<CorpusVectors>>,
    },
}

impl<'a> Ranker<'a> {
    fn new(corpus: &'a Corpus, args: &Args) -> Result<Self, Box<dyn Error>> {
        let baseline = || Baseline::new(corpus.names_and_descriptions());
        let vectors = match args.method {
            Method::Bm25 => return Ok(Self::Bm25(baseline())),
            Method::Substring => return Ok(Self::Substring(baseline())),
            Method::Words => None,
            Method::Full => Some(Box::new(CorpusVectors::new(corpus, args.quiet)?)),
        };
        let index = Box::new(corpus.index());
        Ok(Self::Pegboard {
            corpus,
            index,
            vectors,
        })
    }

    /// The positions of the best tools in the corpus.
    fn rank(&self, text: &str, limit: usize) -> Vec<usize> {
        let (corpus, index, vectors) = match self {
            Self::Bm25(baseline) => return baseline.bm25(text, limit),
            Self::Substring(baseline) => return baseline.substring(text, limit),
            Self::Pegboard {
                corpus,
                index,
                vectors,
            } => (corpus, index, vectors),
        };
        let vector = vectors.as_ref().map(|vectors| vectors.query(text));
        let meaning = vectors.as_deref().zip(vector.as_ref());
        let query = Query {
            text,
            meaning: meaning.map(|(vectors, query)| SemanticQuery {
                query: query.as_slice(),
                vectors,
            }),
            ..Query::default()
        };
        let hits = index.search(&query, limit).hits;
        let positions = hits.iter().filter_map(|hit| corpus.position(hit.at));
        positions.collect()
    }
}
