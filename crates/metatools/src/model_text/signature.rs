//! Call signatures such as `server__tool(arg, arg?)`, from the property names of a schema.

use std::borrow::Cow;
use std::fmt;

use pegboard_catalog::{ToolView, parameters};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};

use super::wording::line;

/// Arguments that are named; required ones come first, and the rest is counted.
const SHOWN_ARGUMENTS: usize = 12;
/// Characters of an argument's name.
const NAME_LENGTH: usize = 40;

/// Returns a tool's exposed name with the names of its arguments; optional ones have a `?`.
pub(crate) fn call_form(tool: &ToolView<'_>) -> String {
    let mut arguments = arguments(tool.input_schema());
    arguments.sort_by_key(|(_, needed)| !needed);
    let more = arguments.len().saturating_sub(SHOWN_ARGUMENTS);
    let mut shown: Vec<String> = arguments
        .iter()
        .take(SHOWN_ARGUMENTS)
        .map(|(name, needed)| {
            format!(
                "{}{}",
                line(name, NAME_LENGTH),
                if *needed { "" } else { "?" }
            )
        })
        .collect();
    if more > 0 {
        shown.push(format!("+{more}"));
    }
    format!("{}({})", tool.exposed(), shown.join(", "))
}

fn arguments(schema: &str) -> Vec<(String, bool)> {
    let Ok(shape) = serde_json::from_str::<Shape<'_>>(schema) else {
        return composed(schema);
    };
    if shape.properties.0.is_empty() && shape.is_composed() {
        return composed(schema);
    }
    let needed = |name: &Cow<'_, str>| shape.required.contains(name);
    let arguments = shape.properties.0.iter();
    arguments
        .map(|name| (name.to_string(), needed(name)))
        .collect()
}

/// Returns the arguments of a schema that must be composed first.
fn composed(schema: &str) -> Vec<(String, bool)> {
    parameters(schema)
        .into_iter()
        .map(|parameter| (parameter.name, parameter.required))
        .collect()
}

/// The parts of a schema that a signature needs.
#[derive(serde::Deserialize)]
struct Shape<'a> {
    #[serde(borrow, default)]
    properties: Keys<'a>,
    #[serde(borrow, default)]
    required: Vec<Cow<'a, str>>,
    #[serde(rename = "$ref")]
    reference: Option<IgnoredAny>,
    #[serde(rename = "allOf")]
    all: Option<IgnoredAny>,
    #[serde(rename = "anyOf")]
    any: Option<IgnoredAny>,
    #[serde(rename = "oneOf")]
    one: Option<IgnoredAny>,
}

impl Shape<'_> {
    fn is_composed(&self) -> bool {
        let parts = [&self.reference, &self.all, &self.any, &self.one];
        parts.into_iter().any(Option::is_some)
    }
}

/// The keys of an object, in order.
#[derive(Default)]
struct Keys<'a>(Vec<Cow<'a, str>>);

impl<'de: 'a, 'a> Deserialize<'de> for Keys<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(KeyReader)
    }
}

struct KeyReader;

impl<'de> Visitor<'de> for KeyReader {
    type Value = Keys<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Keys<'de>, A::Error> {
        let mut keys = Vec::new();
        while let Some(Key(key)) = map.next_key()? {
            map.next_value::<IgnoredAny>()?;
            keys.push(key);
        }
        Ok(Keys(keys))
    }
}

/// A key, borrowed if it contains no escapes.
#[derive(serde::Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);
