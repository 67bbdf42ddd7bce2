//! Conversion of the root of a schema to an object without combinators.

use serde_json::{Map, Value, json};

use crate::context::ConversionContext;
use crate::description_text::{SchemaObject, detail};
use crate::keywords::{ANNOTATIONS, types_of};
use crate::limits::ALTERNATIVES_MAX;
use crate::loss::LossKind;
use crate::passes::merge;
use crate::passes::shape::join_all_of;

/// Flattens the root to one object. Returns sentences for the tool's description that replace what the schema can no
/// longer express.
pub(crate) fn flatten_root(root: &mut SchemaObject, ctx: &mut ConversionContext) -> Vec<String> {
    let mut sentences = Vec::new();
    let definitions = match root.shift_remove("$defs") {
        Some(Value::Object(definitions)) => definitions,
        _ => Map::new(),
    };
    flatten(root, &definitions, ctx, &mut sentences, 0);
    if !definitions.is_empty() {
        root.insert("$defs".to_owned(), Value::Object(definitions));
    }
    let types = types_of(root);
    if !types.is_empty() && !types.iter().any(|t| t == "object") {
        ctx.record_loss(
            LossKind::SchemaReplaced,
            format!("type {}", types.join(", ")),
        );
        root.retain(|keyword, _| keyword == "title" || keyword == "description");
    }
    for keyword in ["const", "enum"] {
        if let Some(value) = root.shift_remove(keyword) {
            ctx.record_loss(
                LossKind::ConstraintDropped,
                format!("{keyword} {}", detail(&value)),
            );
        }
    }
    // Arguments are an object, and `type` comes first.
    root.shift_remove("type");
    let properties = root.shift_remove("properties").unwrap_or_else(|| json!({}));
    let rest = std::mem::take(root);
    root.insert("type".to_owned(), json!("object"));
    root.insert("properties".to_owned(), properties);
    root.extend(rest);
    sentences
}

/// Maximum nesting depth of combinators at the root.
const LEVELS_MAX: usize = 8;

fn flatten(
    node: &mut SchemaObject,
    definitions: &Map<String, Value>,
    ctx: &mut ConversionContext,
    sentences: &mut Vec<String>,
    level: usize,
) {
    for _ in 0..LEVELS_MAX {
        expand(node, definitions, ctx);
        join_all_of(node, ctx);
        if !node.contains_key("$ref") {
            break;
        }
    }
    if node.shift_remove("$ref").is_some() {
        ctx.record_loss(LossKind::RecursionCut, "the root is recursive");
    }
    for keyword in ["anyOf", "oneOf"] {
        let Some(Value::Array(branches)) = node.shift_remove(keyword) else {
            continue;
        };
        ctx.at(keyword, |ctx| {
            ctx.record_loss(
                LossKind::RootMerged,
                format!("{} alternatives", branches.len()),
            );
        });
        let mut objects: Vec<SchemaObject> = Vec::new();
        for (index, branch) in branches.into_iter().enumerate() {
            let Value::Object(mut branch) = branch else {
                continue;
            };
            ctx.at2(keyword, &index.to_string(), |ctx| {
                let types = types_of(&branch);
                let is_object = types.is_empty() || types.iter().any(|t| t == "object");
                if !is_object || level >= LEVELS_MAX || objects.len() >= ALTERNATIVES_MAX {
                    ctx.record_loss(LossKind::AlternativeDropped, types.join(", "));
                    return;
                }
                flatten(&mut branch, definitions, ctx, sentences, level + 1);
                objects.push(branch);
            });
        }
        sentences.extend(needs(&objects));
        let base = std::mem::take(node);
        *node = merge::intersect(base, union(objects), ctx);
    }
}

/// Expands a recursive schema at the root; further down it stays a reference.
fn expand(node: &mut SchemaObject, definitions: &Map<String, Value>, ctx: &mut ConversionContext) {
    for _ in 0..LEVELS_MAX {
        let Some(Value::String(reference)) = node.shift_remove("$ref") else {
            return;
        };
        let target = reference
            .strip_prefix("#/$defs/")
            .and_then(|name| definitions.get(name));
        let Some(Value::Object(target)) = target else {
            return;
        };
        let beside = std::mem::take(node);
        *node = merge::intersect(beside, target.clone(), ctx);
    }
}

/// A sentence about which arguments belong together.
fn needs(objects: &[SchemaObject]) -> Option<String> {
    let groups: Vec<String> = objects
        .iter()
        .filter_map(|object| {
            let names: Vec<String> = names_required(object)
                .into_iter()
                .map(|name| format!("`{name}`"))
                .collect();
            (!names.is_empty()).then(|| names.join(" and "))
        })
        .collect();
    let mut unique: Vec<&String> = Vec::new();
    for group in &groups {
        if !unique.contains(&group) {
            unique.push(group);
        }
    }
    (unique.len() > 1).then(|| {
        let list: Vec<&str> = unique.into_iter().map(String::as_str).collect();
        format!("Requires one of: {}.", list.join("; "))
    })
}

fn names_required(object: &SchemaObject) -> Vec<String> {
    match object.get("required") {
        Some(Value::Array(names)) => names
            .iter()
            .filter_map(|n| n.as_str().map(str::to_owned))
            .collect(),
        _ => Vec::new(),
    }
}

/// One object with the properties of all objects; properties that only some require are optional.
fn union(objects: Vec<SchemaObject>) -> SchemaObject {
    let mut joined = SchemaObject::new();
    let required: Vec<String> = match objects.split_first() {
        Some((first, rest)) => names_required(first)
            .into_iter()
            .filter(|name| rest.iter().all(|o| names_required(o).contains(name)))
            .collect(),
        None => return joined,
    };
    let closed = objects
        .iter()
        .all(|o| o.get("additionalProperties") == Some(&json!(false)));
    let mut properties: Map<String, Value> = Map::new();
    for mut object in objects {
        if let Some(Value::Object(own)) = object.shift_remove("properties") {
            for (name, schema) in own {
                match properties.get_mut(&name) {
                    Some(existing) => add_variant(existing, schema),
                    None => {
                        properties.insert(name, schema);
                    }
                }
            }
        }
    }
    joined.insert("properties".to_owned(), Value::Object(properties));
    if !required.is_empty() {
        joined.insert("required".to_owned(), json!(required));
    }
    if closed {
        joined.insert("additionalProperties".to_owned(), json!(false));
    }
    joined
}

/// Extends a property to accept what another object's property with the same name accepts.
fn add_variant(existing: &mut Value, other: Value) {
    if *existing == other {
        return;
    }
    if let (Some(ours), Some(theirs)) = (values(existing), values(&other)) {
        // Tags such as `{"const": "circle"}` become one enum.
        let mut all = ours;
        for value in theirs {
            if !all.contains(&value) {
                all.push(value);
            }
        }
        if let Value::Object(node) = existing {
            node.shift_remove("const");
            node.insert("enum".to_owned(), Value::Array(all));
        }
        return;
    }
    match existing {
        Value::Object(node) if node.len() == 1 && node.contains_key("anyOf") => {
            if let Some(Value::Array(variants)) = node.get_mut("anyOf")
                && !variants.contains(&other)
                && variants.len() < ALTERNATIVES_MAX
            {
                variants.push(other);
            }
        }
        _ => {
            let first = std::mem::take(existing);
            *existing = json!({ "anyOf": [first, other] });
        }
    }
}

/// The values of a schema that only lists values.
fn values(schema: &Value) -> Option<Vec<Value>> {
    let node = schema.as_object()?;
    let only_values = node
        .keys()
        .all(|k| k == "const" || k == "enum" || k == "type" || ANNOTATIONS.contains(&k.as_str()));
    if !only_values || types_of(node).len() > 1 {
        return None;
    }
    match (node.get("const"), node.get("enum")) {
        (Some(value), None) => Some(vec![value.clone()]),
        (None, Some(Value::Array(values))) => Some(values.clone()),
        _ => None,
    }
}
