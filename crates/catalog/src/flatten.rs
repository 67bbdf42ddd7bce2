//! Flattens a JSON schema into one map: follows references, merges `allOf`, chooses one alternative.

use serde_json::{Map, Value};

/// Nested references and compositions that are followed. This also ends cycles.
const MAX_DEPTH: usize = 12;

/// Flattens a schema: follows references, merges `allOf`, and takes alternative number `branch` (modulo their number)
/// of `anyOf` and `oneOf`. Alternatives that allow only `null` are not counted.
pub fn flatten_schema(root: &Value, schema: &Value, branch: usize) -> Map<String, Value> {
    let mut flat = Map::new();
    merge(root, schema, branch, MAX_DEPTH, &mut flat);
    flat
}

fn merge(root: &Value, schema: &Value, branch: usize, depth: usize, flat: &mut Map<String, Value>) {
    let (Some(map), Some(depth)) = (schema.as_object(), depth.checked_sub(1)) else {
        return;
    };
    for (keyword, value) in map {
        match (keyword.as_str(), value) {
            ("$ref", Value::String(written)) => {
                let target = written
                    .strip_prefix('#')
                    .and_then(|pointer| root.pointer(pointer));
                target
                    .into_iter()
                    .for_each(|target| merge(root, target, branch, depth, flat));
            }
            ("allOf", Value::Array(parts)) => {
                parts
                    .iter()
                    .for_each(|part| merge(root, part, branch, depth, flat));
            }
            ("anyOf" | "oneOf", Value::Array(choices)) => {
                let real: Vec<&Value> = choices.iter().filter(|choice| !is_null(choice)).collect();
                let chosen = branch.checked_rem(real.len()).and_then(|at| real.get(at));
                chosen
                    .into_iter()
                    .for_each(|choice| merge(root, choice, branch, depth, flat));
            }
            _ => add(flat, keyword, value),
        }
    }
}

fn add(flat: &mut Map<String, Value>, keyword: &str, value: &Value) {
    match (keyword, flat.get_mut(keyword), value) {
        (
            "properties" | "$defs" | "definitions",
            Some(Value::Object(held)),
            Value::Object(more),
        ) => {
            held.extend(
                more.iter()
                    .map(|(name, schema)| (name.clone(), schema.clone())),
            );
        }
        ("required", Some(Value::Array(held)), Value::Array(more)) => {
            let new: Vec<Value> = more
                .iter()
                .filter(|name| !held.contains(name))
                .cloned()
                .collect();
            held.extend(new);
        }
        // A referenced or composed part must not replace what the schema itself says.
        (_, Some(_), _) if keyword != "type" && keyword != "description" => {}
        _ => {
            flat.insert(keyword.to_owned(), value.clone());
        }
    }
}

fn is_null(schema: &Value) -> bool {
    schema.get("type") == Some(&Value::from("null")) || schema.get("const") == Some(&Value::Null)
}
