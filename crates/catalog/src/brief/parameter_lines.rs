//! A tool's arguments in as few words as there is room for.

use pegboard_guard::type_summary;
use serde_json::{Map, Value};

use super::prose::{beginning, line};
use crate::flatten::flatten;

/// Arguments of one tool that are looked at.
const PARAMETERS: usize = 200;
/// Fields of an object inside an argument.
const FIELDS: usize = 12;
/// Characters of a name, a default or a listed value.
const VALUE_LENGTH: usize = 60;

/// How much is told of one argument.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    /// Characters of its description.
    pub(crate) description: usize,
    /// How deep objects inside it are spelt out.
    pub(crate) levels: usize,
}

/// How much is told of arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// How many arguments; those that a call needs come first.
    pub(crate) arguments: usize,
    /// For each argument that a call needs.
    pub(crate) needed: Share,
    /// For each of the others.
    pub(crate) optional: Share,
    /// Listed values of an argument.
    pub(crate) choices: usize,
}

/// Lines such as `- state?: "open"|"closed" = "open". Which issues.`, and whether anything was left out.
pub(crate) fn parameter_lines(input_schema: &str, room: Room) -> (Vec<String>, bool) {
    let Ok(root) = serde_json::from_str::<Value>(input_schema) else {
        return (Vec::new(), false);
    };
    let mut writer = Writer {
        root: &root,
        room,
        cut: false,
    };
    let flat = flatten(&root, &root, 0);
    let mut fields = fields(&flat);
    if fields.len() > room.arguments {
        fields.sort_by_key(|(_, _, needed)| !needed);
    }
    let mut lines: Vec<String> = fields
        .iter()
        .take(room.arguments)
        .map(|field| writer.parameter(field))
        .collect();
    let more = fields.len().saturating_sub(room.arguments);
    if more > 0 {
        writer.cut = true;
        lines.push(format!("- and {more} more"));
    }
    (lines, writer.cut)
}

type Field<'a> = (&'a str, &'a Value, bool);

/// The fields of an object, with whether each is required.
fn fields(flat: &Map<String, Value>) -> Vec<Field<'_>> {
    let required: Vec<&str> = flat
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let properties = flat
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten();
    properties
        .take(PARAMETERS)
        .map(|(name, schema)| (name.as_str(), schema, required.contains(&name.as_str())))
        .collect()
}

struct Writer<'a> {
    root: &'a Value,
    room: Room,
    /// Whether something was left out.
    cut: bool,
}

impl Writer<'_> {
    fn parameter(&mut self, (name, schema, needed): &Field<'_>) -> String {
        let flat = flatten(self.root, schema, 0);
        let (mark, share) = match needed {
            true => ("", self.room.needed),
            false => ("?", self.room.optional),
        };
        let mut text = format!(
            "- {}{mark}: {}",
            line(name, VALUE_LENGTH),
            self.shape(schema, &flat, share.levels)
        );
        let given = schema
            .get("default")
            .or_else(|| flat.get("default"))
            .filter(|value| !value.is_null());
        if let Some(value) = given {
            text += &format!(" = {}", line(&value.to_string(), VALUE_LENGTH));
        }
        let described = [schema.get("description"), flat.get("description")];
        let described = described
            .into_iter()
            .flatten()
            .find_map(Value::as_str)
            .map(str::trim);
        if let Some(description) = described.filter(|text| !text.is_empty()) {
            let one_line = description.split_whitespace().collect::<Vec<_>>().join(" ");
            let (kept, left) = beginning(&one_line, share.description);
            self.cut |= left > 0;
            if !kept.is_empty() {
                let mark = if left > 0 { "…" } else { "" };
                text += &format!(". {}{mark}", line(kept, usize::MAX));
            }
        }
        text
    }

    /// A type: listed values, a spelt-out object, or a word.
    fn shape(&mut self, schema: &Value, flat: &Map<String, Value>, levels: usize) -> String {
        if let Some(values) = listed(schema, flat) {
            return self.choices(&values);
        }
        let words = type_summary(self.root, schema);
        if words == "object" {
            return self.object(flat, levels).unwrap_or(words);
        }
        let items = flat.get("items").filter(|items| items.is_object());
        if let Some(items) = items.filter(|_| words.ends_with("[]") && !words.contains('|')) {
            let inner = flatten(self.root, items, 0);
            let shape = self.shape(items, &inner, levels);
            return if shape.contains('|') && !shape.starts_with('{') {
                format!("({shape})[]")
            } else {
                format!("{shape}[]")
            };
        }
        words
    }

    fn object(&mut self, flat: &Map<String, Value>, levels: usize) -> Option<String> {
        let inner = fields(flat);
        if inner.is_empty() {
            return None;
        }
        let Some(levels) = levels.checked_sub(1) else {
            self.cut = true;
            return None;
        };
        let mut told: Vec<String> = inner
            .iter()
            .take(FIELDS)
            .map(|(name, schema, needed)| {
                let mark = if *needed { "" } else { "?" };
                let flat = flatten(self.root, schema, 0);
                format!(
                    "{}{mark}: {}",
                    line(name, VALUE_LENGTH),
                    self.shape(schema, &flat, levels)
                )
            })
            .collect();
        if inner.len() > FIELDS {
            self.cut = true;
            told.push(format!("+{}", inner.len() - FIELDS));
        }
        Some(format!("{{{}}}", told.join(", ")))
    }

    fn choices(&mut self, values: &[&Value]) -> String {
        let mut told: Vec<String> = values
            .iter()
            .take(self.room.choices)
            .map(|value| line(&value.to_string(), VALUE_LENGTH))
            .collect();
        if values.len() > told.len() {
            self.cut = true;
            told.push(format!("+{} more", values.len() - told.len()));
        }
        told.join("|")
    }
}

/// The values that a schema lists: an `enum`, a `const`, or alternatives that are all constants.
fn listed<'a>(schema: &'a Value, flat: &'a Map<String, Value>) -> Option<Vec<&'a Value>> {
    for keyword in ["oneOf", "anyOf"] {
        if let Some(alternatives) = schema.get(keyword).and_then(Value::as_array) {
            let constants: Option<Vec<&Value>> =
                alternatives.iter().map(|one| one.get("const")).collect();
            // Flattening would tell of one alternative only.
            return constants
                .filter(|constants| !constants.is_empty())
                .or_else(|| single(flat, alternatives));
        }
    }
    plain(flat)
}

/// The values of the one alternative that is not `null`.
fn single<'a>(flat: &'a Map<String, Value>, alternatives: &[Value]) -> Option<Vec<&'a Value>> {
    let real = alternatives
        .iter()
        .filter(|one| one.get("type") != Some(&Value::from("null")));
    if real.count() == 1 { plain(flat) } else { None }
}

fn plain(flat: &Map<String, Value>) -> Option<Vec<&Value>> {
    let several = flat
        .get("enum")
        .and_then(Value::as_array)
        .filter(|values| !values.is_empty());
    several
        .map(|values| values.iter().collect())
        .or_else(|| flat.get("const").map(|only| vec![only]))
}
