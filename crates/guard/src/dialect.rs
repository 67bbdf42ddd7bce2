//! Selection of the JSON Schema draft for a schema.

use jsonschema::Draft;
use serde_json::Value;

/// Keywords that draft 7 lacks or interprets differently from draft 2020-12.
const DRAFT_DEPENDENT: [&str; 18] = [
    "$anchor",
    "$dynamicAnchor",
    "$dynamicRef",
    "$id",
    "$recursiveAnchor",
    "$recursiveRef",
    "$ref",
    "$vocabulary",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "maxContains",
    "minContains",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// The draft that a schema declares, or 2020-12 by default.
pub(crate) fn draft_named(dialect: &str) -> Draft {
    let drafts = [
        ("draft-04", Draft::Draft4),
        ("draft-06", Draft::Draft6),
        ("draft-07", Draft::Draft7),
        ("2019-09", Draft::Draft201909),
    ];
    let known = drafts.into_iter().find(|(name, _)| dialect.contains(name));
    known.map_or(Draft::Draft202012, |(_, draft)| draft)
}

/// The draft for a schema if formats are not validated.
///
/// Before the first schema of a draft, the library compiles the metaschema of that draft, which takes far longer for
/// 2020-12 than for draft 7. So a schema that means the same in both is treated as draft 7.
pub(crate) fn draft_for(dialect: &str, schema: &Value) -> Draft {
    match draft_named(dialect) {
        Draft::Draft202012 if is_same_in_draft_7(schema) => Draft::Draft7,
        named => named,
    }
}

/// Whether a schema has no draft-dependent keywords. A property with such a name counts as the keyword, which costs only
/// time.
fn is_same_in_draft_7(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => members.iter().all(|(key, value)| {
            let is_tuple = key == "prefixItems" || (key == "items" && value.is_array());
            !is_tuple && !DRAFT_DEPENDENT.contains(&key.as_str()) && is_same_in_draft_7(value)
        }),
        Value::Array(items) => items.iter().all(is_same_in_draft_7),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(dialect: &str, schema: Value, expected: Draft) {
        assert_eq!(draft_for(dialect, &schema), expected, "{dialect} {schema}");
    }

    #[test]
    fn only_equivalent_schemas_are_treated_as_draft_7() {
        let plain = json!({"type": "object", "properties": {"a": {"items": {"enum": [1]}}}});
        check("", plain.clone(), Draft::Draft7);
        check(
            "https://json-schema.org/draft/2020-12/schema",
            plain.clone(),
            Draft::Draft7,
        );
        check(
            "https://json-schema.org/draft/2019-09/schema",
            plain.clone(),
            Draft::Draft201909,
        );
        check(
            "http://json-schema.org/draft-04/schema#",
            plain,
            Draft::Draft4,
        );
        for keyword in DRAFT_DEPENDENT.into_iter().chain(["prefixItems"]) {
            check("", json!({"anyOf": [{keyword: {}}]}), Draft::Draft202012);
        }
        check(
            "",
            json!({"items": [{"type": "string"}]}),
            Draft::Draft202012,
        );
    }

    /// Validates each schema with matching and other values in both drafts.
    #[test]
    fn shared_keywords_mean_the_same_in_both_drafts() {
        let schemas = [
            json!({"type": ["integer", "null"]}),
            json!({"type": "integer", "exclusiveMinimum": 1, "multipleOf": 2}),
            json!({"const": 1.0}),
            json!({"enum": ["a", 1, null, {"a": 1}]}),
            json!({"type": "string", "minLength": 2, "maxLength": 3, "pattern": "^a"}),
            json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true, "maxItems": 2}),
            json!({"contains": {"const": 1}, "additionalItems": false}),
            json!({"properties": {"a": false}, "additionalProperties": {"type": "string"}}),
            json!({"patternProperties": {"^a": {"type": "string"}}, "propertyNames": {"maxLength": 1}}),
            json!({"required": ["a"], "minProperties": 1, "maxProperties": 1}),
            json!({"anyOf": [{"type": "string"}, {"minimum": 2}], "not": {"const": "a"}}),
            json!({"oneOf": [{"type": "number"}, {"multipleOf": 2}]}),
            json!({"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"maxProperties": 0}}),
            json!({"format": "email", "deprecated": true, "examples": [1], "default": {}}),
        ];
        let values = [
            json!(null),
            json!(1),
            json!(1.0),
            json!(1.5),
            json!(2),
            json!(4),
            json!("a"),
            json!("ab"),
            json!("abcd"),
            json!([]),
            json!([1]),
            json!(["a", "a"]),
            json!(["a", "b"]),
            json!({}),
            json!({"a": 1}),
            json!({"a": "x"}),
            json!({"b": "x"}),
            json!({"a": "x", "b": "y"}),
            json!({"long": "x"}),
        ];
        for schema in &schemas {
            assert!(is_same_in_draft_7(schema), "{schema}");
            let read = |draft| {
                let options = jsonschema::options().with_draft(draft);
                options
                    .should_validate_formats(false)
                    .build(schema)
                    .unwrap()
            };
            let (older, newer) = (read(Draft::Draft7), read(Draft::Draft202012));
            let mut matching = 0;
            for value in &values {
                let fits = older.is_valid(value);
                assert_eq!(fits, newer.is_valid(value), "{schema} {value}");
                matching += usize::from(fits);
            }
            assert!(matching > 0, "{schema} matches nothing");
        }
    }
}
