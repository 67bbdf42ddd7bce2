//! The rules of each model provider for tool definitions.
//!
//! This module shares no code with the conversions in `pegboard-formats`, so that it detects their mistakes.

use pegboard_formats::Format;
use serde::Serialize;
use serde_json::Value;

mod anthropic;
mod bedrock;
mod document;
mod gemini;
mod openai;
mod schema;

pub use document::check_tools;

/// A rule that a definition violates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// The location in the definition, as a JSON pointer.
    pub path: String,
    /// The provider's requirement.
    pub rule: String,
}

/// Returns the rules that one entry of a request's `tools` violates; the provider would reject the request.
pub fn check_tool(definition: &Value, format: Format) -> Vec<Violation> {
    let mut found = Findings::default();
    match format {
        Format::Anthropic | Format::AnthropicDeferred => {
            anthropic::tool(definition, format.is_deferred(), &mut found);
        }
        Format::OpenAiResponses | Format::OpenAiDeferred => {
            openai::responses_tool(definition, format.is_deferred(), &mut found);
        }
        Format::OpenAiChat => openai::chat_tool(definition, &mut found),
        Format::Gemini => gemini::declaration(definition, &mut found),
        Format::Bedrock => bedrock::tool(definition, &mut found),
    }
    found.violations
}

/// Maximum number of reported violations.
const FINDINGS_MAX: usize = 100;

#[derive(Debug, Default)]
struct Findings {
    violations: Vec<Violation>,
}

impl Findings {
    fn add(&mut self, path: &str, rule: impl Into<String>) {
        if self.violations.len() < FINDINGS_MAX {
            self.violations.push(Violation {
                path: path.to_owned(),
                rule: rule.into(),
            });
        }
    }

    fn unless(&mut self, holds: bool, path: &str, rule: &str) {
        if !holds {
            self.add(path, rule);
        }
    }

    /// Checks that a value is an object with known keys only.
    fn keys(&mut self, value: &Value, path: &str, known: &[&str]) {
        match value {
            Value::Object(map) => {
                for key in map.keys() {
                    self.unless(
                        known.contains(&key.as_str()),
                        path,
                        &format!("no field `{key}`"),
                    );
                }
            }
            _ => self.add(path, "an object"),
        }
    }

    /// Checks a name of ASCII letters, digits, `_` and the characters in `also`.
    fn name(&mut self, value: Option<&Value>, path: &str, also: &str, max: usize) {
        let fits = value.and_then(Value::as_str).is_some_and(|name| {
            (1..=max).contains(&name.len())
                && name
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || c == '_' || also.contains(c))
        });
        self.unless(
            fits,
            path,
            &format!("1 to {max} of a-z, A-Z, 0-9, _ and {also:?}"),
        );
    }

    /// Checks an optional description.
    fn description(&mut self, tool: &Value, path: &str) {
        let fits = match tool.get("description") {
            None => true,
            Some(Value::String(text)) => !text.is_empty(),
            Some(_) => false,
        };
        self.unless(fits, path, "`description` is not empty");
    }
}

/// Appends a key to a JSON pointer.
fn step(path: &str, key: &str) -> String {
    format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"))
}
