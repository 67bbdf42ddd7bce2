//! The keywords of JSON Schema, grouped by the type of their values.

use serde_json::Value;

use crate::context::ConversionContext;
use crate::description_text::SchemaObject;

/// The JSON types.
pub(crate) const TYPES: [&str; 7] = [
    "object", "array", "string", "integer", "number", "boolean", "null",
];

/// Keywords with one schema as value.
pub(crate) const ONE: [&str; 11] = [
    "additionalProperties",
    "items",
    "contains",
    "not",
    "if",
    "then",
    "else",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
];

/// Keywords with a schema or a boolean that is kept.
pub(crate) const OPENNESS: [&str; 3] = [
    "additionalProperties",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Keywords with a list of schemas.
pub(crate) const LIST: [&str; 4] = ["anyOf", "oneOf", "allOf", "prefixItems"];

/// Keywords with schemas by name.
pub(crate) const NAMED: [&str; 5] = [
    "properties",
    "patternProperties",
    "dependentSchemas",
    "$defs",
    "definitions",
];

/// Keywords with a number.
pub(crate) const NUMBERS: [&str; 5] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
];

/// Keywords with a count.
pub(crate) const COUNTS: [&str; 8] = [
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "minContains",
    "maxContains",
];

/// Keywords with a string.
pub(crate) const TEXTS: [&str; 7] = [
    "title",
    "description",
    "format",
    "pattern",
    "contentEncoding",
    "contentMediaType",
    "$ref",
];

/// Keywords with a boolean.
pub(crate) const FLAGS: [&str; 4] = ["uniqueItems", "readOnly", "writeOnly", "deprecated"];

/// Keywords about the document, not about values; dropping them loses nothing.
pub(crate) const BOOKKEEPING: [&str; 7] = [
    "$schema",
    "$id",
    "id",
    "$comment",
    "$anchor",
    "$dynamicAnchor",
    "$vocabulary",
];

/// Annotations: keywords for readers that constrain nothing.
pub(crate) const ANNOTATIONS: [&str; 7] = [
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
];

/// Conditional keywords, which only full JSON Schema supports.
pub(crate) const CONDITIONS: [&str; 6] = [
    "not",
    "if",
    "then",
    "else",
    "dependentRequired",
    "dependentSchemas",
];

/// The type that a keyword applies to, if it applies to one type only.
pub(crate) fn of_type(keyword: &str) -> Option<&'static str> {
    Some(match keyword {
        "properties"
        | "required"
        | "additionalProperties"
        | "patternProperties"
        | "propertyNames"
        | "unevaluatedProperties"
        | "minProperties"
        | "maxProperties"
        | "dependentRequired"
        | "dependentSchemas" => "object",
        "items" | "prefixItems" | "contains" | "minContains" | "maxContains" | "minItems"
        | "maxItems" | "uniqueItems" | "unevaluatedItems" => "array",
        "minLength" | "maxLength" | "pattern" | "format" | "contentEncoding"
        | "contentMediaType" | "contentSchema" => "string",
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => "number",
        _ => return None,
    })
}

/// The type of a value; whole numbers are `integer`.
pub(crate) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(n) if n.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The types that a schema names.
pub(crate) fn types_of(node: &SchemaObject) -> Vec<String> {
    match node.get("type") {
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(many)) => many
            .iter()
            .filter_map(|v| v.as_str().map(str::to_owned))
            .collect(),
        _ => Vec::new(),
    }
}

/// Calls `work` for each direct subschema.
pub(crate) fn each_child(
    node: &mut SchemaObject,
    ctx: &mut ConversionContext,
    work: &mut dyn FnMut(&mut Value, &mut ConversionContext),
) {
    for (keyword, value) in node.iter_mut() {
        let keyword = keyword.as_str();
        match value {
            value if ONE.contains(&keyword) => ctx.at(keyword, |ctx| work(value, ctx)),
            Value::Array(list) if LIST.contains(&keyword) => {
                for (index, value) in list.iter_mut().enumerate() {
                    ctx.at2(keyword, &index.to_string(), |ctx| work(value, ctx));
                }
            }
            Value::Object(named) if NAMED.contains(&keyword) => {
                for (name, value) in named.iter_mut() {
                    ctx.at2(keyword, name, |ctx| work(value, ctx));
                }
            }
            _ => {}
        }
    }
}

/// Number of objects in a value, including itself.
pub(crate) fn size(value: &Value) -> usize {
    match value {
        Value::Object(map) => 1 + map.values().map(size).sum::<usize>(),
        Value::Array(list) => list.iter().map(size).sum(),
        _ => 0,
    }
}
