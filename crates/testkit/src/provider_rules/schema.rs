//! Rules shared by all providers that accept JSON Schema.

use serde_json::Value;

use super::{Findings, step};

/// Checks that a schema is valid for draft 2020-12, its references resolve and its patterns are supported.
pub(super) fn valid(schema: &Value, path: &str, found: &mut Findings) {
    if let Err(error) = jsonschema::draft202012::meta::validate(schema) {
        let at = format!("{path}{}", error.instance_path());
        found.add(&at, format!("valid for draft 2020-12: {error}"));
        return;
    }
    each(
        schema,
        path,
        &mut |node, path, found| {
            if let Some(reference) = node.get("$ref") {
                let leads = reference
                    .as_str()
                    .and_then(|r| r.strip_prefix('#'))
                    .is_some_and(|pointer| schema.pointer(pointer).is_some());
                found.unless(leads, path, "`$ref` resolves in this schema");
            }
            if let Some(pattern) = node.get("pattern").and_then(Value::as_str) {
                found.unless(
                    is_python_regex(pattern),
                    path,
                    "`pattern` is supported in Python",
                );
            }
        },
        found,
    );
}

/// Checks that the root is an object with `properties` and without combinators.
pub(super) fn object_root(schema: &Value, path: &str, forbidden: &[&str], found: &mut Findings) {
    found.unless(
        schema.get("type").is_some_and(|t| t == "object"),
        path,
        "`type` is `object`",
    );
    found.unless(
        schema.get("properties").is_some_and(Value::is_object),
        path,
        "`properties` is present",
    );
    for keyword in forbidden {
        found.unless(
            schema.get(keyword).is_none(),
            path,
            &format!("no `{keyword}` at the root"),
        );
    }
}

/// Checks the names of the root's properties.
pub(super) fn root_names(schema: &Value, path: &str, found: &mut Findings) {
    let path = step(path, "properties");
    for name in schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(|p| p.keys())
    {
        let fits = (1..=64).contains(&name.len())
            && name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"_.-".contains(&b));
        found.unless(
            fits,
            &step(&path, name),
            "a name of 1 to 64 of a-z, A-Z, 0-9, _, . and -",
        );
    }
}

/// Visits a schema and all its subschemas.
pub(super) fn each(
    schema: &Value,
    path: &str,
    visit: &mut dyn FnMut(&Value, &str, &mut Findings),
    found: &mut Findings,
) {
    let Value::Object(node) = schema else { return };
    visit(schema, path, found);
    for (keyword, value) in node {
        let here = step(path, keyword);
        match (keyword.as_str(), value) {
            (
                "properties" | "$defs" | "definitions" | "patternProperties" | "dependentSchemas",
                Value::Object(map),
            ) => {
                for (name, value) in map {
                    each(value, &step(&here, name), visit, found);
                }
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(list)) => {
                for (index, value) in list.iter().enumerate() {
                    each(value, &step(&here, &index.to_string()), visit, found);
                }
            }
            (
                "items"
                | "additionalProperties"
                | "not"
                | "if"
                | "then"
                | "else"
                | "contains"
                | "propertyNames"
                | "unevaluatedItems"
                | "unevaluatedProperties",
                value,
            ) => each(value, &here, visit, found),
            _ => {}
        }
    }
}

/// Rough check: brackets are balanced, and all escapes and groups exist in Python.
fn is_python_regex(pattern: &str) -> bool {
    let (mut depth, mut in_class) = (0_i64, false);
    let mut rest = pattern.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\\' => match rest.next() {
                None | Some('p' | 'P' | 'k' | 'c' | 'h' | 'R' | 'X' | 'K' | 'z' | 'Q' | 'E') => {
                    return false;
                }
                Some(_) => {}
            },
            '[' if !in_class => {
                in_class = true;
                if rest.peek() == Some(&'^') {
                    rest.next();
                }
                if rest.peek() == Some(&']') {
                    rest.next();
                }
            }
            ']' if in_class => in_class = false,
            '(' if !in_class => {
                depth += 1;
                if rest.peek() == Some(&'?') {
                    let ahead: String = rest.clone().skip(1).take(2).collect();
                    let known =
                        ahead.starts_with([':', '=', '!', 'P']) || ahead == "<=" || ahead == "<!";
                    if !known {
                        return false;
                    }
                }
            }
            ')' if !in_class => {
                depth -= 1;
                if depth < 0 {
                    return false;
                }
            }
            _ => {}
        }
    }
    depth == 0 && !in_class
}
