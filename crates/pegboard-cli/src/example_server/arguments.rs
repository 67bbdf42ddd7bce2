//! Arguments of a call. Every error names the argument, the expected type and the given value, so that a model can
//! fix its call.

use serde_json::{Map, Value};

/// The maximum size of a text argument.
const TEXT_BYTES_MAX: usize = 1024 * 1024;

/// The arguments of one call.
pub(super) struct Arguments<'a> {
    given: &'a Map<String, Value>,
}

impl<'a> Arguments<'a> {
    /// Checks that the arguments are an object without unknown members.
    pub(super) fn of(given: &'a Value, schema: &Value) -> Result<Self, String> {
        let given = given
            .as_object()
            .ok_or_else(|| format!("The arguments must be a JSON object, not {}.", kind(given)))?;
        let known = schema.get("properties").and_then(Value::as_object);
        let names: Vec<&str> = known
            .into_iter()
            .flat_map(Map::keys)
            .map(String::as_str)
            .collect();
        match given.keys().find(|name| !names.contains(&name.as_str())) {
            None => Ok(Self { given }),
            Some(_) if names.is_empty() => Err("This tool takes no arguments.".to_owned()),
            Some(name) => {
                let name: String = name.chars().take(60).collect();
                Err(format!(
                    "There is no argument {name:?}; this tool takes {}.",
                    quoted(&names)
                ))
            }
        }
    }

    /// Returns a required text.
    pub(super) fn text(&self, name: &str) -> Result<&'a str, String> {
        self.optional_text(name)?
            .ok_or_else(|| missing(name, "a text"))
    }

    /// Returns an optional text.
    pub(super) fn optional_text(&self, name: &str) -> Result<Option<&'a str>, String> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) if text.len() <= TEXT_BYTES_MAX => Ok(Some(text)),
            Some(Value::String(_)) => {
                Err(format!("`{name}` is longer than {TEXT_BYTES_MAX} bytes."))
            }
            Some(other) => Err(wrong(name, "a text", other)),
        }
    }

    /// Returns one of `words`; the first one is the default.
    pub(super) fn choice(
        &self,
        name: &str,
        words: &[&'static str],
    ) -> Result<&'static str, String> {
        match self.optional_text(name)? {
            None => words
                .first()
                .copied()
                .ok_or_else(|| missing(name, "a word")),
            Some(given) => words
                .iter()
                .copied()
                .find(|word| *word == given)
                .ok_or_else(|| {
                    let given: String = given.chars().take(60).collect();
                    format!("`{name}` must be one of {}, not {given:?}.", quoted(words))
                }),
        }
    }

    /// Returns a required number.
    pub(super) fn number(&self, name: &str) -> Result<f64, String> {
        let value = self.get(name).ok_or_else(|| missing(name, "a number"))?;
        value.as_f64().ok_or_else(|| wrong(name, "a number", value))
    }

    /// Returns an integer within bounds, or the default.
    pub(super) fn integer(
        &self,
        name: &str,
        default: i64,
        from: i64,
        to: i64,
    ) -> Result<i64, String> {
        let Some(value) = self.get(name) else {
            return Ok(default);
        };
        let number = value
            .as_i64()
            .ok_or_else(|| wrong(name, "a whole number", value))?;
        if (from..=to).contains(&number) {
            return Ok(number);
        }
        Err(format!(
            "`{name}` must be a whole number from {from} to {to}, not {number}."
        ))
    }

    /// Returns a boolean; the default is false.
    pub(super) fn flag(&self, name: &str) -> Result<bool, String> {
        match self.get(name) {
            None => Ok(false),
            Some(value) => value
                .as_bool()
                .ok_or_else(|| wrong(name, "true or false", value)),
        }
    }

    fn get(&self, name: &str) -> Option<&'a Value> {
        self.given.get(name).filter(|value| !value.is_null())
    }
}

fn missing(name: &str, expected: &str) -> String {
    format!("The argument `{name}` is missing; it must be {expected}.")
}

fn wrong(name: &str, expected: &str, given: &Value) -> String {
    format!("`{name}` must be {expected}, not {}.", kind(given))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn quoted(words: &[&str]) -> String {
    words
        .iter()
        .map(|word| format!("`{word}`"))
        .collect::<Vec<_>>()
        .join(", ")
}
