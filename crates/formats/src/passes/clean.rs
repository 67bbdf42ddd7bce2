//! Conversion of any draft, with any mistakes, to valid schemas of draft 2020-12.

use serde_json::{Map, Value, json};

use crate::context::ConversionContext;
use crate::description_text::{SchemaObject, detail};
use crate::keywords::{
    BOOKKEEPING, COUNTS, FLAGS, LIST, NAMED, NUMBERS, ONE, OPENNESS, TEXTS, TYPES, types_of,
};
use crate::limits::DEPTH_MAX;
use crate::loss::LossKind;

/// Returns the schema with known keywords and valid values only.
pub(crate) fn clean(schema: Value, ctx: &mut ConversionContext) -> SchemaObject {
    // Each property adds two steps to the path.
    if ctx.depth() > DEPTH_MAX * 2 {
        ctx.record_loss(LossKind::SizeCut, "nested too deeply");
        return SchemaObject::new();
    }
    let source = match schema {
        Value::Object(map) => map,
        Value::Bool(true) => return SchemaObject::new(),
        Value::Bool(false) => return never_schema(),
        other => {
            ctx.record_loss(LossKind::KeywordInvalid, detail(&other));
            return SchemaObject::new();
        }
    };
    // An empty enum accepts nothing. Outside of `not` it is a server's mistake and dropped.
    let is_empty = |choice: &Value| choice.as_array().is_some_and(Vec::is_empty);
    if ctx.is_negated() && source.get("enum").is_some_and(is_empty) {
        return never_schema();
    }
    let mut node = SchemaObject::new();
    for (keyword, value) in source {
        if BOOKKEEPING.contains(&keyword.as_str()) {
            continue;
        }
        match known(&keyword, value, ctx) {
            Ok(Some(value)) => {
                node.insert(keyword, value);
            }
            Ok(None) => {}
            Err(kind) => ctx.at(&keyword.clone(), |ctx| ctx.record_loss(kind, keyword)),
        }
    }
    older_forms(&mut node, ctx);
    node
}

/// A schema that accepts nothing.
pub(crate) fn never_schema() -> SchemaObject {
    let mut node = SchemaObject::new();
    node.insert("not".to_owned(), json!({}));
    node
}

pub(crate) fn is_never(node: &SchemaObject) -> bool {
    node.get("not")
        .is_some_and(|not| not.as_object().is_some_and(Map::is_empty))
}

/// The valid value of a keyword; `None` if it has no effect.
fn known(
    keyword: &str,
    value: Value,
    ctx: &mut ConversionContext,
) -> Result<Option<Value>, LossKind> {
    const INVALID: LossKind = LossKind::KeywordInvalid;
    Ok(Some(match value {
        value if keyword == "type" => return Ok(types(value, ctx)),
        Value::Array(tuple) if keyword == "items" => return Ok(list("prefixItems", tuple, ctx)),
        Value::Bool(_) if OPENNESS.contains(&keyword) => value,
        value if ONE.contains(&keyword) || keyword == "additionalItems" => {
            Value::Object(ctx.at(keyword, |ctx| clean(value, ctx)))
        }
        Value::Array(schemas) if LIST.contains(&keyword) => {
            return Ok(list(keyword, schemas, ctx));
        }
        Value::Object(schemas) if NAMED.contains(&keyword) => named(keyword, schemas, ctx),
        Value::Number(_) if NUMBERS.contains(&keyword) => value,
        // A boolean in draft 4, a number in later drafts.
        Value::Bool(_) if keyword == "exclusiveMinimum" || keyword == "exclusiveMaximum" => value,
        Value::Number(n) if COUNTS.contains(&keyword) => count(&n).ok_or(INVALID)?,
        Value::String(_) if TEXTS.contains(&keyword) => value,
        Value::Bool(_) if FLAGS.contains(&keyword) || keyword == "nullable" => value,
        // In draft 3 `required` is on the property; the parent handles it.
        Value::Bool(_) if keyword == "required" => value,
        Value::Array(names) if keyword == "required" => Value::Array(strings(names)),
        Value::Array(values) if keyword == "enum" => {
            let mut unique: Vec<Value> = Vec::with_capacity(values.len().min(1_000));
            for value in values {
                if !unique.contains(&value) {
                    unique.push(value);
                }
            }
            if unique.is_empty() {
                return Err(INVALID);
            }
            Value::Array(unique)
        }
        value if keyword == "const" || keyword == "default" => value,
        Value::Array(_) if keyword == "examples" => value,
        Value::Object(lists) if keyword == "dependentRequired" => Value::Object(
            lists
                .into_iter()
                .filter_map(|(name, list)| match list {
                    Value::Array(names) => Some((name, Value::Array(strings(names)))),
                    _ => None,
                })
                .collect(),
        ),
        Value::Object(_) if keyword == "dependencies" => value,
        value if keyword == "example" => value,
        Value::Null => return Ok(None),
        _ if is_known(keyword) => return Err(INVALID),
        _ => return Err(LossKind::KeywordUnknown),
    }))
}

fn is_known(keyword: &str) -> bool {
    ONE.contains(&keyword)
        || LIST.contains(&keyword)
        || NAMED.contains(&keyword)
        || NUMBERS.contains(&keyword)
        || COUNTS.contains(&keyword)
        || TEXTS.contains(&keyword)
        || FLAGS.contains(&keyword)
        || matches!(
            keyword,
            "required" | "enum" | "examples" | "dependentRequired" | "dependencies" | "nullable"
        )
}

/// One or several types; names from other languages are mapped.
fn types(value: Value, ctx: &mut ConversionContext) -> Option<Value> {
    let names = match value {
        Value::String(one) => vec![Value::String(one)],
        Value::Array(many) => many,
        other => {
            ctx.at("type", |ctx| {
                ctx.record_loss(LossKind::KeywordInvalid, detail(&other))
            });
            return None;
        }
    };
    let mut types: Vec<Value> = Vec::new();
    for name in names {
        let known = match name.as_str().map(str::to_ascii_lowercase).as_deref() {
            Some("any" | "") => return None,
            Some("int" | "int32" | "int64" | "long") => "integer",
            Some("float" | "double" | "decimal") => "number",
            Some("bool") => "boolean",
            Some("str" | "text") => "string",
            Some("list" | "tuple" | "set") => "array",
            Some("dict" | "map") => "object",
            Some("none" | "undefined") => "null",
            Some(other) if TYPES.contains(&other) => {
                TYPES.into_iter().find(|t| *t == other).unwrap_or("object")
            }
            _ => {
                ctx.at("type", |ctx| {
                    ctx.record_loss(LossKind::KeywordInvalid, detail(&name))
                });
                continue;
            }
        };
        if !types.contains(&json!(known)) {
            types.push(json!(known));
        }
    }
    match types.len() {
        0 => None,
        1 => types.pop(),
        _ => Some(Value::Array(types)),
    }
}

fn list(keyword: &str, schemas: Vec<Value>, ctx: &mut ConversionContext) -> Option<Value> {
    if schemas.is_empty() {
        return None;
    }
    let cleaned = schemas
        .into_iter()
        .enumerate()
        .map(|(index, schema)| {
            ctx.at2(keyword, &index.to_string(), |ctx| {
                Value::Object(clean(schema, ctx))
            })
        })
        .collect();
    Some(Value::Array(cleaned))
}

fn named(keyword: &str, schemas: Map<String, Value>, ctx: &mut ConversionContext) -> Value {
    let mut cleaned = Map::new();
    for (name, schema) in schemas {
        let schema = ctx.at2(keyword, &name, |ctx| {
            let schema = clean(schema, ctx);
            if keyword == "properties" && is_never(&schema) {
                ctx.record_loss(LossKind::PropertyDropped, "no value is allowed");
                return None;
            }
            Some(schema)
        });
        if let Some(schema) = schema {
            cleaned.insert(name, Value::Object(schema));
        }
    }
    Value::Object(cleaned)
}

fn strings(names: Vec<Value>) -> Vec<Value> {
    let mut unique: Vec<Value> = Vec::new();
    for name in names {
        if name.is_string() && !unique.contains(&name) {
            unique.push(name);
        }
    }
    unique
}

fn count(number: &serde_json::Number) -> Option<Value> {
    if let Some(count) = number.as_u64() {
        return Some(json!(count));
    }
    let float = number.as_f64()?;
    // Above 2^53 a float is not exact.
    (float >= 0.0 && float.fract() == 0.0 && float < 9_007_199_254_740_992.0)
        .then(|| json!(float as u64))
}

/// Converts keywords of earlier drafts and OpenAPI.
fn older_forms(node: &mut SchemaObject, ctx: &mut ConversionContext) {
    if let Some(rest) = node.shift_remove("additionalItems")
        && node.contains_key("items")
    {
        node.insert("rest".to_owned(), rest);
    }
    if let Some(tuple) = node.get("items").filter(|items| items.is_array()).cloned() {
        node.shift_remove("items");
        node.insert("prefixItems".to_owned(), tuple);
        if let Some(rest) = node.shift_remove("rest") {
            node.insert("items".to_owned(), rest);
        }
    }
    node.shift_remove("rest");
    for (flag, bound) in [
        ("exclusiveMinimum", "minimum"),
        ("exclusiveMaximum", "maximum"),
    ] {
        match node.get(flag) {
            Some(Value::Bool(true)) => match node.shift_remove(bound) {
                Some(number) => {
                    node.insert(flag.to_owned(), number);
                }
                None => {
                    node.shift_remove(flag);
                }
            },
            Some(Value::Bool(false)) => {
                node.shift_remove(flag);
            }
            _ => {}
        }
    }
    if node
        .get("multipleOf")
        .is_some_and(|n| n.as_f64().is_none_or(|n| n <= 0.0))
    {
        node.shift_remove("multipleOf");
        ctx.at("multipleOf", |n| {
            n.record_loss(LossKind::KeywordInvalid, "not positive")
        });
    }
    required_of_properties(node);
    dependencies(node, ctx);
    if let Some(example) = node.shift_remove("example")
        && !node.contains_key("examples")
    {
        node.insert("examples".to_owned(), json!([example]));
    }
    if let Some(Value::Bool(true)) = node.shift_remove("nullable") {
        may_be_null(node);
    }
}

fn required_of_properties(node: &mut SchemaObject) {
    let mut required = match node.get("required") {
        Some(Value::Array(names)) => names.clone(),
        _ => Vec::new(),
    };
    if let Some(Value::Object(properties)) = node.get_mut("properties") {
        for (name, property) in properties.iter_mut() {
            let Some(property) = property.as_object_mut() else {
                continue;
            };
            if let Some(Value::Bool(flag)) = property.get("required").cloned() {
                property.shift_remove("required");
                if flag && !required.contains(&json!(name)) {
                    required.push(json!(name));
                }
            }
        }
    }
    if !required.is_empty() {
        node.insert("required".to_owned(), Value::Array(required));
    }
}

/// Removes a boolean `required`, which only the parent's `properties` could use.
pub(crate) fn drop_flags(node: &mut SchemaObject) {
    if node.get("required").is_some_and(Value::is_boolean) {
        node.shift_remove("required");
    }
}

fn dependencies(node: &mut SchemaObject, ctx: &mut ConversionContext) {
    let Some(Value::Object(dependencies)) = node.shift_remove("dependencies") else {
        return;
    };
    let (mut lists, mut schemas) = (Map::new(), Map::new());
    for (name, dependency) in dependencies {
        match dependency {
            Value::Array(names) => {
                lists.insert(name, Value::Array(strings(names)));
            }
            schema => {
                let cleaned = ctx.at2("dependencies", &name, |ctx| clean(schema, ctx));
                schemas.insert(name, Value::Object(cleaned));
            }
        }
    }
    for (keyword, map) in [("dependentRequired", lists), ("dependentSchemas", schemas)] {
        if !map.is_empty() && !node.contains_key(keyword) {
            node.insert(keyword.to_owned(), Value::Object(map));
        }
    }
}

/// Makes a schema nullable.
pub(crate) fn may_be_null(node: &mut SchemaObject) {
    let mut types = types_of(node);
    if !types.is_empty() && !types.iter().any(|t| t == "null") {
        types.push("null".to_owned());
        node.insert("type".to_owned(), json!(types));
    }
    if let Some(Value::Array(values)) = node.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    if types.is_empty()
        && let Some(Value::Array(branches)) = node.get_mut("anyOf")
    {
        branches.push(json!({"type": "null"}));
    }
}
