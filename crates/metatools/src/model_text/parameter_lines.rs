//! Describes a tool's parameters within a limit.

use pegboard_catalog::flatten_schema;
use pegboard_guard::type_summary;
use serde_json::{Map, Value};

use super::wording::{beginning, line};

/// Parameters of one tool that are considered.
const MAX_PARAMETERS: usize = 200;
/// Properties of a nested object that are shown.
const MAX_FIELDS: usize = 12;
/// Characters of a name, a default or an enum value.
const VALUE_CHARS: usize = 60;

/// Limits for one argument.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArgumentLimits {
    /// Characters of its description.
    pub(crate) description: usize,
    /// Levels of nested objects that are expanded.
    pub(crate) levels: usize,
}

/// Limits for the arguments of a tool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DetailLimits {
    /// Number of arguments; required ones come first.
    pub(crate) arguments: usize,
    /// For each required argument.
    pub(crate) needed: ArgumentLimits,
    /// For each optional argument.
    pub(crate) optional: ArgumentLimits,
    /// Enum values of an argument.
    pub(crate) choices: usize,
}

/// Returns lines such as `- state?: "open"|"closed" = "open". Which issues.`, and whether anything was left out.
pub(crate) fn parameter_lines(input_schema: &str, limits: DetailLimits) -> (Vec<String>, bool) {
    let Ok(root) = serde_json::from_str::<Value>(input_schema) else {
        return (Vec::new(), false);
    };
    let mut writer = Writer {
        root: &root,
        limits,
        cut: false,
    };
    let flat = flatten_schema(&root, &root, 0);
    let mut fields = fields(&flat);
    if fields.len() > limits.arguments {
        fields.sort_by_key(|(_, _, needed)| !needed);
    }
    let mut lines: Vec<String> = fields
        .iter()
        .take(limits.arguments)
        .map(|field| writer.parameter(field))
        .collect();
    let more = fields.len().saturating_sub(limits.arguments);
    if more > 0 {
        writer.cut = true;
        lines.push(format!("- and {more} more"));
    }
    (lines, writer.cut)
}

type Field<'a> = (&'a str, &'a Value, bool);

/// Returns the properties of an object schema: name, schema, and whether it is required.
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
        .take(MAX_PARAMETERS)
        .map(|(name, schema)| (name.as_str(), schema, required.contains(&name.as_str())))
        .collect()
}

struct Writer<'a> {
    root: &'a Value,
    limits: DetailLimits,
    /// Whether something was left out.
    cut: bool,
}

impl Writer<'_> {
    fn parameter(&mut self, (name, schema, needed): &Field<'_>) -> String {
        let flat = flatten_schema(self.root, schema, 0);
        let (mark, limits) = match needed {
            true => ("", self.limits.needed),
            false => ("?", self.limits.optional),
        };
        let mut text = format!(
            "- {}{mark}: {}",
            line(name, VALUE_CHARS),
            self.shape(schema, &flat, limits.levels)
        );
        let given = schema
            .get("default")
            .or_else(|| flat.get("default"))
            .filter(|value| !value.is_null());
        if let Some(value) = given {
            text += &format!(" = {}", line(&value.to_string(), VALUE_CHARS));
        }
        let described = [schema.get("description"), flat.get("description")];
        let described = described
            .into_iter()
            .flatten()
            .find_map(Value::as_str)
            .map(str::trim);
        if let Some(description) = described.filter(|text| !text.is_empty()) {
            let one_line = description.split_whitespace().collect::<Vec<_>>().join(" ");
            let (kept, left) = beginning(&one_line, limits.description);
            self.cut |= left > 0;
            if !kept.is_empty() {
                let mark = if left > 0 { "…" } else { "" };
                text += &format!(". {}{mark}", line(kept, usize::MAX));
            }
        }
        text
    }

    /// Returns a type: enum values, an expanded object, or a type name.
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
            let inner = flatten_schema(self.root, items, 0);
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
        let mut shown: Vec<String> = inner
            .iter()
            .take(MAX_FIELDS)
            .map(|(name, schema, needed)| {
                let mark = if *needed { "" } else { "?" };
                let flat = flatten_schema(self.root, schema, 0);
                format!(
                    "{}{mark}: {}",
                    line(name, VALUE_CHARS),
                    self.shape(schema, &flat, levels)
                )
            })
            .collect();
        if inner.len() > MAX_FIELDS {
            self.cut = true;
            shown.push(format!("+{}", inner.len() - MAX_FIELDS));
        }
        Some(format!("{{{}}}", shown.join(", ")))
    }

    fn choices(&mut self, values: &[&Value]) -> String {
        let mut shown: Vec<String> = values
            .iter()
            .take(self.limits.choices)
            .map(|value| line(&value.to_string(), VALUE_CHARS))
            .collect();
        if values.len() > shown.len() {
            self.cut = true;
            shown.push(format!("+{} more", values.len() - shown.len()));
        }
        shown.join("|")
    }
}

/// Returns the values of an `enum`, of a `const`, or of alternatives that are all constants.
fn listed<'a>(schema: &'a Value, flat: &'a Map<String, Value>) -> Option<Vec<&'a Value>> {
    for keyword in ["oneOf", "anyOf"] {
        if let Some(alternatives) = schema.get(keyword).and_then(Value::as_array) {
            let constants: Option<Vec<&Value>> =
                alternatives.iter().map(|one| one.get("const")).collect();
            // The flattened schema contains only one alternative.
            return constants
                .filter(|constants| !constants.is_empty())
                .or_else(|| single(flat, alternatives));
        }
    }
    plain(flat)
}

/// Returns the values of the only alternative that is not `null`.
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
