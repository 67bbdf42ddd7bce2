//! The tools, by topic.

mod encoding;
mod notes;
mod numbers;
mod text;
mod time;
mod units;

use serde_json::{Value, json};

pub(super) use self::notes::Notes;
use super::arguments::Arguments;

/// Every tool, sorted by name.
pub(super) const ALL: &[ExampleTool] = &[
    numbers::ADD_NUMBERS,
    units::CONVERT_UNITS,
    text::COUNT_WORDS,
    time::CURRENT_TIME,
    time::DATE_DIFFERENCE,
    encoding::DECODE_BASE64,
    text::ECHO,
    encoding::ENCODE_BASE64,
    encoding::FORMAT_JSON,
    numbers::GENERATE_UUID,
    encoding::HASH_TEXT,
    notes::NOTE_ADD,
    notes::NOTE_LIST,
    numbers::RANDOM_NUMBER,
    text::SEARCH_TEXT,
    text::SLUGIFY,
];

/// A tool: its definition and its implementation.
pub(super) struct ExampleTool {
    pub(super) name: &'static str,
    title: &'static str,
    description: &'static str,
    effect: Effect,
    input: fn() -> Value,
    output: Option<fn() -> Value>,
    run: fn(&Arguments<'_>, &mut Notes) -> Result<ToolOutput, String>,
}

/// The side effects of a tool.
#[derive(Clone, Copy, PartialEq)]
enum Effect {
    /// The same arguments give the same result.
    Pure,
    /// No side effect, but the result differs from call to call.
    Varying,
    /// Adds data.
    Adding,
}

/// The result of a tool.
#[derive(Debug)]
pub(super) struct ToolOutput {
    pub(super) text: String,
    pub(super) structured: Option<Value>,
}

impl ToolOutput {
    fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            structured: None,
        }
    }

    /// Structured data, also as text for clients without support for structured results.
    fn data(value: Value) -> Self {
        Self {
            text: value.to_string(),
            structured: Some(value),
        }
    }
}

impl ExampleTool {
    /// Returns the definition for `tools/list`.
    pub(super) fn definition(&self) -> Value {
        let mut definition = json!({
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": (self.input)(),
            "annotations": {
                "title": self.title,
                "readOnlyHint": self.effect != Effect::Adding,
                "destructiveHint": false,
                "idempotentHint": self.effect == Effect::Pure,
                "openWorldHint": false,
            },
        });
        if let (Some(output), Some(fields)) = (self.output, definition.as_object_mut()) {
            fields.insert("outputSchema".to_owned(), output());
        }
        definition
    }

    /// Runs the tool; the error is for the model.
    pub(super) fn call(&self, arguments: &Value, notes: &mut Notes) -> Result<ToolOutput, String> {
        let arguments = Arguments::of(arguments, &(self.input)())?;
        (self.run)(&arguments, notes)
    }
}

/// Returns the schema of an object with these properties.
fn object(properties: Value, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}
