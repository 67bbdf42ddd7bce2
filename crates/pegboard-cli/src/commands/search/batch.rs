//! `pegboard search --batch`: many queries over a catalog in a file, so that anyone can score the ranking on
//! their own data.
//!
//! The catalog has one JSON object a line: `id`, `name`, and where there are some `server`, `description`,
//! `server_description`, `input_schema`. Queries come as lines `{"id", "query", "k"}` on standard input, and
//! each is answered by a line `{"id", "ranked": [ids]}` before the next is read.

use std::io::BufRead;

use pegboard_model::{Reason, ToolError, UntrustedText};
use pegboard_search::{Baseline, Index, Method, Query, SemanticQuery};
use serde::{Deserialize, Serialize};

use super::corpus::{Corpus, CorpusVectors};
use crate::args::SearchArgs;
use crate::commands::{CommandResult, Output};
use crate::failure::Failure;

/// Hits of a query that names no number.
const HITS: usize = 10;

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

pub(super) fn run(args: &SearchArgs, output: &Output) -> CommandResult {
    let Some(file) = &args.catalog else {
        return Err(Failure::usage(
            "`--batch` needs a catalog to search",
            "Name a file with one tool a line: `pegboard search --batch --catalog tools.jsonl`.",
        ));
    };
    let corpus = Corpus::read(file)?;
    let ranking = Ranking::over(&corpus, args.method.into(), output);
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|error| unreadable(&error.to_string()))?;
        if line.trim().is_empty() {
            continue;
        }
        let query: BatchQuery = serde_json::from_str(&line).map_err(|error| {
            let shown = UntrustedText::new(&line).shortened(80);
            unreadable(&format!("`{shown}`: {error}"))
        })?;
        let most = query
            .k
            .unwrap_or(HITS)
            .min(args.limit.unwrap_or(usize::MAX));
        let ranked = ranking.ranked(&query.query, most);
        let answer = BatchResponse {
            id: &query.id,
            ranked: ranked
                .into_iter()
                .filter_map(|tool| corpus.id(tool))
                .collect(),
        };
        let text = serde_json::to_string(&answer)
            .map_err(|error| ToolError::new(Reason::Internal, error.to_string()))?;
        output.json_line(&text)?;
    }
    Ok(())
}

fn unreadable(why: &str) -> Failure {
    Failure::usage(
        format!("a query cannot be read: {why}"),
        "Send one query a line: {\"id\": 1, \"query\": \"create an issue\", \"k\": 10}.",
    )
}

enum Ranking<'a> {
    Baseline(Method, Baseline),
    Ours {
        corpus: &'a Corpus,
        index: Box<Index>,
        vectors: Option<CorpusVectors>,
    },
}

impl<'a> Ranking<'a> {
    fn over(corpus: &'a Corpus, method: Method, output: &Output) -> Self {
        match method {
            Method::Bm25 | Method::Substring => {
                Self::Baseline(method, Baseline::new(corpus.names_and_descriptions()))
            }
            Method::Words | Method::Full => Self::Ours {
                corpus,
                index: Box::new(corpus.index()),
                vectors: match method {
                    Method::Full => CorpusVectors::of(corpus, output),
                    _ => None,
                },
            },
        }
    }

    /// The positions of the best tools.
    fn ranked(&self, text: &str, most: usize) -> Vec<usize> {
        let (corpus, index, vectors) = match self {
            Self::Baseline(method, baseline) => return baseline.search(*method, text, most),
            Self::Ours {
                corpus,
                index,
                vectors,
            } => (corpus, index, vectors),
        };
        let vector = vectors.as_ref().map(|vectors| vectors.query(text));
        let meaning = vectors.as_ref().zip(vector.as_ref());
        let query = Query {
            text,
            meaning: meaning.map(|(vectors, query)| SemanticQuery { query, vectors }),
            ..Query::default()
        };
        let found = index.search(&query, most);
        found
            .hits
            .iter()
            .filter_map(|hit| corpus.position(hit.at))
            .collect()
    }
}
