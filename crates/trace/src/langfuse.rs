//! What Langfuse wants on every span beside the standard attributes.
//!
//! Attributes of the trace (name, session, environment, release) stand on every span, because Langfuse keeps each
//! observation by itself. Names of tools are values and never keys: Langfuse drops keys such as `constructor`.

use pegboard_model::TraceLabels;
use serde_json::json;

use crate::keys;
use crate::otlp::{KeyValue, pair};
use crate::redactor::Redactor;
use crate::span::{Observation, Span, Value};

/// What is the same on every span of this process.
#[derive(Clone, Debug, Default)]
pub(crate) struct CommonAttributes {
    pub(crate) environment: Option<String>,
    pub(crate) release: Option<String>,
    /// Goes before the ids of sessions, which are counted anew by every process.
    pub(crate) process: String,
}

impl CommonAttributes {
    /// The session's id, different from those of other processes.
    pub(crate) fn session(&self, words: &TraceLabels) -> String {
        format!("{}-{}", self.process, words.session)
    }
}

/// Adds Langfuse's attributes to those of a span.
pub(crate) fn add(
    span: &Span,
    common: &CommonAttributes,
    redactor: &Redactor,
    into: &mut Vec<KeyValue>,
) {
    let mut text = |key: &str, value: &str| {
        let value = redactor.clean(value).into_owned();
        into.push(pair(key, &Value::Text(value)));
    };
    text("langfuse.observation.type", type_of(span.observation));
    if let Some(words) = span.context.labels() {
        text("langfuse.trace.name", &words.name);
        text("session.id", &common.session(words));
    }
    text("langfuse.version", env!("CARGO_PKG_VERSION"));
    if let Some(environment) = &common.environment {
        text("langfuse.environment", environment);
    }
    if let Some(release) = &common.release {
        text("langfuse.release", release);
    }
    match &span.failure {
        Some(words) => {
            text("langfuse.observation.level", "ERROR");
            text("langfuse.observation.status_message", words);
        }
        None => text("langfuse.observation.level", "DEFAULT"),
    }
    for (key, content) in [
        ("langfuse.observation.input", &span.input),
        ("langfuse.observation.output", &span.output),
    ] {
        if let Some((_, content)) = content {
            into.push(pair(key, &Value::Text(content.cleaned(redactor))));
        }
    }
    if span.observation == Observation::Generation {
        generation(span, redactor, into);
    }
    for (key, value) in &span.attributes {
        if let Some(own) = key.strip_prefix(keys::OWN) {
            let key = format!("langfuse.observation.metadata.{own}");
            into.push(pair(&key, &cleaned(value, redactor)));
        }
    }
}

/// The value as it may be exported.
pub(crate) fn cleaned(value: &Value, redactor: &Redactor) -> Value {
    let clean = |text: &String| redactor.clean(text).into_owned();
    match value {
        Value::Text(text) => Value::Text(clean(text)),
        Value::Texts(texts) => Value::Texts(texts.iter().map(clean).collect()),
        Value::Whole(_) | Value::Flag(_) => value.clone(),
    }
}

fn generation(span: &Span, redactor: &Redactor, into: &mut Vec<KeyValue>) {
    let find = |key: &str| {
        let found = span.attributes.iter().find(|(known, _)| *known == key);
        found.map(|(_, value)| value)
    };
    if let Some(model) = find(keys::RESPONSE_MODEL).or_else(|| find(keys::MODEL)) {
        let model = cleaned(model, redactor);
        into.push(pair("langfuse.observation.model.name", &model));
    }
    let tokens = |key: &str| match find(key) {
        Some(Value::Whole(tokens)) => *tokens,
        _ => 0,
    };
    // Langfuse adds the kinds up, so what was kept is not counted as input again.
    let cached = tokens(keys::CACHED_TOKENS);
    let usage = json!({
        "input": tokens(keys::INPUT_TOKENS).saturating_sub(cached).max(0),
        "input_cached_tokens": cached,
        "output": tokens(keys::OUTPUT_TOKENS),
    });
    let usage = Value::Text(usage.to_string());
    into.push(pair("langfuse.observation.usage_details", &usage));
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
