//! Meaning, past calls and explanations.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test fails on unexpected values"
)]

mod office;

use std::sync::Arc;

use office::{OFFICE, catalog};
use pegboard_search::{
    Field, Index, MatchKind, NameMatchKind, PastCall, Query, SemanticCoverage, SemanticQuery,
    ToolPosition, ToolText, Vectors, build_segments,
};

/// Vectors with two dimensions; some tools may have none.
struct Plane(Vec<Vec<Option<[f32; 2]>>>);

impl Vectors for Plane {
    fn similarity(&self, segment: usize, query: &[f32], document: &mut [f32], short: &mut [f32]) {
        for ((vector, document), short) in self.0[segment].iter().zip(document).zip(short) {
            if let Some([x, y]) = vector {
                *document = x * query[0] + y * query[1];
                *short = *document;
            }
        }
    }
}

fn plane(lines: &[&str], special: ToolPosition) -> Plane {
    let office = catalog(lines);
    let mut all: Vec<Vec<Option<[f32; 2]>>> = office
        .names
        .iter()
        .map(|tools| vec![Some([0.6, 0.8]); tools.len()])
        .collect();
    all[special.segment][special.tool] = Some([1.0, 0.0]);
    Plane(all)
}

const FORECAST: ToolPosition = ToolPosition {
    segment: 3,
    tool: 0,
};

#[test]
fn meaning_finds_what_words_do_not() {
    let office = catalog(OFFICE);
    let mut vectors = plane(OFFICE, FORECAST);
    let by = |vectors: &Plane, text: &str| {
        let meaning = SemanticQuery {
            query: &[1.0, 0.0],
            steps: &[],
            vectors,
        };
        let meaning = Some(meaning);
        office.index.search(
            &Query {
                meaning,
                ..Query::words(text)
            },
            3,
        )
    };
    let found = by(&vectors, "shall I take an umbrella");
    assert_eq!(office.names(&found)[0], "weather/forecast");
    assert_eq!(found.by_meaning, SemanticCoverage::All);
    assert_eq!(
        office.names(&by(&vectors, "close_issue"))[0],
        "github/close_issue",
        "a name beats meaning"
    );

    vectors.0[0][0] = None;
    assert_eq!(by(&vectors, "umbrella").by_meaning, SemanticCoverage::Some);
    vectors
        .0
        .iter_mut()
        .flatten()
        .for_each(|vector| *vector = None);
    assert_eq!(by(&vectors, "umbrella").by_meaning, SemanticCoverage::None);
    vectors
        .0
        .iter_mut()
        .flatten()
        .for_each(|vector| *vector = Some([f32::NAN, f32::INFINITY]));
    assert_eq!(
        by(&vectors, "close an issue").hits.len(),
        3,
        "vectors with NaN have no effect"
    );
}

#[test]
fn past_calls_count_only_for_similar_queries() {
    let office = catalog(OFFICE);
    let first = |similarity: f32| {
        let memory = [PastCall {
            at: FORECAST,
            similarity,
        }];
        let query = Query {
            memory: &memory,
            ..Query::words("close issue please now")
        };
        let found = office.index.search(&query, 5);
        office.names(&found).contains(&"weather/forecast")
    };
    assert!(first(0.9));
    assert!(!first(0.5));
    assert!(!first(f32::NAN));
    let nowhere = [PastCall {
        at: ToolPosition {
            segment: 99,
            tool: 0,
        },
        similarity: 1.0,
    }];
    let query = Query {
        memory: &nowhere,
        ..Query::words("close")
    };
    assert!(!office.index.search(&query, 5).hits.is_empty());
}

#[test]
fn an_explanation_adds_up_to_the_score() {
    let office = catalog(OFFICE);
    let vectors = plane(OFFICE, FORECAST);
    let memory = [PastCall {
        at: FORECAST,
        similarity: 0.8,
    }];
    for text in [
        "remove the fiel of an issue",
        "create_iss",
        "close_isue",
        "search",
        "log temperature",
    ] {
        for meaning in [false, true] {
            let meaning = meaning.then_some(SemanticQuery {
                query: &[0.8, 0.6],
                steps: &[],
                vectors: &vectors,
            });
            let query = Query {
                text,
                meaning,
                memory: &memory,
                explain: true,
            };
            for hit in office.index.search(&query, 20).hits {
                let why = hit.why.unwrap();
                let name = why.name.map_or(0.0, |name| name.score);
                let parts =
                    why.words + why.coverage + why.server + why.meaning + why.memory + why.action;
                assert!((name + parts - hit.score).abs() < 1e-4, "{text}: {why:?}");
                let words: f32 = why.matched.iter().map(|word| word.weight).sum();
                assert!((words - why.words).abs() < 1e-4, "{text}: {why:?}");
            }
        }
    }
}

#[test]
fn an_explanation_names_words_and_fields() {
    let office = catalog(OFFICE);
    let query = Query {
        explain: true,
        ..Query::words("erase one fiel for good")
    };
    let found = office.index.search(&query, 10);
    let delete = found
        .hits
        .iter()
        .find(|hit| office.names[hit.at.segment][hit.at.tool] == "files/delete_file");
    let why = delete.and_then(|hit| hit.why.as_ref()).unwrap();
    let term_text = |via: MatchKind, field: Field| {
        why.matched
            .iter()
            .any(|word| word.via == via && word.fields.contains(&field))
    };
    assert!(term_text(MatchKind::Same, Field::Description), "{why:?}");
    assert!(term_text(MatchKind::Synonym, Field::Name), "{why:?}");
    assert!(term_text(MatchKind::Typo, Field::Name), "{why:?}");

    let query = Query {
        explain: true,
        ..Query::words("close_isue")
    };
    let why = office.index.search(&query, 1).hits.remove(0).why.unwrap();
    assert_eq!(why.name.map(|name| name.kind), Some(NameMatchKind::Typo(1)));
}

/// Only one tool is close to every query.
struct Needle(ToolPosition);

impl Vectors for Needle {
    fn similarity(&self, segment: usize, _: &[f32], document: &mut [f32], short: &mut [f32]) {
        document.fill(0.1);
        short.fill(0.1);
        if segment == self.0.segment {
            document[self.0.tool] = 0.9;
            short[self.0.tool] = 0.9;
        }
    }

    fn server_similarity(&self, segment: usize, _: &[f32]) -> Option<f32> {
        Some(if segment == self.0.segment { 0.9 } else { 0.1 })
    }
}

#[test]
fn r_find_02_every_tool_of_a_large_catalog_is_compared() {
    // Servers of different sizes, one of them empty, with enough tools for two threads.
    let sizes = [1_500, 0, 1, 1_200, 700, 900, 3];
    let servers: Vec<(usize, usize)> = sizes.into_iter().enumerate().collect();
    let segments = build_segments(&servers, |(server, tools), reader| {
        let names: Vec<String> = (0..*tools)
            .map(|tool| format!("t{server}x{tool}"))
            .collect();
        let texts = names.iter().map(|name| ToolText {
            name,
            exposed: name,
            description: "".into(),
            input_schema: "{}",
            aliases: &[],
        });
        Arc::new(reader.segment(None, texts))
    });
    let index = Index::new(segments);
    for (segment, tools) in servers.into_iter().filter(|(_, tools)| *tools > 0) {
        for tool in [0, tools / 2, tools - 1] {
            let wanted = ToolPosition { segment, tool };
            let meaning = SemanticQuery {
                query: &[1.0],
                steps: &[],
                vectors: &Needle(wanted),
            };
            let query = Query {
                meaning: Some(meaning),
                ..Query::words("something else entirely")
            };
            let found = index.search(&query, 1);
            assert_eq!(found.by_meaning, SemanticCoverage::All);
            assert_eq!(found.hits[0].at, wanted);
        }
    }
}
