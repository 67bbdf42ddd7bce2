//! The metrics text, checked by a strict parser of the exposition format.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use pegboard_model::{
    Event, EventKind, Outcome, Reason, Recorder, ServerName, Timestamp, ToolError,
};
use pegboard_trace::{CONTENT_TYPE, Gauges, ServerGauges, Tracer};

use crate::facts::{call, record_everything, server, trace_id};

type Labels = Vec<(String, String)>;

/// A metric family: its type, and its samples by name and labels.
#[derive(Debug, Default)]
struct Family {
    kind: String,
    samples: BTreeMap<(String, Labels), f64>,
}

/// Parses the text. Panics on any violation of the format.
fn read(page: &str) -> BTreeMap<String, Family> {
    assert!(page.ends_with('\n') && !page.contains("\n\n"));
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    let mut present = String::new();
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').expect("help has a text");
            assert!(is_name(name) && !help.contains('\\'), "{line}");
            let kind = lines.next().and_then(|line| line.strip_prefix("# TYPE "));
            let (typed, kind) = kind
                .and_then(|rest| rest.split_once(' '))
                .expect("a type follows");
            assert_eq!(typed, name);
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{kind}");
            assert!(kind != "counter" || name.ends_with("_total"), "{name}");
            present = name.to_owned();
            let family = Family {
                kind: kind.to_owned(),
                ..Family::default()
            };
            assert!(
                families.insert(present.clone(), family).is_none(),
                "{name} comes twice"
            );
            continue;
        }
        let (name, labels, value) = sample(line);
        let family = families.get_mut(&present).expect("a family was begun");
        let suffix = name
            .strip_prefix(&present)
            .unwrap_or_else(|| panic!("{name} is not of {present}"));
        let allowed: &[&str] = match family.kind.as_str() {
            "histogram" => &["_bucket", "_sum", "_count"],
            _ => &[""],
        };
        assert!(allowed.contains(&suffix), "{line}");
        assert!(
            family.samples.insert((name, labels), value).is_none(),
            "{line} comes twice"
        );
    }
    for (name, family) in families
        .iter()
        .filter(|(_, family)| family.kind == "histogram")
    {
        check_histogram(name, family);
    }
    families
}

fn is_name(text: &str) -> bool {
    let is_first = |c: char| c.is_ascii_alphabetic() || c == '_' || c == ':';
    text.starts_with(is_first) && text.chars().all(|c| is_first(c) || c.is_ascii_digit())
}

fn sample(line: &str) -> (String, Labels, f64) {
    let end = line.find(['{', ' ']).expect("a sample has a value");
    let (name, mut rest) = line.split_at(end);
    assert!(is_name(name), "{line}");
    let mut labels = Vec::new();
    if let Some(inner) = rest.strip_prefix('{') {
        rest = inner;
        loop {
            let (label, after) = rest.split_once("=\"").expect("a label has a value");
            assert!(is_name(label) && !label.contains(':'), "{line}");
            let (value, after) = quoted(after);
            labels.push((label.to_owned(), value));
            match after.split_at(1) {
                (",", next) => rest = next,
                ("}", next) => {
                    rest = next;
                    break;
                }
                _ => panic!("{line}"),
            }
        }
    }
    let names: HashSet<_> = labels.iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), labels.len(), "{line}");
    let value = rest.strip_prefix(' ').expect("one space before the value");
    assert!(!value.contains(' '), "{line}");
    (name.to_owned(), labels, value.parse().expect("a number"))
}

fn quoted(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return (value, &text[at + 1..]),
            '\\' => value.push(match characters.next() {
                Some((_, 'n')) => '\n',
                Some((_, escaped @ ('\\' | '"'))) => escaped,
                other => panic!("{other:?} is not an escape"),
            }),
            other => value.push(other),
        }
    }
    panic!("a label's value does not end")
}

fn check_histogram(name: &str, family: &Family) {
    let mut series: BTreeMap<Labels, Vec<(f64, f64)>> = BTreeMap::new();
    for ((sample, labels), value) in &family.samples {
        if sample.ends_with("_bucket") {
            let bound = labels
                .iter()
                .find(|(label, _)| label == "le")
                .expect("a bucket has a bound");
            let bound = bound.1.parse().unwrap();
            let others = labels
                .iter()
                .filter(|(label, _)| label != "le")
                .cloned()
                .collect();
            series.entry(others).or_default().push((bound, *value));
        }
    }
    for (labels, mut buckets) in series {
        buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
        assert!(
            buckets.windows(2).all(|pair| pair[0].1 <= pair[1].1),
            "{name} {labels:?}"
        );
        let count = family.samples[&(format!("{name}_count"), labels.clone())];
        assert_eq!(buckets.last(), Some(&(f64::INFINITY, count)));
        assert!(
            family
                .samples
                .contains_key(&(format!("{name}_sum"), labels))
        );
    }
}

fn value(families: &BTreeMap<String, Family>, family: &str, labels: &[(&str, &str)]) -> f64 {
    value_of(families, family, family, labels)
}

fn value_of(
    families: &BTreeMap<String, Family>,
    family: &str,
    name: &str,
    labels: &[(&str, &str)],
) -> f64 {
    let labels: Vec<_> = labels
        .iter()
        .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
        .collect();
    let found = families[family].samples.get(&(name.to_owned(), labels));
    *found.unwrap_or_else(|| panic!("no such sample of {family}: {:#?}", families[family]))
}

#[test]
fn r_obs_02_the_metrics_page_is_valid_and_counts() {
    let tracer = Tracer::metrics_only(Default::default());
    record_everything(&tracer, Outcome::Ok, "x");
    let exited = ToolError::new(Reason::ServerExited, "gone");
    let server = server();
    tracer.call(None, &call(&server, Outcome::Failed(&exited)));
    tracer.call(None, &call(&server, Outcome::ToolFailed));
    let mut unknown = call(&server, Outcome::Failed(&exited));
    unknown.server = None;
    tracer.call(None, &unknown);
    tracer.tokens_saved(1200);
    let kind = EventKind::ServerStarted {
        server: server.clone(),
    };
    tracer.event(&Event::new(Timestamp(1), trace_id(), kind));
    let servers = [
        ServerGauges {
            name: "github",
            is_running: true,
            is_stale: false,
            failures: 0,
            tools: 2,
        },
        ServerGauges {
            name: "odd\"\\\nname",
            is_running: false,
            is_stale: true,
            failures: 3,
            tools: 0,
        },
    ];
    let present = Gauges {
        servers: &servers,
        tools: 2,
        tokens_saved_per_list: 300,
    };
    let page = tracer.metrics(&present);
    let families = read(&page);
    let of = |family, labels: &[_]| value(&families, family, labels);
    assert_eq!(
        of(
            "pegboard_calls_total",
            &[("server", "github"), ("outcome", "ok")]
        ),
        1.0
    );
    assert_eq!(
        of(
            "pegboard_calls_total",
            &[("server", "github"), ("outcome", "error")]
        ),
        2.0
    );
    assert_eq!(
        of(
            "pegboard_calls_total",
            &[("server", "_none"), ("outcome", "error")]
        ),
        1.0
    );
    assert_eq!(
        of("pegboard_errors_total", &[("code", "SERVER_EXITED")]),
        2.0
    );
    assert_eq!(of("pegboard_errors_total", &[("code", "TOOL_FAILED")]), 1.0);
    assert_eq!(
        of("pegboard_cache_lookups_total", &[("result", "hit")]),
        3.0
    );
    assert_eq!(
        of("pegboard_cache_lookups_total", &[("result", "miss")]),
        1.0
    );
    assert_eq!(of("pegboard_tokens_saved_total", &[]), 1200.0);
    assert_eq!(of("pegboard_tokens_saved_per_list", &[]), 300.0);
    assert_eq!(of("pegboard_servers_running", &[]), 1.0);
    assert_eq!(of("pegboard_server_starts_total", &[]), 1.0);
    assert_eq!(
        of("pegboard_server_failures", &[("server", "odd\"\\\nname")]),
        3.0
    );
    assert_eq!(of("pegboard_spans_total", &[("result", "dropped")]), 0.0);
    assert_eq!(
        of("pegboard_model_tokens_total", &[("direction", "input")]),
        100.0
    );
    let calls = "pegboard_call_duration_seconds";
    let github = [("server", "github")];
    assert_eq!(
        value_of(&families, calls, &format!("{calls}_count"), &github),
        3.0
    );
    assert_eq!(
        value_of(&families, calls, &format!("{calls}_sum"), &github),
        0.75
    );
    let bucket = |bound| {
        let labels = [("server", "github"), ("le", bound)];
        value_of(&families, calls, &format!("{calls}_bucket"), &labels)
    };
    assert_eq!(
        (bucket("0.2"), bucket("0.5"), bucket("+Inf")),
        (0.0, 3.0, 3.0)
    );
    for family in [
        "pegboard_discovery_duration_seconds",
        "pegboard_search_duration_seconds",
    ] {
        assert_eq!(
            value_of(&families, family, &format!("{family}_count"), &[]),
            1.0
        );
    }
    assert!(CONTENT_TYPE.contains("version=0.0.4"));
}

#[test]
fn r_obs_02_an_empty_page_is_valid_too() {
    let tracer = Tracer::metrics_only(Default::default());
    assert!(read(&tracer.metrics(&Gauges::default())).len() > 10);
}

#[test]
fn the_number_of_series_is_bounded_whatever_servers_are_called() {
    let tracer = Tracer::metrics_only(Default::default());
    for number in 0..5000 {
        let server = ServerName::parse(&format!("server_{number}")).unwrap();
        let mut facts = call(&server, Outcome::Ok);
        facts.took = Duration::from_micros(number);
        tracer.call(None, &facts);
    }
    let families = read(&tracer.metrics(&Gauges::default()));
    let calls = &families["pegboard_calls_total"].samples;
    assert!(calls.len() <= 2 * 513, "{}", calls.len());
    assert_eq!(calls.values().sum::<f64>(), 5000.0);
}
