//! Adds and removes servers in a client's file. Only the text of the servers concerned changes; every other byte stays
//! as it is. Each change is verified by parsing the result.

mod brackets;
mod json;
mod style;
mod toml;
mod toml_layout;
mod values;
mod yaml;

use pegboard_model::{Reason, UntrustedText};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use self::brackets::Position;
use super::text::{ClientText, Container};
use crate::node::Value;
use crate::problem::{Problem, shown_path};
use crate::text::{Format, SourceText};

/// A server that was taken out of a client's file.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Taken {
    /// Its name.
    pub(crate) name: String,
    /// Its text in the file.
    pub(crate) text: String,
    /// Its fields.
    pub(crate) value: Json,
    /// The server before it.
    pub(crate) after: Option<String>,
    /// Whether it was an entry for Pegboard, and was taken out before the new entry was added.
    #[serde(default)]
    pub(crate) is_replaced: bool,
}

/// Adds a server at the end of the container, which is created if it does not exist.
pub(crate) fn insert(
    old: &ClientText,
    at: &Container,
    name: &str,
    entry: &Json,
) -> Result<ClientText, Problem> {
    check_container(&old.source, at)?;
    let source = &old.source;
    let text = match source.format {
        Format::Json => json::insert(source, at, name, entry),
        Format::Toml => toml::insert(source, at, name, entry),
        Format::Yaml => yaml::insert(source, at, name, entry),
    };
    let mut expected = old.json();
    values::put(&mut expected, at, name, entry);
    let what = format!("add the server `{name}` under `{}`", at.shown());
    verified(old, at, text, expected, &what)
}

/// Removes a server. Returns it with the changed text.
pub(crate) fn take_out(
    old: &ClientText,
    at: &Container,
    name: &str,
) -> Result<(ClientText, Taken), Problem> {
    let source = &old.source;
    let what = format!("remove `{}` from `{}`", shown(name), at.shown());
    let servers = at.servers(source);
    let index = servers.iter().position(|server| server.key == name);
    let found = index.and_then(|index| servers.get(index));
    let (Some(index), Some(found)) = (index, found) else {
        return Err(cannot_edit(source, &what));
    };
    if servers.iter().filter(|server| server.key == name).count() > 1 {
        let message = format!("`{}` is defined twice under `{}`", shown(name), at.shown());
        return Err(Problem::error(Reason::ConfigDuplicate, message)
            .help("remove one of them by hand first")
            .at(source, found.key_start));
    }
    let after = index.checked_sub(1).and_then(|index| servers.get(index));
    let piece = match source.format {
        Format::Json => json::remove(source, at, name).zip(
            source
                .text
                .get(found.key_start..found.node.end)
                .map(str::to_owned),
        ),
        Format::Toml => toml::remove(source, at, name, index),
        Format::Yaml => yaml::remove(source, at, found, index),
    };
    let (text, piece) = piece.unzip();
    let mut expected = old.json();
    values::remove(&mut expected, at, name);
    let new = verified(old, at, text, expected, &what)?;
    let taken = Taken {
        name: name.to_owned(),
        text: piece.unwrap_or_default(),
        value: found.node.to_json(),
        after: after.map(|server| server.key.clone()),
        is_replaced: false,
    };
    Ok((new, taken))
}

/// Adds a server again that was taken out: where it was, if the server before it still exists.
pub(crate) fn put_back(
    old: &ClientText,
    at: &Container,
    taken: &Taken,
) -> Result<ClientText, Problem> {
    check_container(&old.source, at)?;
    let source = &old.source;
    let mut expected = old.json();
    values::put(&mut expected, at, &taken.name, &taken.value);
    let what = format!(
        "add `{}` to `{}` again, from the back-up",
        shown(&taken.name),
        at.shown()
    );
    let text = match source.format {
        Format::Json => json::put_back(source, at, taken),
        Format::Toml => toml::put_back(source, at, taken),
        Format::Yaml => yaml::put_back(source, at, taken),
    };
    let new = verified(old, at, text, expected, &what);
    // If its text does not fit any more, it is written from its fields.
    new.or_else(|_| insert(old, at, &taken.name, &taken.value))
}

/// Removes the last `created` keys of the container, as far as they are empty.
pub(crate) fn remove_empty_container(
    mut current: ClientText,
    at: &Container,
    created: usize,
) -> Result<ClientText, Problem> {
    for depth in (at.keys.len().saturating_sub(created)..at.keys.len()).rev() {
        let keys = at.keys.get(..=depth).unwrap_or_default();
        let place = Container {
            keys,
            is_list: false,
        };
        let source = &current.source;
        let is_empty = place.node(source).is_some_and(|node| match &node.value {
            Value::Null => true,
            Value::Map(entries) => entries.is_empty(),
            Value::List(items) => items.is_empty(),
            _ => false,
        });
        if !is_empty {
            break;
        }
        let text = match source.format {
            Format::Json => json::remove_container(source, at, depth),
            Format::Yaml => yaml::remove_container(source, at, depth),
            // An empty table has no text, except in brackets, where it stays.
            Format::Toml => break,
        };
        let mut expected = current.json();
        values::remove_key(&mut expected, keys);
        let what = format!("remove the empty `{}`", at.shown());
        current = verified(&current, at, text, expected, &what)?;
    }
    Ok(current)
}

/// Whether two texts have the same values. Whether there are no servers or an empty table of them does not matter.
pub(crate) fn have_same_values(one: &ClientText, other: &ClientText, at: &Container) -> bool {
    let (mut one, mut other) = (one.json(), other.json());
    values::normalize(&mut one, at);
    values::normalize(&mut other, at);
    one == other
}

/// How many of the container's keys do not exist in the file.
pub(crate) fn missing_keys(source: &SourceText, at: &Container) -> usize {
    let existing = (0..at.keys.len()).take_while(|depth| {
        let keys = at.keys.get(..=*depth).unwrap_or_default();
        let place = Container {
            keys,
            is_list: false,
        };
        place.node(source).is_some()
    });
    at.keys.len() - existing.count()
}

/// Refuses a file in which the place of the servers has another type, or is written twice.
pub(crate) fn check_container(source: &SourceText, at: &Container) -> Result<(), Problem> {
    let Some(mut node) = source.tree() else {
        return Ok(());
    };
    let is_value = |value: &Value| !matches!(value, Value::Map(_) | Value::Null);
    if is_value(&node.value) || (node.value == Value::Null && node.end > node.start) {
        let message = format!("the file contains {}, not a table", node.kind());
        return Err(Problem::error(Reason::ConfigInvalid, message)
            .help("move the file away, or make it a table of settings")
            .at(source, node.start));
    }
    for (depth, key) in at.keys.iter().enumerate() {
        let mut found = node.entries().iter().filter(|entry| entry.key == *key);
        let Some(entry) = found.next() else {
            return Ok(());
        };
        if let Some(second) = found.next() {
            let message = format!("`{key}` is written twice in the file");
            return Err(Problem::error(Reason::ConfigDuplicate, message)
                .help("remove one of them by hand first")
                .at(source, second.key_start));
        }
        let wants_list = at.is_list && depth + 1 == at.keys.len();
        let fits = match &entry.node.value {
            Value::Null => true,
            Value::Map(_) => !wants_list,
            Value::List(_) => wants_list,
            _ => false,
        };
        if !fits {
            let wanted = if wants_list { "a list" } else { "a table" };
            let message = format!("`{key}` is {}, not {wanted} of servers", entry.node.kind());
            return Err(Problem::error(Reason::ConfigInvalid, message)
                .help(format!("make `{key}` {wanted} as the client expects"))
                .at(source, entry.key_start));
        }
        node = &entry.node;
    }
    Ok(())
}

/// Parses a changed text and compares its values with what they must be.
fn verified(
    old: &ClientText,
    at: &Container,
    text: Option<String>,
    mut expected: Json,
    what: &str,
) -> Result<ClientText, Problem> {
    let refused = || cannot_edit(&old.source, what);
    let new = old
        .with_text(text.ok_or_else(refused)?)
        .map_err(|_| refused())?;
    let mut found = new.json();
    values::normalize(&mut expected, at);
    values::normalize(&mut found, at);
    match expected == found {
        true => Ok(new),
        false => Err(refused()),
    }
}

fn cannot_edit(source: &SourceText, what: &str) -> Problem {
    let path = shown_path(&source.path);
    let message =
        format!("`{path}` cannot be edited safely because of its form; nothing was written");
    Problem::error(Reason::ConfigInvalid, message)
        .help(format!("open the file and {what}"))
        .in_file(&source.path)
}

fn shown(name: &str) -> String {
    UntrustedText::new(name).shortened(60).to_string()
}

/// Where a server that was taken out belongs.
fn position(source: &SourceText, at: &Container, taken: &Taken) -> Position {
    let servers = at.servers(source);
    match &taken.after {
        None => Position::Start,
        Some(before) => {
            let index = servers.iter().position(|server| server.key == *before);
            index.map_or(Position::End, Position::After)
        }
    }
}
