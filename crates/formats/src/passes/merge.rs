//! Intersection of two schemas.

use serde_json::{Map, Value, json};

use crate::context::ConversionContext;
use crate::description_text::{SchemaObject, detail};
use crate::keywords::{ANNOTATIONS, types_of};
use crate::loss::LossKind;

/// Returns a schema for what both accept, as far as it can be expressed. For annotations and keywords that cannot be
/// combined, the first schema wins.
pub(crate) fn intersect(
    first: SchemaObject,
    second: SchemaObject,
    ctx: &mut ConversionContext,
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
        let value = join(&keyword, ours, theirs, ctx);
        joined.insert(keyword, value);
    }
    joined
}

fn join(keyword: &str, ours: Value, theirs: Value, ctx: &mut ConversionContext) -> Value {
    match (keyword, ours, theirs) {
        ("type", ours, theirs) => join_types(ours, theirs, ctx),
        ("properties" | "patternProperties", Value::Object(ours), Value::Object(theirs)) => {
            join_named(keyword, ours, theirs, ctx)
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
                ctx.record_loss(LossKind::ConstraintDropped, "enum without a common value");
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
        ) => tighter_bound(ours, theirs, true),
        (
            "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties"
            | "maxContains",
            ours,
            theirs,
        ) => tighter_bound(ours, theirs, false),
        ("additionalProperties" | "unevaluatedProperties" | "unevaluatedItems", ours, theirs) => {
            match (ours, theirs) {
                (Value::Bool(true), other) | (other, Value::Bool(true)) => other,
                (Value::Bool(false), _) | (_, Value::Bool(false)) => Value::Bool(false),
                (ours, theirs) => ctx.at(keyword, |ctx| nested(ours, theirs, ctx)),
            }
        }
        ("items" | "propertyNames", ours, theirs) => {
            ctx.at(keyword, |ctx| nested(ours, theirs, ctx))
        }
        ("uniqueItems", Value::Bool(a), Value::Bool(b)) => Value::Bool(a || b),
        (keyword, ours, theirs) => {
            let kind = match keyword {
                "not" | "if" | "then" | "else" | "dependentRequired" | "dependentSchemas" => {
                    LossKind::ConditionDropped
                }
                _ => LossKind::ConstraintDropped,
            };
            ctx.record_loss(kind, format!("a second {keyword}: {}", detail(&theirs)));
            ours
        }
    }
}

fn nested(ours: Value, theirs: Value, ctx: &mut ConversionContext) -> Value {
    match (ours, theirs) {
        (Value::Object(ours), Value::Object(theirs)) => Value::Object(intersect(ours, theirs, ctx)),
        (ours, _) => ours,
    }
}

fn join_named(
    keyword: &str,
    mut ours: Map<String, Value>,
    theirs: Map<String, Value>,
    ctx: &mut ConversionContext,
) -> Value {
    for (name, schema) in theirs {
        match ours.get_mut(&name) {
            Some(existing) => {
                let existing_schema = std::mem::take(existing);
                let joined = ctx.at2(keyword, &name, |ctx| nested(existing_schema, schema, ctx));
                ours.insert(name, joined);
            }
            None => {
                ours.insert(name, schema);
            }
        }
    }
    Value::Object(ours)
}

fn join_types(ours: Value, theirs: Value, ctx: &mut ConversionContext) -> Value {
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
            ctx.record_loss(
                LossKind::ConstraintDropped,
                format!("type {}", detail(&theirs)),
            );
            ours
        }
        [one] => json!(one),
        many => json!(many),
    }
}

fn tighter_bound(ours: Value, theirs: Value, up: bool) -> Value {
    let (a, b) = (ours.as_f64().unwrap_or(0.0), theirs.as_f64().unwrap_or(0.0));
    if (b > a) == up && a != b {
        theirs
    } else {
        ours
    }
}
