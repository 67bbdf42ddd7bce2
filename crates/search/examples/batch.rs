//! Answers searches over a file of tools, for measuring quality with one's own data.
//!
//! `batch --catalog corpus.jsonl [--method full|words|bm25|substring] [--vectors FILE --query-vectors FILE
//! [--server-vectors FILE]]`
//!
//! Tools come as lines `{"id","server","name","description","server_description"?,"input_schema"?}`, requests on
//! standard input as `{"id","query","k"}`; each is answered by a line `{"id","ranked":[ids]}`. Vectors of tools
//! come as lines `{"id","document":[…],"short":[…]}`, those of requests as `{"query","vector":[…]}`, those of
//! servers as `{"server","vector":[…]}`.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a measuring program for people at a terminal"
)]

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::sync::Arc;

use pegboard_search::{
    Baseline, Index, Meaning, Method, Query, Segment, ServerText, ToolText, Vectors,
};
use serde_json::{Value, json};

struct Corpus {
    tools: Vec<Value>,
    /// The tools of each segment, as positions in `tools`.
    segments: Vec<Vec<usize>>,
}

struct Kept {
    tools: HashMap<(usize, usize), (Vec<f32>, Vec<f32>)>,
    servers: HashMap<usize, Vec<f32>>,
}

impl Vectors for Kept {
    fn likeness(&self, segment: usize, query: &[f32], document: &mut [f32], short: &mut [f32]) {
        for (tool, (document, short)) in document.iter_mut().zip(short).enumerate() {
            if let Some((one, other)) = self.tools.get(&(segment, tool)) {
                *document = dot(one, query);
                *short = dot(other, query);
            }
        }
    }

    fn server_likeness(&self, segment: usize, query: &[f32]) -> Option<f32> {
        self.servers.get(&segment).map(|vector| dot(vector, query))
    }
}

fn dot(one: &[f32], other: &[f32]) -> f32 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let option = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).cloned()
    };
    let corpus = read_corpus(&option("--catalog").expect("--catalog FILE is needed"));
    let method = option("--method").unwrap_or_else(|| "full".into());
    let method = Method::named(&method).expect("a known method");
    let servers = option("--server-vectors");
    let vectors = option("--vectors").map(|file| read_vectors(&file, servers.as_deref(), &corpus));
    let requests = option("--query-vectors").map(|file| read_requests(&file));
    let explain = arguments.iter().any(|argument| argument == "--explain");

    let index = index_of(&corpus);
    let names = corpus
        .tools
        .iter()
        .map(|tool| (text(tool, "name"), text(tool, "description")));
    let baseline = Baseline::new(names);
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line: Value = serde_json::from_str(&line.expect("a line")).expect("a request as JSON");
        let request = text(&line, "query");
        let limit = line["k"].as_u64().unwrap_or(10) as usize;
        let id_of = |tool: usize| corpus.tools[tool]["id"].clone();
        let ranked: Vec<Value> = match method {
            Method::Bm25 | Method::Substring => {
                let found = baseline.search(method, request, limit);
                found.into_iter().map(id_of).collect()
            }
            Method::Full | Method::Words => {
                let meaning = requests
                    .as_ref()
                    .and_then(|all| all.get(request))
                    .zip(vectors.as_ref());
                let query = Query {
                    text: request,
                    meaning: meaning.map(|(query, vectors)| Meaning { query, vectors }),
                    memory: &[],
                    explain,
                };
                let found = index.search(&query, limit);
                if explain {
                    for hit in &found.hits {
                        let id = &corpus.tools[corpus.segments[hit.at.segment][hit.at.tool]]["id"];
                        writeln!(out, "{id} {:.3} {:?}", hit.score, hit.why).expect("output");
                    }
                }
                let at = |hit: &pegboard_search::Hit| corpus.segments[hit.at.segment][hit.at.tool];
                found.hits.iter().map(at).map(id_of).collect()
            }
        };
        writeln!(out, "{}", json!({"id": line["id"], "ranked": ranked})).expect("output");
        out.flush().expect("output");
    }
}

fn index_of(corpus: &Corpus) -> Index {
    Index::new(corpus.segments.iter().map(|tools| {
        let first = &corpus.tools[tools[0]];
        let server = text(first, "server");
        let exposed: Vec<String> = tools
            .iter()
            .map(|tool| format!("{server}__{}", text(&corpus.tools[*tool], "name")))
            .collect();
        let schemas: Vec<String> = tools
            .iter()
            .map(|tool| corpus.tools[*tool]["input_schema"].to_string())
            .collect();
        let texts = tools.iter().enumerate().map(|(at, tool)| ToolText {
            name: text(&corpus.tools[*tool], "name"),
            exposed: &exposed[at],
            description: text(&corpus.tools[*tool], "description").into(),
            input_schema: &schemas[at],
            aliases: &[],
        });
        let server = ServerText {
            name: server,
            description: text(first, "server_description"),
        };
        let server = (!server.name.is_empty()).then_some(server);
        Arc::new(Segment::new(server, texts))
    }))
}

fn read_corpus(file: &str) -> Corpus {
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let mut segments: Vec<Vec<usize>> = Vec::new();
    let tools: Vec<Value> = lines(file).collect();
    for (at, tool) in tools.iter().enumerate() {
        let next = numbers.len();
        let number = *numbers
            .entry(text(tool, "server").to_owned())
            .or_insert(next);
        if number == segments.len() {
            segments.push(Vec::new());
        }
        segments[number].push(at);
    }
    Corpus { tools, segments }
}

fn read_vectors(file: &str, servers: Option<&str>, corpus: &Corpus) -> Kept {
    let mut places = HashMap::new();
    for (segment, tools) in corpus.segments.iter().enumerate() {
        for (at, tool) in tools.iter().enumerate() {
            places.insert(text(&corpus.tools[*tool], "id").to_owned(), (segment, at));
        }
    }
    let tools = lines(file).filter_map(|line| {
        let place = places.get(text(&line, "id"))?;
        Some((*place, (floats(&line["document"]), floats(&line["short"]))))
    });
    let server_of = |segment: &Vec<usize>| text(&corpus.tools[segment[0]], "server");
    let servers = servers.into_iter().flat_map(lines).filter_map(|line| {
        let named = |segment: &Vec<usize>| server_of(segment) == text(&line, "server");
        let segment = corpus.segments.iter().position(named)?;
        Some((segment, floats(&line["vector"])))
    });
    Kept {
        tools: tools.collect(),
        servers: servers.collect(),
    }
}

fn read_requests(file: &str) -> HashMap<String, Vec<f32>> {
    lines(file)
        .map(|line| (text(&line, "query").to_owned(), floats(&line["vector"])))
        .collect()
}

fn lines(file: &str) -> impl Iterator<Item = Value> {
    let file = File::open(file).expect("a file that can be read");
    let line =
        |line: std::io::Result<String>| serde_json::from_str(&line.expect("a line")).expect("JSON");
    BufReader::new(file).lines().map(line)
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

fn floats(value: &Value) -> Vec<f32> {
    let numbers = value.as_array().map_or(&[][..], Vec::as_slice);
    numbers
        .iter()
        .map(|number| number.as_f64().unwrap_or(0.0) as f32)
        .collect()
}
