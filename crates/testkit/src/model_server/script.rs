//! What a scripted model says.

use serde::Deserialize;
use serde_json::Value;

/// The turns of a scripted model, one for each request.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelScript {
    /// What it says, turn by turn.
    pub turns: Vec<ModelTurn>,
    /// Set when another program's client sends the requests: only a request that offers a tool of this name, with
    /// any prefix, uses up a turn. Such clients also send side requests, for example for a title; each of those gets
    /// a short text. The form of the requests is not checked, because Pegboard does not write them.
    #[serde(default)]
    pub main_tool: Option<String>,
}

impl ModelScript {
    /// Reads a script: `{"turns": [{"text": "…"}, {"calls": [{"name": "…", "input": {}}]}, {"status": 529}]}`.
    ///
    /// # Panics
    /// When it is none.
    pub fn of(script: Value) -> Self {
        serde_json::from_value(script).unwrap_or_else(|error| panic!("not a script: {error}"))
    }
}

/// One turn.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelTurn {
    /// What it thinks before it speaks.
    pub thinking: Option<String>,
    /// What it says.
    pub text: Option<String>,
    /// The tools that it wants called.
    pub calls: Vec<ScriptedCall>,
    /// The query of a search of OpenAI's own kind.
    pub search: Option<String>,
    /// Why it stops, in the provider's word, where that is not plain: `max_tokens`, `refusal`, `pause_turn`;
    /// `max_output_tokens`, `content_filter`.
    pub stop: Option<String>,
    /// An HTTP status in place of an answer.
    pub status: Option<u16>,
    /// The kind of the error that goes with the status, or that ends the stream.
    pub error: Option<String>,
    /// The value of `retry-after` that goes with the status.
    pub retry_after: Option<String>,
    /// How the stream breaks off in the middle of an event.
    pub breaks: Option<StreamBreak>,
}

/// How a stream breaks off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StreamBreak {
    /// It ends as if all were said.
    Eof,
    /// The connection is cut.
    Reset,
    /// Nothing more comes.
    Hang,
}

/// A tool that a scripted model wants called.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedCall {
    /// The id; made of the turn's place without one.
    pub id: Option<String>,
    /// The name.
    pub name: String,
    /// The namespace of the name; only calls of OpenAI's kind have one.
    pub namespace: Option<String>,
    /// The arguments.
    #[serde(default)]
    pub input: Value,
    /// A text in place of the arguments, which may be no JSON.
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

/// A text in pieces of a few characters, as models write.
pub(super) fn pieces(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters
        .chunks(7)
        .map(|piece| piece.iter().collect())
        .collect()
}

/// An id that no other call of this process has.
pub(super) fn new_id(prefix: &str) -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static COUNT: AtomicU64 = AtomicU64::new(1);
    format!(
        "{prefix}_scripted_{}",
        COUNT.fetch_add(1, Ordering::Relaxed)
    )
}
