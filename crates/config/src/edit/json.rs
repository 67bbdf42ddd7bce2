//! Edits JSON with comments, on its concrete syntax tree.

use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use serde_json::Value;

use super::plan::Step;
use crate::jsonc::options;

/// Returns the edited text, or `None` if the file's form does not permit the change.
pub(super) fn apply(text: &str, step: &Step) -> Option<String> {
    let root = CstRootNode::parse(text, &options()).ok()?;
    if root.value().is_none() {
        root.set_value(CstInputValue::Object(Vec::new()));
    }
    let top = root.object_value()?;
    let location = step.location();
    let servers = top.object_value_or_create(&location.root)?;
    match step {
        Step::Put { fields, .. } => {
            let input = || {
                CstInputValue::Object(fields.iter().map(|(k, v)| (k.clone(), input(v))).collect())
            };
            match servers.get(&location.key) {
                Some(existing) => put(&existing.object_value()?, fields),
                None => drop(servers.append(&location.key, input())),
            }
        }
        Step::Remove { .. } => servers.get(&location.key)?.remove(),
        Step::Set { path, value, .. } => {
            let (last, parents) = path.split_last()?;
            let mut object = servers.object_value(&location.key)?;
            for key in parents {
                object = object.object_value_or_create(key)?;
            }
            match (object.get(last), value) {
                (Some(existing), Some(value)) => existing.set_value(input(value)),
                (None, Some(value)) => drop(object.append(last, input(value))),
                (Some(existing), None) => existing.remove(),
                (None, None) => {}
            }
        }
        Step::Entry { value, .. } => match (servers.get(&location.key), value) {
            (Some(existing), Some(value)) => existing.set_value(input(value)),
            (None, Some(value)) => drop(servers.append(&location.key, input(value))),
            (Some(existing), None) => existing.remove(),
            (None, None) => {}
        },
    }
    let mut text = root.to_string();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Some(text)
}

/// Sets exactly these fields. Remaining fields keep their location and comments.
fn put(object: &CstObject, fields: &[(String, Value)]) {
    for property in object.properties() {
        let name = property.decoded_name();
        if !fields.iter().any(|(key, _)| Some(key) == name.as_ref()) {
            property.remove();
        }
    }
    for (key, value) in fields {
        match object.get(key) {
            Some(existing) => existing.set_value(input(value)),
            None => drop(object.append(key, input(value))),
        }
    }
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(map) => {
            CstInputValue::Object(map.iter().map(|(k, v)| (k.clone(), input(v))).collect())
        }
    }
}
