//! Visits the subschemas of a schema, distinguishing keywords from property names and from plain data.

use serde_json::{Map, Value};

/// Keywords whose values are data, not schemas.
const DATA: &[&str] = &[
    "const", "default", "enum", "example", "examples", "required",
];

/// Keywords whose values map names to schemas; the names are not keywords.
const NAMED: &[&str] = &[
    "$defs",
    "definitions",
    "dependencies",
    "dependentSchemas",
    "patternProperties",
    "properties",
];

/// Where a subschema is located.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SchemaLocation {
    /// The root schema.
    Root,
    /// Reached through `properties` only, so it describes one fixed argument.
    Property,
    /// Anywhere else.
    Elsewhere,
}

/// Visits the root and every subschema that is an object. Unknown keywords are visited too, because a `$ref` can point
/// into them. The caller must have checked the nesting depth.
pub(crate) fn walk<'a>(
    root: &'a Value,
    visit: &mut impl FnMut(&'a Map<String, Value>, SchemaLocation),
) {
    schema(root, SchemaLocation::Root, visit);
}

fn schema<'a>(
    value: &'a Value,
    location: SchemaLocation,
    visit: &mut impl FnMut(&'a Map<String, Value>, SchemaLocation),
) {
    match value {
        Value::Object(map) => {
            visit(map, location);
            for (keyword, inner) in map {
                if DATA.contains(&keyword.as_str()) {
                    continue;
                }
                match inner {
                    Value::Object(named) if NAMED.contains(&keyword.as_str()) => {
                        let direct =
                            keyword == "properties" && location != SchemaLocation::Elsewhere;
                        let location = if direct {
                            SchemaLocation::Property
                        } else {
                            SchemaLocation::Elsewhere
                        };
                        named
                            .values()
                            .for_each(|child| schema(child, location, visit));
                    }
                    _ => schema(inner, SchemaLocation::Elsewhere, visit),
                }
            }
        }
        Value::Array(items) => items
            .iter()
            .for_each(|item| schema(item, SchemaLocation::Elsewhere, visit)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_data_are_not_taken_for_keywords() {
        let root = serde_json::json!({
            "properties": {"$ref": {"type": "string"}, "default": {"type": "integer"}},
            "default": {"$ref": "data"},
            "allOf": [{"type": "boolean"}],
            "$defs": {"a": {"type": "null"}},
        });
        let mut seen = Vec::new();
        walk(&root, &mut |map, location| {
            if let Some(kind) = map.get("type") {
                seen.push(format!(
                    "{kind}{}",
                    if location == SchemaLocation::Property {
                        " property"
                    } else {
                        ""
                    }
                ));
            }
            assert!(!map.get("$ref").is_some_and(Value::is_string));
        });
        assert_eq!(
            seen,
            [
                "\"string\" property",
                "\"integer\" property",
                "\"boolean\"",
                "\"null\""
            ]
        );
    }
}
