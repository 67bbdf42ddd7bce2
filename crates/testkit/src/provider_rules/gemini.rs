//! Gemini's function declarations.

use serde_json::Value;

use super::{Findings, step};

pub(super) fn declaration(tool: &Value, found: &mut Findings) {
    found.keys(tool, "", &["name", "description", "parameters"]);
    found.name(tool.get("name"), "/name", "-.:", 64);
    let starts = tool
        .get("name")
        .and_then(Value::as_str)
        .is_some_and(|name| name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'));
    found.unless(starts, "/name", "starts with a letter or _");
    found.description(tool, "/description");
    if let Some(parameters) = tool.get("parameters") {
        let object = parameters.get("type").is_some_and(|t| t == "OBJECT");
        found.unless(object, "/parameters", "`type` is `OBJECT`");
        found.unless(
            parameters.get("properties").is_some(),
            "/parameters",
            "`properties`, or no `parameters`",
        );
        schema(parameters, "/parameters", found);
    }
}

const FIELDS: [&str; 18] = [
    "type",
    "title",
    "description",
    "nullable",
    "format",
    "enum",
    "items",
    "properties",
    "required",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "pattern",
];

fn schema(value: &Value, path: &str, found: &mut Findings) {
    if let Some(branches) = value.get("anyOf") {
        found.keys(value, path, &["anyOf"]);
        match branches {
            Value::Array(list) if !list.is_empty() => {
                for (index, branch) in list.iter().enumerate() {
                    let here = step(&step(path, "anyOf"), &index.to_string());
                    schema(branch, &here, found);
                }
            }
            _ => found.add(path, "`anyOf` is a list of schemas"),
        }
        return;
    }
    found.keys(value, path, &FIELDS);
    let kind = value
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let allowed: &[&str] = match kind {
        "OBJECT" => &["properties", "required", "minProperties", "maxProperties"],
        "ARRAY" => &["items", "minItems", "maxItems"],
        "STRING" => &["format", "enum", "minLength", "maxLength", "pattern"],
        "NUMBER" | "INTEGER" => &["format", "minimum", "maximum"],
        "BOOLEAN" => &[],
        _ => {
            found.add(path, "`type` is a known type");
            return;
        }
    };
    for field in value.as_object().into_iter().flat_map(|map| map.keys()) {
        let common = ["type", "title", "description", "nullable"].contains(&field.as_str());
        found.unless(
            common || allowed.contains(&field.as_str()),
            path,
            &format!("no `{field}` for {kind}"),
        );
    }
    fields(value, kind, path, found);
    match kind {
        "OBJECT" => object(value, path, found),
        "ARRAY" => match value.get("items") {
            Some(items) => schema(items, &step(path, "items"), found),
            None => found.add(path, "an array has `items`"),
        },
        _ => {}
    }
}

fn fields(value: &Value, kind: &str, path: &str, found: &mut Findings) {
    for (field, content) in value.as_object().into_iter().flatten() {
        let fits = match field.as_str() {
            "title" | "description" => content.is_string(),
            "nullable" => content.is_boolean(),
            "minimum" | "maximum" => content.is_number(),
            "minItems" | "maxItems" | "minLength" | "maxLength" | "minProperties"
            | "maxProperties" => content.as_i64().is_some_and(|n| n >= 0),
            "enum" => content.as_array().is_some_and(|list| {
                !list.is_empty()
                    && list
                        .iter()
                        .all(|v| v.as_str().is_some_and(|s| !s.is_empty()))
            }),
            "format" => {
                let known: &[&str] = match kind {
                    "STRING" => &["date-time", "enum"],
                    "INTEGER" => &["int32", "int64"],
                    _ => &["float", "double"],
                };
                content.as_str().is_some_and(|f| known.contains(&f))
            }
            "pattern" => content
                .as_str()
                .is_some_and(|p| regex_syntax::parse(p).is_ok()),
            _ => true,
        };
        found.unless(fits, &step(path, field), &format!("a valid `{field}`"));
    }
}

fn object(value: &Value, path: &str, found: &mut Findings) {
    let properties = value.get("properties").and_then(Value::as_object);
    found.unless(
        value.get("properties").is_none() || properties.is_some_and(|p| !p.is_empty()),
        path,
        "`properties` is not empty",
    );
    for (name, property) in properties.into_iter().flatten() {
        let here = step(&step(path, "properties"), name);
        let fits = name.len() <= 64
            && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        found.unless(fits, &here, "a name of letters, digits and _");
        schema(property, &here, found);
    }
    if let Some(required) = value.get("required") {
        let known = required.as_array().is_some_and(|names| {
            names.iter().all(|n| {
                n.as_str()
                    .is_some_and(|n| properties.is_some_and(|p| p.contains_key(n)))
            })
        });
        found.unless(known, path, "required properties are defined");
    }
}
