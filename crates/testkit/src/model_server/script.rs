//! The script of a model.

use serde::Deserialize;
use serde_json::Value;

/// The turns of a scripted model, one for each request.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelScript {
    /// The turns in order.
    pub turns: Vec<ModelTurn>,
    /// Set when another program's client sends the requests: only a request that offers a tool of this name, with
    /// any prefix, consumes a turn. Such clients also send side requests, for example for a title, which get a short
    /// text. Their requests are not validated, because Pegboard does not create them.
    #[serde(default)]
    pub main_tool: Option<String>,
}

impl ModelScript {
    /// Parses a script: `{"turns": [{"text": "…"}, {"calls": [{"name": "…", "input": {}}]}, {"status": 529}]}`.
    ///
    /// # Panics
    /// If it is invalid.
    pub fn of(script: Value) -> Self {
        serde_json::from_value(script).unwrap_or_else(|error| panic!("not a script: {error}"))
    }
}

/// One turn.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelTurn {
    /// The thinking before the text.
    pub thinking: Option<String>,
    /// The text.
    pub text: Option<String>,
    /// The tool calls.
    pub calls: Vec<ScriptedCall>,
    /// The query of an OpenAI tool search.
    pub search: Option<String>,
    /// The provider's stop reason, if it is not the usual one: `max_tokens`, `refusal`, `pause_turn`;
    /// `max_output_tokens`, `content_filter`.
    pub stop: Option<String>,
    /// An HTTP error status instead of a response.
    pub status: Option<u16>,
    /// The error type for the status, or for the end of the stream.
    pub error: Option<String>,
    /// The value of `retry-after` for the status.
    pub retry_after: Option<String>,
    /// How the stream breaks off in the middle of an event.
    pub breaks: Option<StreamBreak>,
}

/// How a stream breaks off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StreamBreak {
    /// The stream ends normally.
    Eof,
    /// The connection is reset.
    Reset,
    /// No more data arrives.
    Hang,
}

/// A tool call of a scripted model.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedCall {
    /// The id; generated if absent.
    pub id: Option<String>,
    /// The name.
    pub name: String,
    /// The namespace; only for OpenAI.
    pub namespace: Option<String>,
    /// The arguments.
    #[serde(default)]
    pub input: Value,
    /// The arguments as raw text, possibly invalid JSON.
    pub raw_input: Option<String>,
}

impl ScriptedCall {
    pub(super) fn arguments(&self) -> String {
        match (&self.raw_input, &self.input) {
            (Some(raw), _) => raw.clone(),
            (None, Value::Null) => "{}".to_owned(),
            (None, input) => input.to_string(),
        }
    }
}

/// Splits a text into pieces of a few characters, as models stream it.
pub(super) fn pieces(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters
        .chunks(7)
        .map(|piece| piece.iter().collect())
        .collect()
}

/// An id that is unique in this process.
pub(super) fn new_id(prefix: &str) -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static COUNT: AtomicU64 = AtomicU64::new(1);
    format!(
        "{prefix}_scripted_{}",
        COUNT.fetch_add(1, Ordering::Relaxed)
    )
}
