//! Two schemas that must both hold, as one.

use serde_json::{Map, Value, json};

use crate::context::ConversionContext;
use crate::description_text::{SchemaObject, detail};
use crate::keywords::{ANNOTATIONS, types_of};
use crate::loss::LossKind;

/// One schema that takes what both take, as far as one can say it. Where they speak to readers, or cannot be
/// joined, the first has the word.
pub(crate) fn both(
    first: SchemaObject,
    second: SchemaObject,
    notes: &mut ConversionContext,
) -> SchemaObject {
    let mut joined = first;
    for (keyword, theirs) in second {
        let Some(ours) = joined.get_mut(&keyword) else {
            joined.insert(keyword, theirs);
            continue;
        };
        if *ours == theirs || ANNOTATIONS.contains(&keyword.as_str()) {
            continue;
        }
        let ours = std::mem::take(ours);
        let value = join(&keyword, ours, theirs, notes);
        joined.insert(keyword, value);
    }
    joined
}

fn join(keyword: &str, ours: Value, theirs: Value, notes: &mut ConversionContext) -> Value {
    match (keyword, ours, theirs) {
        ("type", ours, theirs) => join_types(ours, theirs, notes),
        ("properties" | "patternProperties", Value::Object(ours), Value::Object(theirs)) => {
            join_named(keyword, ours, theirs, notes)
        }
        ("required", Value::Array(mut ours), Value::Array(theirs)) => {
            for name in theirs {
                if !ours.contains(&name) {
                    ours.push(name);
                }
            }
            Value::Array(ours)
        }
        ("enum", Value::Array(ours), Value::Array(theirs)) => {
            let shared: Vec<Value> = ours
                .iter()
                .filter(|v| theirs.contains(v))
                .cloned()
                .collect();
            if shared.is_empty() {
                notes.lose(LossKind::ConstraintDropped, "enum that shares no value");
                return Value::Array(ours);
            }
            Value::Array(shared)
        }
        ("allOf", Value::Array(mut ours), Value::Array(theirs)) => {
            ours.extend(theirs);
            Value::Array(ours)
        }
        (
            "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties"
            | "minContains",
            ours,
            theirs,
        ) => further(ours, theirs, true),
        (
            "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties"
            | "maxContains",
            ours,
            theirs,
        ) => further(ours, theirs, false),
        ("additionalProperties" | "unevaluatedProperties" | "unevaluatedItems", ours, theirs) => {
            match (ours, theirs) {
                (Value::Bool(true), other) | (other, Value::Bool(true)) => other,
                (Value::Bool(false), _) | (_, Value::Bool(false)) => Value::Bool(false),
                (ours, theirs) => notes.at(keyword, |notes| nested(ours, theirs, notes)),
            }
        }
        ("items" | "propertyNames", ours, theirs) => {
            notes.at(keyword, |notes| nested(ours, theirs, notes))
        }
        ("uniqueItems", Value::Bool(a), Value::Bool(b)) => Value::Bool(a || b),
        (keyword, ours, theirs) => {
            let kind = match keyword {
                "not" | "if" | "then" | "else" | "dependentRequired" | "dependentSchemas" => {
                    LossKind::ConditionDropped
                }
                _ => LossKind::ConstraintDropped,
            };
            notes.lose(kind, format!("a second {keyword}: {}", detail(&theirs)));
            ours
        }
    }
}

fn nested(ours: Value, theirs: Value, notes: &mut ConversionContext) -> Value {
    match (ours, theirs) {
        (Value::Object(ours), Value::Object(theirs)) => Value::Object(both(ours, theirs, notes)),
        (ours, _) => ours,
    }
}

fn join_named(
    keyword: &str,
    mut ours: Map<String, Value>,
    theirs: Map<String, Value>,
    notes: &mut ConversionContext,
) -> Value {
    for (name, schema) in theirs {
        match ours.get_mut(&name) {
            Some(existing) => {
                let existing_schema = std::mem::take(existing);
                let joined = notes.at2(keyword, &name, |notes| {
                    nested(existing_schema, schema, notes)
                });
                ours.insert(name, joined);
            }
            None => {
                ours.insert(name, schema);
            }
        }
    }
    Value::Object(ours)
}

fn join_types(ours: Value, theirs: Value, notes: &mut ConversionContext) -> Value {
    let list = |value: &Value| types_of(&Map::from_iter([("type".to_owned(), value.clone())]));
    let (a, b) = (list(&ours), list(&theirs));
    let mut shared: Vec<&str> = Vec::new();
    for (one, other) in [(&a, &b), (&b, &a)] {
        for name in one {
            let is_shared =
                other.contains(name) || (name == "integer" && other.iter().any(|t| t == "number"));
            if is_shared && !shared.contains(&name.as_str()) {
                shared.push(name);
            }
        }
    }
    match shared.as_slice() {
        [] => {
            notes.lose(
                LossKind::ConstraintDropped,
                format!("type {}", detail(&theirs)),
            );
            ours
        }
        [one] => json!(one),
        many => json!(many),
    }
}

fn further(ours: Value, theirs: Value, up: bool) -> Value {
    let (a, b) = (ours.as_f64().unwrap_or(0.0), theirs.as_f64().unwrap_or(0.0));
    if (b > a) == up && a != b {
        theirs
    } else {
        ours
    }
}
