//! A span as plain data.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pegboard_model::{Outcome, Reason, SpanContext};

use crate::content::Content;
use crate::keys;
use crate::redactor::Redactor;

/// Longer texts are redacted and truncated immediately, so that no span is large.
const TEXT_MAX: usize = 512;
/// Estimated size of a span without its texts.
const SPAN_WEIGHT: usize = 512;

/// A completed operation.
pub(crate) struct Span {
    pub(crate) context: SpanContext,
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) observation: Observation,
    /// Nanoseconds since the Unix epoch.
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) attributes: Vec<(&'static str, Value)>,
    /// The error message, without content.
    pub(crate) failure: Option<String>,
    pub(crate) input: Option<(&'static str, Content)>,
    pub(crate) output: Option<(&'static str, Content)>,
}

/// The OpenTelemetry span kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Internal,
    Server,
    Client,
}

/// The Langfuse observation type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Observation {
    Span,
    Tool,
    Retriever,
    Guardrail,
    Generation,
    Agent,
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Text(String),
    Int(i64),
    Bool(bool),
    TextList(Vec<String>),
}

/// Builds a span.
pub(crate) struct SpanBuilder<'a> {
    pub(crate) span: Span,
    pub(crate) redactor: &'a Redactor,
    /// Whether content is captured.
    pub(crate) capture: bool,
}

impl<'a> SpanBuilder<'a> {
    /// Starts building a span that ends now.
    pub(crate) fn new(
        context: &SpanContext,
        kind: Kind,
        observation: Observation,
        took: Duration,
        redactor: &'a Redactor,
        capture: bool,
    ) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let end = nanos(now.unwrap_or_default());
        let mut builder = Self {
            span: Span {
                context: context.clone(),
                name: String::new(),
                kind,
                observation,
                start: end.saturating_sub(nanos(took)),
                end,
                attributes: Vec::with_capacity(12),
                failure: None,
                input: None,
                output: None,
            },
            redactor,
            capture,
        };
        builder.int(keys::DURATION, took.as_millis());
        builder
    }

    pub(crate) fn name(&mut self, name: &str) {
        self.span.name = self.truncated(name);
    }

    pub(crate) fn text(&mut self, key: &'static str, value: &str) {
        let value = self.truncated(value);
        self.span.attributes.push((key, Value::Text(value)));
    }

    pub(crate) fn texts<'t>(&mut self, key: &'static str, values: impl Iterator<Item = &'t str>) {
        let values = values.map(|value| self.truncated(value)).collect();
        self.span.attributes.push((key, Value::TextList(values)));
    }

    pub(crate) fn int(&mut self, key: &'static str, value: impl TryInto<i64>) {
        let value = value.try_into().unwrap_or(i64::MAX);
        self.span.attributes.push((key, Value::Int(value)));
    }

    pub(crate) fn bool_value(&mut self, key: &'static str, value: bool) {
        self.span.attributes.push((key, Value::Bool(value)));
    }

    pub(crate) fn input(&mut self, key: &'static str, text: Option<&str>) {
        self.span.input = self.content(key, text);
    }

    pub(crate) fn output(&mut self, key: &'static str, text: Option<&str>) {
        self.span.output = self.content(key, text);
    }

    /// Sets the outcome. An error message may quote a server or a model, so it is only recorded if content is captured;
    /// otherwise the title of the error code is.
    pub(crate) fn outcome(&mut self, outcome: Outcome<'_>) {
        let (code, message) = match outcome {
            Outcome::Ok => {
                self.text(keys::OUTCOME, "ok");
                return;
            }
            Outcome::ToolFailed => {
                self.text(keys::ERROR, "tool_error");
                let reason = Reason::ToolFailed;
                (reason.code(), reason.title().to_owned())
            }
            Outcome::Failed(error) => {
                match &error.rpc {
                    Some(rpc) => {
                        let code = rpc.code.to_string();
                        self.text(keys::ERROR, &code);
                        self.text(keys::RPC_STATUS, &code);
                    }
                    None => self.text(keys::ERROR, error.reason.code()),
                }
                let message = match self.capture {
                    true => self.truncated(&error.message),
                    false => error.reason.title().to_owned(),
                };
                (error.reason.code(), message)
            }
        };
        self.text(keys::OUTCOME, code);
        self.span.failure = Some(message);
    }

    fn content(&self, key: &'static str, text: Option<&str>) -> Option<(&'static str, Content)> {
        let text = text.filter(|_| self.capture)?;
        Some((key, Content::of(text, self.redactor)))
    }

    fn truncated(&self, text: &str) -> String {
        match text.len() <= TEXT_MAX {
            true => text.to_owned(),
            false => self.redactor.clean_start(text, TEXT_MAX),
        }
    }
}

impl Span {
    /// The estimated size in memory.
    pub(crate) fn weight(&self) -> usize {
        let attributes = self.attributes.iter().map(|(_, value)| match value {
            Value::Text(text) => text.len() + 48,
            Value::Int(_) | Value::Bool(_) => 48,
            Value::TextList(texts) => texts.iter().map(|text| text.len() + 24).sum::<usize>() + 48,
        });
        let contents = [&self.input, &self.output].into_iter().flatten();
        let contents = contents.map(|(_, content)| content.weight());
        SPAN_WEIGHT + self.name.len() + attributes.sum::<usize>() + contents.sum::<usize>()
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
