//! Measures indexing and searching of generated catalogs.
//!
//! `speed [TOOLS...]` prints one line per size (default: 1,000, 10,000 and 100,000): the time to build the segments and
//! the time to merge them, each the median of several runs, and the median and 95th percentile of searches by words and
//! by meaning: without encoding, only encoding of queries of 8 to 28 tokens, and both.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a measuring program for people at a terminal"
)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pegboard_encoder::{
    DIMENSIONS, Encoder, PackedVector, TextKind, Vector, score_each, score_pairs,
};
use pegboard_search::{
    Index, Query, Segment, SegmentBuilder, SemanticQuery, ServerText, ToolText, Vectors,
    build_segments,
};

/// Number of tools per server.
const TOOLS_OF_SERVER: usize = 20;

const VERBS: &[&str] = &[
    "get", "list", "create", "delete", "update", "search", "send", "read", "write", "open",
    "close", "export",
];
const NOUNS: &[&str] = &[
    "file", "issue", "message", "page", "user", "branch", "record", "invoice", "calendar", "image",
    "table", "report", "folder", "comment", "event", "contact", "query", "document", "task",
    "channel",
];
const GLUE: &[&str] = &[
    "the", "a", "of", "with", "and", "to", "in", "for", "returns", "given", "use", "this", "tool",
];

/// Typical queries of people and models, most of them short.
const REQUESTS: &[&str] = &[
    "what is on my calendar today",
    "list the open issues of this repository",
    "send a short note to the whole team",
    "find flights to Lisbon next Friday",
    "turn this page into a PDF",
    "which invoices are still unpaid",
    "read the last lines of the server log",
    "make the picture smaller and crop it",
    "show me the weather in the mountains tomorrow",
    "translate the second paragraph into Spanish",
    "rename every photo in the folder by its date",
    "who changed this file last and why did they",
    "add a row to the table of customers with their address",
    "compare the prices of both hotels for three nights in May",
    "start the build again and notify me when it has failed",
    "search the archive for mails about the contract with the supplier",
    "draw a chart of how many people visited the site during each week of summer",
    "look for a doctor near the office who has time on Thursday after four o'clock",
    "collect what the newspapers wrote about the election this morning and sum it up in five sentences for me",
    "take the numbers from the report that came yesterday, put them into a new sheet and share it with finance",
];

/// A deterministic random number generator.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % sides.max(1)
    }

    /// A word with a realistic frequency distribution: few are common, most are rare.
    fn word(&mut self) -> String {
        match self.roll(10) {
            0..=3 => GLUE[self.roll(GLUE.len())].into(),
            4 => VERBS[self.roll(VERBS.len())].into(),
            5 | 6 => NOUNS[self.roll(NOUNS.len())].into(),
            _ => self.rare(),
        }
    }

    fn rare(&mut self) -> String {
        let sides = 1 + self.roll(20_000);
        let mut number = self.roll(sides);
        let mut word = String::new();
        for _ in 0..3 {
            word.push(char::from(b"bcdfghklmnprstvz"[number % 16]));
            word.push(char::from(b"aeiou"[number % 5]));
            number /= 16;
        }
        word
    }

    fn text(&mut self, words: usize) -> String {
        let words: Vec<String> = (0..words).map(|_| self.word()).collect();
        words.join(" ")
    }
}

struct Made {
    server: String,
    about: String,
    tools: Vec<[String; 4]>,
}

fn make(tools: usize) -> Vec<Made> {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let servers = tools.div_ceil(TOOLS_OF_SERVER);
    let make_server = |number: usize| {
        let server = format!("{}-{number}", dice.rare());
        let make_tool = |_| {
            let verb = VERBS[dice.roll(VERBS.len())];
            let noun = NOUNS[dice.roll(NOUNS.len())];
            let name = format!("{verb}_{noun}_{}", dice.rare());
            let words = 15 + dice.roll(40);
            let description = dice.text(words);
            let properties: Vec<String> = (0..2 + dice.roll(5))
                .map(|_| {
                    format!(
                        r#""{}":{{"type":"string","description":"{}"}}"#,
                        dice.rare(),
                        dice.text(8)
                    )
                })
                .collect();
            let schema = format!(
                r#"{{"type":"object","properties":{{{}}}}}"#,
                properties.join(",")
            );
            [format!("{server}__{name}"), name, description, schema]
        };
        let tools = (0..TOOLS_OF_SERVER).map(make_tool).collect();
        Made {
            about: dice.text(12),
            server,
            tools,
        }
    };
    (0..servers).map(make_server).collect()
}

fn segment(reader: &mut SegmentBuilder, made: &Made) -> Arc<Segment> {
    let server = ServerText {
        name: &made.server,
        description: &made.about,
    };
    let tools = made
        .tools
        .iter()
        .map(|[exposed, name, description, schema]| ToolText {
            name,
            exposed,
            description: description.as_str().into(),
            input_schema: schema,
            aliases: &[],
        });
    Arc::new(reader.segment(Some(server), tools))
}

/// The vectors of each server and its tools.
struct StoredVectors {
    tools: Vec<Vec<[PackedVector; 2]>>,
    servers: Vec<PackedVector>,
}

impl Vectors for StoredVectors {
    fn similarity(&self, segment: usize, query: &[f32], document: &mut [f32], short: &mut [f32]) {
        score_pairs(&self.tools[segment], query, document, short);
    }

    fn server_similarity(&self, segment: usize, query: &[f32]) -> Option<f32> {
        let mut cosine = 0.0;
        let server = std::slice::from_ref(&self.servers[segment]);
        score_each(server, query, std::slice::from_mut(&mut cosine));
        Some(cosine)
    }
}

fn vector(dice: &mut Dice) -> Vector {
    let numbers: Vec<f32> = (0..DIMENSIONS)
        .map(|_| dice.roll(100) as f32 - 40.0)
        .collect();
    Vector::from_slice(&numbers).expect("as many numbers as it needs")
}

fn main() {
    let sizes: Vec<usize> = std::env::args()
        .skip(1)
        .filter_map(|size| size.parse().ok())
        .collect();
    let sizes = if sizes.is_empty() {
        vec![1_000, 5_325, 10_000, 100_000]
    } else {
        sizes
    };
    let encoder = Encoder::embedded().expect("the weights are part of the program");
    println!(
        "tools    read ms  merge ms  words p50/p95 µs  typo p50/p95 µs  name p50 µs  meaning p50/p95 µs  \
         encoding p50/p95 µs  both p50/p95 µs"
    );
    for size in sizes {
        let made = make(size);
        let read_all = || build_segments(&made, |made, reader| segment(reader, made));
        let (segments, read) = median_time(read_all);
        let (index, merge) = median_time(|| Index::new(segments.iter().cloned()));
        measure(size, &made, &index, &encoder, [read, merge]);
    }
}

fn measure(
    size: usize,
    made: &[Made],
    index: &Index,
    encoder: &Encoder,
    [read, merge]: [Duration; 2],
) {
    let mut dice = Dice(77);
    let requests: Vec<String> = (0..300)
        .map(|_| {
            let noun = NOUNS[dice.roll(NOUNS.len())];
            format!(
                "{} a {noun} {} for the {}",
                VERBS[dice.roll(VERBS.len())],
                dice.rare(),
                dice.rare()
            )
        })
        .collect();
    let names: Vec<&str> = (0..300)
        .map(|_| &*made[dice.roll(made.len())].tools[dice.roll(TOOLS_OF_SERVER)][1])
        .collect();
    let typos: Vec<String> = names
        .iter()
        .map(|name| name.replacen(['a', 'e', 'i'], "q", 1))
        .collect();
    let words = times(requests.iter(), |text| {
        black_box(index.search(&Query::words(text), 5)).total
    });
    let typo = times(typos.iter(), |text| {
        black_box(index.search(&Query::words(text), 5)).total
    });
    let name = times(names.iter(), |text| {
        black_box(index.search(&Query::words(text), 5)).total
    });
    let mut packed = || PackedVector::from(&vector(&mut dice));
    let mut of_server = |made: &Made| made.tools.iter().map(|_| [packed(), packed()]).collect();
    let kept = StoredVectors {
        tools: made.iter().map(&mut of_server).collect(),
        servers: made.iter().map(|_| packed()).collect(),
    };
    let query = vector(&mut dice);
    let query = query.as_slice();
    let search = |text: &str, query: &[f32]| {
        let query = Query {
            meaning: Some(SemanticQuery {
                query,
                steps: &[],
                vectors: &kept,
            }),
            ..Query::words(text)
        };
        black_box(index.search(&query, 5)).total
    };
    let meaning = times(requests.iter(), |text| search(text, query));
    let spoken = REQUESTS.iter().cycle().take(300);
    let encode = |text: &str| black_box(encoder.encode(text, TextKind::Query));
    let encoding = times(spoken.clone(), |text| encode(text).as_slice().len());
    let both = times(spoken, |text| search(text, encode(text).as_slice()));
    println!(
        "{size:<8} {:>7.1} {:>9.1} {:>9.1}/{:<7.1} {:>9.1}/{:<7.1} {:>9.1} {:>9.1}/{:<7.1}  {:>9.0}/{:<7.0} {:>9.0}/{:<7.0}",
        read.as_secs_f64() * 1e3,
        merge.as_secs_f64() * 1e3,
        words.0,
        words.1,
        typo.0,
        typo.1,
        name.0,
        meaning.0,
        meaning.1,
        encoding.0,
        encoding.1,
        both.0,
        both.1,
    );
}

/// The result of the last run and the median time of several runs.
fn median_time<Made>(run: impl Fn() -> Made) -> (Made, Duration) {
    let mut times = [Duration::ZERO; 9];
    for time in &mut times {
        let start = Instant::now();
        let made = black_box(run());
        *time = start.elapsed();
        drop(made);
    }
    times.sort();
    (run(), times[times.len() / 2])
}

/// The median and the 95th percentile in microseconds.
fn times<T>(requests: impl Iterator<Item = T> + Clone, run: impl Fn(T) -> usize) -> (f64, f64) {
    for request in requests.clone().take(50) {
        black_box(run(request));
    }
    let mut times: Vec<f64> = requests
        .map(|request| {
            let start = Instant::now();
            black_box(run(request));
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    (times[times.len() / 2], times[times.len() * 95 / 100])
}
