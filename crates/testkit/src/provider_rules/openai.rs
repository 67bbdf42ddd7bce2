//! OpenAI Responses and Chat Completions.

use serde_json::Value;

use super::{Findings, schema, step};

pub(super) fn responses_tool(tool: &Value, deferred: bool, found: &mut Findings) {
    let known = [
        "type",
        "name",
        "description",
        "parameters",
        "strict",
        "defer_loading",
    ];
    found.keys(tool, "", &known);
    found.unless(
        tool.get("type").is_some_and(|t| t == "function"),
        "/type",
        "`function`",
    );
    found.unless(
        tool.get("defer_loading").is_some_and(|d| *d == true) == deferred,
        "/defer_loading",
        "`true` only in the deferred format",
    );
    function(tool, "", found);
}

pub(super) fn chat_tool(tool: &Value, found: &mut Findings) {
    found.keys(tool, "", &["type", "function"]);
    found.unless(
        tool.get("type").is_some_and(|t| t == "function"),
        "/type",
        "`function`",
    );
    match tool.get("function") {
        Some(inner) => {
            found.keys(
                inner,
                "/function",
                &["name", "description", "parameters", "strict"],
            );
            function(inner, "/function", found);
        }
        None => found.add("", "`function` is present"),
    }
}

fn function(tool: &Value, path: &str, found: &mut Findings) {
    found.name(tool.get("name"), &step(path, "name"), "-", 64);
    found.description(tool, &step(path, "description"));
    let at = step(path, "parameters");
    let Some(parameters) = tool.get("parameters") else {
        found.add(&at, "`parameters` is present");
        return;
    };
    schema::object_root(
        parameters,
        &at,
        &["anyOf", "oneOf", "allOf", "enum", "const", "not"],
        found,
    );
    schema::root_names(parameters, &at, found);
    schema::valid(parameters, &at, found);
    schema::each(
        parameters,
        &at,
        &mut |node, path, found| {
            let is_list = match node.get("type") {
                Some(Value::Array(types)) => types.iter().any(|t| t == "array"),
                Some(kind) => kind == "array",
                None => false,
            };
            found.unless(
                !is_list || node.get("items").is_some_and(Value::is_object),
                path,
                "an array has `items`",
            );
        },
        found,
    );
    match tool.get("strict") {
        Some(Value::Bool(true)) => strict(parameters, &at, found),
        Some(Value::Bool(false)) => {}
        _ => found.add(&step(path, "strict"), "`true` or `false`"),
    }
}

const STRICT_KEYWORDS: [&str; 17] = [
    "type",
    "title",
    "description",
    "enum",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "minItems",
    "maxItems",
    "anyOf",
    "pattern",
    "format",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
];
const STRICT_FORMATS: [&str; 9] = [
    "date-time",
    "time",
    "date",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uuid",
];

fn strict(parameters: &Value, at: &str, found: &mut Findings) {
    let (mut properties, mut values, mut characters) = (0, 0, 0);
    schema::each(
        parameters,
        at,
        &mut |node, path, found| {
            let Value::Object(map) = node else { return };
            for keyword in map.keys() {
                let known = STRICT_KEYWORDS.contains(&keyword.as_str()) || keyword == "multipleOf";
                found.unless(known, path, &format!("no `{keyword}` in a strict schema"));
            }
            found.unless(
                map.contains_key("type") != map.contains_key("anyOf"),
                path,
                "either `type` or `anyOf`",
            );
            if map.get("type").is_some_and(|t| t == "object") {
                closed(node, path, found);
                properties += map
                    .get("properties")
                    .and_then(Value::as_object)
                    .map_or(0, |p| {
                        characters += p.keys().map(|k| k.chars().count()).sum::<usize>();
                        p.len()
                    });
            }
            if let Some(Value::Array(list)) = map.get("enum") {
                values += list.len();
                let length: usize = list
                    .iter()
                    .map(|v| v.as_str().map_or(0, |s| s.chars().count()))
                    .sum();
                characters += length;
                found.unless(
                    list.len() <= 250 || length <= 15_000,
                    path,
                    "a long enum has at most 15,000 characters",
                );
            }
            if let Some(format) = map.get("format").and_then(Value::as_str) {
                found.unless(STRICT_FORMATS.contains(&format), path, "a supported format");
            }
            if let Some(pattern) = map.get("pattern").and_then(Value::as_str) {
                let looks = ["(?=", "(?!", "(?<"]
                    .iter()
                    .any(|group| pattern.contains(group));
                found.unless(!looks, path, "a pattern has no look-around");
            }
        },
        found,
    );
    found.unless(properties <= 5_000, at, "at most 5,000 properties");
    found.unless(values <= 1_000, at, "at most 1,000 values in enums");
    found.unless(
        characters <= 120_000,
        at,
        "at most 120,000 characters in names and values",
    );
    found.unless(levels(parameters) <= 10, at, "at most 10 levels of objects");
}

fn closed(node: &Value, path: &str, found: &mut Findings) {
    found.unless(
        node.get("additionalProperties")
            .is_some_and(|a| *a == false),
        path,
        "`additionalProperties` is `false`",
    );
    let names = node.get("properties").and_then(Value::as_object);
    let required = node.get("required").and_then(Value::as_array);
    let all = match (names, required) {
        (Some(names), Some(required)) => {
            names.len() == required.len()
                && required
                    .iter()
                    .all(|r| r.as_str().is_some_and(|r| names.contains_key(r)))
        }
        _ => false,
    };
    found.unless(all, path, "every property is required, and nothing else");
}

/// Nesting depth of objects.
fn levels(schema: &Value) -> usize {
    match schema {
        Value::Object(map) => {
            let inner = map.values().map(levels).max().unwrap_or(0);
            inner + usize::from(map.get("type").is_some_and(|t| t == "object"))
        }
        Value::Array(list) => list.iter().map(levels).max().unwrap_or(0),
        _ => 0,
    }
}
