//! The additional attributes for Langfuse.
//!
//! Trace attributes (name, session, environment, release) are on every span, because Langfuse stores each observation
//! separately. Tool names are values, never keys: Langfuse drops keys such as `constructor`.

use pegboard_model::TraceLabels;
use serde_json::json;

use crate::keys;
use crate::otlp::{KeyValue, attribute};
use crate::redactor::Redactor;
use crate::span::{Observation, Span, Value};

/// Attributes that are equal on all spans of this process.
#[derive(Clone, Debug, Default)]
pub(crate) struct CommonAttributes {
    pub(crate) environment: Option<String>,
    pub(crate) release: Option<String>,
    /// Prefix of session ids, which every process numbers from 1.
    pub(crate) process: String,
}

impl CommonAttributes {
    /// The session id, unique across processes.
    pub(crate) fn session(&self, labels: &TraceLabels) -> String {
        format!("{}-{}", self.process, labels.session)
    }
}

/// Adds the Langfuse attributes of a span.
pub(crate) fn add(
    span: &Span,
    common: &CommonAttributes,
    redactor: &Redactor,
    into: &mut Vec<KeyValue>,
) {
    let mut text = |key: &str, value: &str| {
        let value = redactor.clean(value).into_owned();
        into.push(attribute(key, &Value::Text(value)));
    };
    text("langfuse.observation.type", type_of(span.observation));
    if let Some(labels) = span.context.labels() {
        text("langfuse.trace.name", &labels.name);
        text("session.id", &common.session(labels));
    }
    text("langfuse.version", env!("CARGO_PKG_VERSION"));
    if let Some(environment) = &common.environment {
        text("langfuse.environment", environment);
    }
    if let Some(release) = &common.release {
        text("langfuse.release", release);
    }
    match &span.failure {
        Some(message) => {
            text("langfuse.observation.level", "ERROR");
            text("langfuse.observation.status_message", message);
        }
        None => text("langfuse.observation.level", "DEFAULT"),
    }
    for (key, content) in [
        ("langfuse.observation.input", &span.input),
        ("langfuse.observation.output", &span.output),
    ] {
        if let Some((_, content)) = content {
            into.push(attribute(key, &Value::Text(content.cleaned(redactor))));
        }
    }
    if span.observation == Observation::Generation {
        generation(span, redactor, into);
    }
    for (key, value) in &span.attributes {
        if let Some(own) = key.strip_prefix(keys::OWN) {
            let key = format!("langfuse.observation.metadata.{own}");
            into.push(attribute(&key, &redacted(value, redactor)));
        }
    }
}

/// Redacts a value.
pub(crate) fn redacted(value: &Value, redactor: &Redactor) -> Value {
    let clean = |text: &String| redactor.clean(text).into_owned();
    match value {
        Value::Text(text) => Value::Text(clean(text)),
        Value::TextList(texts) => Value::TextList(texts.iter().map(clean).collect()),
        Value::Int(_) | Value::Bool(_) => value.clone(),
    }
}

fn generation(span: &Span, redactor: &Redactor, into: &mut Vec<KeyValue>) {
    let find = |key: &str| {
        let found = span.attributes.iter().find(|(known, _)| *known == key);
        found.map(|(_, value)| value)
    };
    if let Some(model) = find(keys::RESPONSE_MODEL).or_else(|| find(keys::MODEL)) {
        let model = redacted(model, redactor);
        into.push(attribute("langfuse.observation.model.name", &model));
    }
    let tokens = |key: &str| match find(key) {
        Some(Value::Int(tokens)) => *tokens,
        _ => 0,
    };
    // Langfuse adds the numbers up, so cached tokens must not be counted as input again.
    let cached = tokens(keys::CACHED_TOKENS);
    let usage = json!({
        "input": tokens(keys::INPUT_TOKENS).saturating_sub(cached).max(0),
        "input_cached_tokens": cached,
        "output": tokens(keys::OUTPUT_TOKENS),
    });
    let usage = Value::Text(usage.to_string());
    into.push(attribute("langfuse.observation.usage_details", &usage));
}

fn type_of(observation: Observation) -> &'static str {
    match observation {
        Observation::Span => "span",
        Observation::Tool => "tool",
        Observation::Retriever => "retriever",
        Observation::Guardrail => "guardrail",
        Observation::Generation => "generation",
        Observation::Agent => "agent",
    }
}
