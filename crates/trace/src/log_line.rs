//! Formats a log line for people or programs.

use std::fmt::{self, Write};

use anstyle::{AnsiColor, Style};
use jiff::Timestamp;
use pegboard_model::UntrustedText;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Level};

use crate::redactor::Redactor;

/// Maximum bytes of one value.
const VALUE_MAX: usize = 2048;
/// Maximum number of values in a line.
const VALUES_MAX: usize = 32;

/// The format of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineFormat {
    /// Human-readable, with or without colours.
    Human { colours: bool },
    /// One JSON object.
    Json,
}

/// Formats an event as one redacted line, with a line break at the end.
pub(crate) fn line(
    event: &Event<'_>,
    format: LineFormat,
    now: Timestamp,
    redactor: &Redactor,
) -> String {
    let mut collector = FieldCollector {
        fields: Map::new(),
        redactor,
    };
    event.record(&mut collector);
    let level = *event.metadata().level();
    match format {
        LineFormat::Json => json(level, event.metadata().target(), now, collector.fields),
        LineFormat::Human { colours } => human(level, now, &collector.fields, colours),
    }
}

/// Formats the notice that lines were dropped.
pub(crate) fn dropped_notice(format: LineFormat) -> fn(u64) -> String {
    match format {
        LineFormat::Json => |lost| {
            format!(
                r#"{{"level":"warn","target":"pegboard","event":"log.dropped","lines":{lost}}}"#
            ) + "\n"
        },
        LineFormat::Human { .. } => |lost| format!("({lost} log lines were dropped)\n"),
    }
}

fn json(level: Level, target: &str, now: Timestamp, fields: Map<String, Value>) -> String {
    let mut line = Map::new();
    line.insert("time".into(), format!("{now:.3}").into());
    line.insert("level".into(), level.as_str().to_ascii_lowercase().into());
    line.insert("target".into(), target.into());
    for (key, value) in fields {
        // A field with one of these names must not replace ours.
        let key = match line.contains_key(&key) {
            true => format!("{key}_"),
            false => key,
        };
        line.insert(key, value);
    }
    format!("{}\n", Value::Object(line))
}

fn human(level: Level, now: Timestamp, fields: &Map<String, Value>, colours: bool) -> String {
    let colour = match level {
        Level::ERROR => AnsiColor::Red,
        Level::WARN => AnsiColor::Yellow,
        Level::INFO => AnsiColor::Green,
        _ => AnsiColor::Blue,
    };
    let painted = |style: Style, text: &str| match colours {
        true => format!("{style}{text}{style:#}"),
        false => text.to_owned(),
    };
    let dim = Style::new().dimmed();
    let time = now.strftime("%H:%M:%S%.3f").to_string();
    let mut line = format!(
        "{} {}",
        painted(dim, &time),
        painted(colour.on_default(), &format!("{level:<5}"))
    );
    for key in ["event", "message"] {
        if let Some(Value::String(text)) = fields.get(key) {
            let _ = write!(line, " {}", UntrustedText::new(text));
        }
    }
    for (key, value) in fields {
        if key != "event" && key != "message" {
            let shown = match value {
                Value::String(text) => UntrustedText::new(text).to_string(),
                other => other.to_string(),
            };
            let _ = write!(line, " {}{shown}", painted(dim, &format!("{key}=")));
        }
    }
    line.push('\n');
    line
}

/// Collects the fields of an event.
struct FieldCollector<'a> {
    fields: Map<String, Value>,
    redactor: &'a Redactor,
}

impl FieldCollector<'_> {
    fn put(&mut self, field: &Field, value: Value) {
        if self.fields.len() < VALUES_MAX {
            self.fields.insert(field.name().to_owned(), value);
        }
    }
}

impl Visit for FieldCollector<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let text = format!("{value:?}");
        self.record_str(field, &text);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        let shown = self.redactor.clean_start(value, VALUE_MAX);
        self.put(field, shown.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value.into());
    }
}
