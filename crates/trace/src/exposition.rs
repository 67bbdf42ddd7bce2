//! The counters as Prometheus reads them.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use pegboard_model::Reason;

use crate::exporter::DeliveryCounts;
use crate::histogram::Histogram;
use crate::metrics::Metrics;

/// The content type of [`crate::Tracer::metrics`].
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Most servers that are shown one by one.
const SERVERS_SHOWN: usize = 512;

/// What holds at the moment of reading.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gauges<'a> {
    /// How each configured server is.
    pub servers: &'a [ServerGauges<'a>],
    /// Tools that are offered.
    pub tools: usize,
    /// Tokens that a model does not have to read at the moment, by one listing.
    pub tokens_saved_per_list: u64,
}

/// How one server is.
#[derive(Clone, Copy, Debug)]
pub struct ServerGauges<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whether it runs.
    pub is_running: bool,
    /// Whether its list is past its time or could not be renewed.
    pub is_stale: bool,
    /// How often in a row it failed.
    pub failures: u32,
    /// How many tools it has.
    pub tools: usize,
}

impl Metrics {
    /// Everything as text.
    pub fn render(&self, gauges: &Gauges<'_>, spans: DeliveryCounts) -> String {
        let mut page = Page::default();
        self.calls(&mut page);
        self.work(&mut page);
        self.counted(&mut page, spans);
        now(&mut page, gauges);
        page.0
    }

    fn calls(&self, page: &mut Page) {
        let all = self.calls.all();
        page.family("pegboard_calls_total", "counter", "Calls of tools.");
        for one in &all {
            for (outcome, counter) in [("ok", &one.succeeded), ("error", &one.failed)] {
                let labels = [("server", &*one.server), ("outcome", outcome)];
                page.sample("pegboard_calls_total", &labels, read(counter));
            }
        }
        page.family(
            "pegboard_errors_total",
            "counter",
            "Failures by their code.",
        );
        for (reason, counter) in Reason::ALL.iter().zip(&self.errors) {
            let count = read(counter);
            if count > 0 {
                page.sample("pegboard_errors_total", &[("code", reason.code())], count);
            }
        }
        let name = "pegboard_call_duration_seconds";
        page.family(
            name,
            "histogram",
            "How long calls of tools take, with starting the server.",
        );
        for one in &all {
            page.histogram(name, &[("server", &one.server)], one.durations());
        }
    }

    fn work(&self, page: &mut Page) {
        let name = "pegboard_discovery_duration_seconds";
        page.family(
            name,
            "histogram",
            "How long servers take to tell their tools.",
        );
        page.histogram(name, &[], &self.discoveries);
        let name = "pegboard_search_duration_seconds";
        page.family(name, "histogram", "How long searches take.");
        page.histogram(name, &[], &self.searches);
    }

    fn counted(&self, page: &mut Page, spans: DeliveryCounts) {
        let name = "pegboard_cache_lookups_total";
        page.family(
            name,
            "counter",
            "Servers that were known (hit) or had to be asked (miss) when tools were needed.",
        );
        page.sample(name, &[("result", "hit")], read(&self.cache_hits));
        page.sample(name, &[("result", "miss")], read(&self.cache_misses));
        let name = "pegboard_spans_total";
        page.family(
            name,
            "counter",
            "Spans that collectors took, and spans that were dropped.",
        );
        page.sample(name, &[("result", "sent")], spans.sent);
        page.sample(name, &[("result", "dropped")], spans.dropped);
        let name = "pegboard_model_tokens_total";
        page.family(
            name,
            "counter",
            "Tokens that models read and wrote in the agent loop.",
        );
        page.sample(name, &[("direction", "input")], read(&self.input_tokens));
        page.sample(name, &[("direction", "output")], read(&self.output_tokens));
        for (name, help, counter) in [
            (
                "pegboard_discoveries_failed_total",
                "Discoveries that failed.",
                &self.discoveries_failed,
            ),
            (
                "pegboard_server_starts_total",
                "Servers started or connected.",
                &self.starts,
            ),
            (
                "pegboard_server_crashes_total",
                "Servers that ended by themselves.",
                &self.crashes,
            ),
            (
                "pegboard_model_turns_total",
                "Answers of models in the agent loop.",
                &self.turns,
            ),
            (
                "pegboard_tokens_saved_total",
                "Tokens that models did not have to read.",
                &self.tokens_saved,
            ),
        ] {
            page.family(name, "counter", help);
            page.sample(name, &[], read(counter));
        }
    }
}

fn now(page: &mut Page, gauges: &Gauges<'_>) {
    let running = gauges
        .servers
        .iter()
        .filter(|server| server.is_running)
        .count();
    for (name, help, value) in [
        (
            "pegboard_servers_configured",
            "Servers that are configured.",
            gauges.servers.len() as u64,
        ),
        (
            "pegboard_servers_running",
            "Servers that run.",
            running as u64,
        ),
        (
            "pegboard_tools",
            "Tools that are offered.",
            gauges.tools as u64,
        ),
        (
            "pegboard_tokens_saved_per_list",
            "Tokens that a model does not have to read by one listing, at present.",
            gauges.tokens_saved_per_list,
        ),
    ] {
        page.family(name, "gauge", help);
        page.sample(name, &[], value);
    }
    type Value = fn(&ServerGauges<'_>) -> u64;
    let each: [(&str, &str, Value); 4] = [
        ("pegboard_server_running", "Whether a server runs.", |s| {
            s.is_running.into()
        }),
        (
            "pegboard_server_stale",
            "Whether a server's list is past its time.",
            |s| s.is_stale.into(),
        ),
        (
            "pegboard_server_failures",
            "How often in a row a server failed.",
            |s| s.failures.into(),
        ),
        (
            "pegboard_server_tools",
            "How many tools a server has.",
            |s| s.tools as u64,
        ),
    ];
    for (name, help, value) in each {
        page.family(name, "gauge", help);
        for server in gauges.servers.iter().take(SERVERS_SHOWN) {
            page.sample(name, &[("server", server.name)], value(server));
        }
    }
}

fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

/// The text as it grows. SpanEncoder to a string cannot fail.
#[derive(Default)]
struct Page(String);

impl Page {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: u64) {
        self.0.push_str(name);
        self.labels(labels.iter().copied());
        let _ = writeln!(self.0, " {value}");
    }

    fn labels<'l>(&mut self, labels: impl Iterator<Item = (&'l str, &'l str)>) {
        let mut open = '{';
        for (name, value) in labels {
            let _ = write!(self.0, "{open}{name}=\"");
            for character in value.chars() {
                match character {
                    '\\' => self.0.push_str("\\\\"),
                    '"' => self.0.push_str("\\\""),
                    '\n' => self.0.push_str("\\n"),
                    other => self.0.push(other),
                }
            }
            self.0.push('"');
            open = ',';
        }
        if open == ',' {
            self.0.push('}');
        }
    }

    fn histogram(&mut self, name: &str, labels: &[(&str, &str)], histogram: &Histogram) {
        let reading = histogram.read();
        let bounds = reading
            .cumulative
            .iter()
            .map(|(bound, count)| (seconds(*bound), *count));
        let last = ("+Inf".to_owned(), reading.count);
        for (bound, count) in bounds.chain([last]) {
            let _ = write!(self.0, "{name}_bucket");
            self.labels(labels.iter().copied().chain([("le", bound.as_str())]));
            let _ = writeln!(self.0, " {count}");
        }
        let _ = write!(self.0, "{name}_sum");
        self.labels(labels.iter().copied());
        let _ = writeln!(self.0, " {}", seconds(reading.microseconds));
        let _ = write!(self.0, "{name}_count");
        self.labels(labels.iter().copied());
        let _ = writeln!(self.0, " {}", reading.count);
    }
}

/// Microseconds as seconds, exactly.
fn seconds(microseconds: u64) -> String {
    let text = format!(
        "{}.{:06}",
        microseconds / 1_000_000,
        microseconds % 1_000_000
    );
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
