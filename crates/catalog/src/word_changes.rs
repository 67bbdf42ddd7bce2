//! The difference between two versions of a definition, word by word, for a person who reviews it.

use std::collections::BTreeMap;

use pegboard_model::escape_hidden;
use serde::Serialize;
use serde_json::Value;
use similar::{Algorithm, DiffTag, capture_diff_slices};

/// Words of a text that are compared; a longer text counts as replaced. The comparison is quadratic at worst.
const WORDS_MAX: usize = 4000;
/// Levels of a definition that are compared one by one.
const LEVELS: usize = 16;

/// What happened to a piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// It is in both versions.
    Same,
    /// It is only in the old version.
    Removed,
    /// It is only in the new version.
    Added,
}

/// A piece of text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChangedText {
    /// What happened to it.
    pub change: Change,
    /// The text, with hidden characters escaped.
    pub text: String,
}

/// A field of a definition that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FieldChange {
    /// The path, for example `inputSchema.properties.owner.description`; escaped.
    pub field: String,
    /// The pieces in order. Together they are both versions completely.
    pub parts: Vec<ChangedText>,
}

/// Compares two definitions field by field and word by word. A text that is not JSON is compared as one field.
pub fn word_changes(old: &str, new: &str) -> Vec<FieldChange> {
    let (before, after) = (fields(old), fields(new));
    let mut paths: Vec<&String> = before.keys().chain(after.keys()).collect();
    paths.sort();
    paths.dedup();
    let changed = paths.into_iter().filter_map(|path| {
        let (old, new) = (before.get(path), after.get(path));
        (old != new).then(|| FieldChange {
            field: escape_hidden(path).into_owned(),
            parts: compare(
                old.map_or("", String::as_str),
                new.map_or("", String::as_str),
            ),
        })
    });
    changed.collect()
}

/// The texts of a definition by their paths.
fn fields(definition: &str) -> BTreeMap<String, String> {
    let mut fields = BTreeMap::new();
    match serde_json::from_str::<Value>(definition) {
        Ok(value @ Value::Object(_)) => flatten(&value, String::new(), LEVELS, &mut fields),
        _ => drop(fields.insert("text".to_owned(), definition.to_owned())),
    }
    fields
}

fn flatten(value: &Value, path: String, levels: usize, fields: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(members) if levels > 0 && !members.is_empty() => {
            for (key, value) in members {
                let dot = if path.is_empty() { "" } else { "." };
                flatten(value, format!("{path}{dot}{key}"), levels - 1, fields);
            }
        }
        Value::String(text) => drop(fields.insert(path, text.clone())),
        other => drop(fields.insert(path, other.to_string())),
    }
}

fn compare(old: &str, new: &str) -> Vec<ChangedText> {
    let (before, after) = (words(old), words(new));
    let mut parts = Vec::new();
    let mut push = |change: Change, text: String| {
        if !text.is_empty() {
            let text = escape_hidden(&text).into_owned();
            parts.push(ChangedText { change, text });
        }
    };
    if before.len() > WORDS_MAX || after.len() > WORDS_MAX {
        push(Change::Removed, old.to_owned());
        push(Change::Added, new.to_owned());
        return parts;
    }
    let of = |words: &[&str], range: std::ops::Range<usize>| {
        words.get(range).unwrap_or_default().concat()
    };
    for operation in capture_diff_slices(Algorithm::Patience, &before, &after) {
        let (tag, old, new) = operation.as_tag_tuple();
        if tag == DiffTag::Equal {
            push(Change::Same, of(&before, old));
            continue;
        }
        push(Change::Removed, of(&before, old));
        push(Change::Added, of(&after, new));
    }
    parts
}

/// Words and the white space between them.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_space = first.is_whitespace();
        let end = rest
            .find(|character: char| character.is_whitespace() != is_space)
            .unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        words.push(word);
        rest = after;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_scan_03_a_change_is_shown_word_by_word() {
        let old = r#"{"name":"add","description":"Adds two numbers.","annotations":{"readOnlyHint":true}}"#;
        let new = r#"{"name":"add","description":"Adds three numbers.\u200b"}"#;
        let shown: Vec<String> = word_changes(old, new)
            .into_iter()
            .map(|change| {
                let part = |part: &ChangedText| match part.change {
                    Change::Same => part.text.clone(),
                    Change::Removed => format!("[-{}]", part.text),
                    Change::Added => format!("[+{}]", part.text),
                };
                format!(
                    "{}: {}",
                    change.field,
                    change.parts.iter().map(part).collect::<String>()
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                "annotations.readOnlyHint: [-true]",
                r"description: Adds [-two][+three] [-numbers.][+numbers.\u{200b}]",
            ]
        );
        assert!(word_changes(old, old).is_empty());
    }
}
