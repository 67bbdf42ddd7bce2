//! The same changes on values, to verify what was done to the text.

use serde_json::{Map, Value};

use crate::clients::text::Container;

/// Adds or replaces a server.
pub(super) fn put(root: &mut Value, at: &Container, name: &str, entry: &Value) {
    let target = container(root, at.keys);
    if at.is_list {
        if !target.is_array() {
            *target = Value::Array(Vec::new());
        }
        if let Some(items) = target.as_array_mut() {
            items.push(entry.clone());
        }
        return;
    }
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    if let Some(map) = target.as_object_mut() {
        map.insert(name.to_owned(), entry.clone());
    }
}

/// Removes a server.
pub(super) fn remove(root: &mut Value, at: &Container, name: &str) {
    match container(root, at.keys) {
        Value::Array(items) => items.retain(|item| item.get("name") != Some(&Value::from(name))),
        Value::Object(map) => drop(map.shift_remove(name)),
        _ => {}
    }
}

/// Removes the table at a path.
pub(super) fn remove_key(root: &mut Value, keys: &[&str]) {
    if let Some((last, parents)) = keys.split_last()
        && let Value::Object(map) = container(root, parents)
    {
        map.shift_remove(*last);
    }
}

/// Removes differences without a meaning: an empty file, empty containers, and the order of the servers in a list.
pub(super) fn normalize(root: &mut Value, at: &Container) {
    if let Value::Array(items) = container(root, at.keys) {
        items.sort_by_key(|item| item.get("name").and_then(Value::as_str).map(str::to_owned));
    }
    for depth in (0..at.keys.len()).rev() {
        let keys = at.keys.get(..=depth).unwrap_or_default();
        let is_empty = match container(root, keys) {
            Value::Null => true,
            Value::Object(map) => map.is_empty(),
            Value::Array(items) => items.is_empty(),
            _ => false,
        };
        if is_empty {
            remove_key(root, keys);
        }
    }
}

/// The value at a path. Missing tables are created.
fn container<'v>(root: &'v mut Value, keys: &[&str]) -> &'v mut Value {
    let mut value = root;
    for key in keys {
        if value.is_null() {
            *value = Value::Object(Map::new());
        }
        // A value of another type was refused before.
        value = match value {
            Value::Object(map) => map.entry((*key).to_owned()).or_insert(Value::Null),
            other => return other,
        };
    }
    if keys.is_empty() && value.is_null() {
        *value = Value::Object(Map::new());
    }
    value
}
