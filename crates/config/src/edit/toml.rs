//! Edits TOML, on a document that preserves comments.

use serde_json::Value;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike};

use super::plan::Step;

/// Returns the edited text, or `None` if the file's form does not permit the change.
pub(super) fn apply(text: &str, step: &Step) -> Option<String> {
    let mut document: DocumentMut = text.parse().ok()?;
    let is_new = document.as_table().is_empty() && text.trim().is_empty();
    let location = step.location();
    if let Step::Entry { value, .. } = step {
        let table = document
            .entry(&location.root)
            .or_insert_with(|| Item::Table(Table::new()))
            .as_table_like_mut()?;
        match value {
            Some(value) => assign(table, &location.key, value)?,
            None => drop(table.remove(&location.key)),
        }
        return Some(document.to_string());
    }
    let implicit = || {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    };
    let is_inline = document
        .get(&location.root)
        .is_some_and(Item::is_inline_table);
    let servers = document
        .entry(&location.root)
        .or_insert_with(implicit)
        .as_table_like_mut()?;
    match step {
        Step::Put { fields, .. } => match servers.get_mut(&location.key) {
            Some(existing) => put(existing.as_table_like_mut()?, fields)?,
            None if is_inline => {
                let mut table = InlineTable::new();
                put(&mut table, fields)?;
                servers.insert(&location.key, Item::Value(table.into()));
            }
            None => {
                let mut table = Table::new();
                put(&mut table, fields)?;
                table.decor_mut().set_prefix(if is_new { "" } else { "\n" });
                servers.insert(&location.key, Item::Table(table));
            }
        },
        Step::Remove { .. } => drop(servers.remove(&location.key)?),
        Step::Set { path, value, .. } => {
            let (last, parents) = path.split_last()?;
            let mut table = servers.get_mut(&location.key)?.as_table_like_mut()?;
            for key in parents {
                if table.get(key).is_none() {
                    table.insert(key, Item::Value(InlineTable::new().into()));
                }
                table = table.get_mut(key)?.as_table_like_mut()?;
            }
            match value {
                Some(value) => assign(table, last, value)?,
                None => drop(table.remove(last)),
            }
        }
        Step::Entry { .. } => return None,
    }
    Some(document.to_string())
}

/// Sets exactly these fields. Remaining fields keep their location and comments.
fn put(table: &mut dyn TableLike, fields: &[(String, Value)]) -> Option<()> {
    let keys: Vec<String> = table.iter().map(|(key, _)| key.to_owned()).collect();
    for key in keys
        .iter()
        .filter(|key| !fields.iter().any(|(field, _)| field == *key))
    {
        table.remove(key);
    }
    for (key, value) in fields {
        assign(table, key, value)?;
    }
    Some(())
}

/// Sets a value. An existing value keeps the comment on its line.
fn assign(table: &mut dyn TableLike, key: &str, value: &Value) -> Option<()> {
    let mut new = toml_value(value)?;
    match table.get_mut(key) {
        Some(Item::Value(old)) => {
            *new.decor_mut() = old.decor().clone();
            *old = new;
        }
        Some(item) => *item = Item::Value(new),
        None => drop(table.insert(key, Item::Value(new))),
    }
    Some(())
}

fn toml_value(value: &Value) -> Option<toml_edit::Value> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(value) => (*value).into(),
        Value::Number(number) => match number.as_i64() {
            Some(integer) => integer.into(),
            None => number.as_f64()?.into(),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(items) => items
            .iter()
            .map(toml_value)
            .collect::<Option<Array>>()?
            .into(),
        Value::Object(map) => {
            let mut table = InlineTable::new();
            for (key, value) in map {
                table.insert(key, toml_value(value)?);
            }
            table.into()
        }
    })
}
