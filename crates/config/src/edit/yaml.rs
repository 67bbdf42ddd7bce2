//! Edits YAML line by line. Only plain block style is supported. The caller verifies the result, so a wrong
//! assumption here leads to an error and never to lost data.

use serde_json::Value;

use super::check::set_json;
use super::plan::{EntryLocation, Step};
use crate::node::{Entry, Node, Value as NodeValue};
use crate::text::SourceText;

/// Returns the edited text, or `None` if the file's form does not permit the change.
pub(super) fn apply(source: &SourceText, step: &Step) -> Option<String> {
    match step {
        Step::Put { location, fields } => match location.entry(source) {
            Some(entry) => {
                let (start, end) = entry_lines(source, entry)?;
                let block = server_block(&location.key, fields, indent_of(source, entry)?)?;
                Some(spliced(source, start, end, &block))
            }
            None => add(source, location, fields),
        },
        Step::Remove { location } => {
            let (start, end) = entry_lines(source, location.entry(source)?)?;
            Some(spliced(source, start, end, ""))
        }
        Step::Set {
            location,
            path,
            value,
        } => {
            let server = location.entry(source)?;
            set(source, server, path, value.as_ref())
        }
        Step::Entry { location, value } => entry(source, location, value.as_ref()),
    }
}

/// Sets or removes a value of a root table.
fn entry(source: &SourceText, location: &EntryLocation, value: Option<&Value>) -> Option<String> {
    let tree = source.tree()?;
    let table = tree.get(&location.root);
    match (table, value) {
        (Some(table), _) if !table.node.entries().is_empty() => {
            set(source, table, std::slice::from_ref(&location.key), value)
        }
        (_, None) => Some(source.text.clone()),
        (Some(table), Some(value)) if table.node.value == NodeValue::Null => {
            let at = entry_lines(source, table)?.1;
            let line = field_line(&location.key, value, indent_of(source, table)? + 2)?;
            Some(spliced(source, at, at, &line))
        }
        (Some(_), Some(_)) => None,
        (None, Some(value)) => {
            if !tree.is_empty() && source.line_and_column(tree.start).1 != 1 {
                return None;
            }
            let end = source.text.len();
            let block = format!(
                "{}:\n{}",
                location.root,
                field_line(&location.key, value, 2)?
            );
            Some(spliced(source, end, end, &block))
        }
    }
}

fn add(
    source: &SourceText,
    location: &EntryLocation,
    fields: &[(String, Value)],
) -> Option<String> {
    let tree = source.tree()?;
    let Some(root) = tree.get(&location.root) else {
        if !tree.is_empty() && source.line_and_column(tree.start).1 != 1 {
            return None;
        }
        let block = format!(
            "{}:\n{}",
            location.root,
            server_block(&location.key, fields, 2)?
        );
        return Some(spliced(
            source,
            source.text.len(),
            source.text.len(),
            &block,
        ));
    };
    let (at, indent) = match root.node.entries().last() {
        Some(last) => (entry_lines(source, last)?.1, indent_of(source, last)?),
        None if root.node.value == NodeValue::Null => {
            (entry_lines(source, root)?.1, indent_of(source, root)? + 2)
        }
        None => return None,
    };
    Some(spliced(
        source,
        at,
        at,
        &server_block(&location.key, fields, indent)?,
    ))
}

fn set(
    source: &SourceText,
    parent: &Entry,
    path: &[String],
    value: Option<&Value>,
) -> Option<String> {
    let (first, rest) = path.split_first()?;
    match (parent.node.get(first), value) {
        (Some(child), _) if !rest.is_empty() && is_one_line(source, &child.node) => {
            let mut new = child.node.to_json();
            set_json(&mut new, rest, value);
            replace_value(source, child, &new)
        }
        (Some(child), _) if !rest.is_empty() => set(source, child, rest, value),
        (Some(child), Some(value)) => replace_value(source, child, value),
        (Some(child), None) => {
            let (start, end) = entry_lines(source, child)?;
            Some(spliced(source, start, end, ""))
        }
        (None, None) => Some(source.text.clone()),
        (None, Some(value)) => {
            // Missing parents are written as one flow value.
            let value = rest.iter().rev().fold(value.clone(), |inner, key| {
                Value::Object([(key.clone(), inner)].into_iter().collect())
            });
            let last = parent.node.entries().last()?;
            let (_, end) = entry_lines(source, last)?;
            Some(spliced(
                source,
                end,
                end,
                &field_line(first, &value, indent_of(source, last)?)?,
            ))
        }
    }
}

/// Replaces the value of a key. Text after it on the same line is preserved.
fn replace_value(source: &SourceText, entry: &Entry, value: &Value) -> Option<String> {
    if is_one_line(source, &entry.node) {
        let (before, after) = (
            source.text.get(..entry.node.start)?,
            source.text.get(entry.node.end..)?,
        );
        return Some(format!("{before}{}{after}", spaced_json(value)?));
    }
    let (start, end) = entry_lines(source, entry)?;
    let line = field_line(&entry.key, value, indent_of(source, entry)?)?;
    Some(spliced(source, start, end, &line))
}

/// Whether a value is on a single line.
fn is_one_line(source: &SourceText, node: &Node) -> bool {
    let text = source.text.get(node.start..node.end).unwrap_or_default();
    node.value != NodeValue::Null
        && !text.is_empty()
        && !text.contains('\n')
        && !text.starts_with(['|', '>'])
}

/// Returns the lines of an entry in block style, from the start of its key's line to the end of its last line.
fn entry_lines(source: &SourceText, entry: &Entry) -> Option<(usize, usize)> {
    indent_of(source, entry)?;
    let first = source.line_of(entry.key_start);
    let last = entry.node.last_end().max(entry.key_start + 1);
    // An end at the start of a line belongs to the previous line.
    let last = source.line_of(last - 1).max(first);
    let mut end = source.line_start(last + 1);
    // Empty lines after a block scalar may have been counted as part of it.
    while end > source.line_start(first + 1) {
        let line = source.line_of(end - 1);
        let text = source
            .text
            .get(source.line_start(line)..end)
            .unwrap_or_default();
        if !text.trim().is_empty() {
            break;
        }
        end = source.line_start(line);
    }
    Some((source.line_start(first), end))
}

/// Returns a key's indentation, if there are only spaces before it.
fn indent_of(source: &SourceText, entry: &Entry) -> Option<usize> {
    let start = source.line_start(source.line_of(entry.key_start));
    let before = source.text.get(start..entry.key_start)?;
    before.bytes().all(|b| b == b' ').then_some(before.len())
}

fn server_block(key: &str, fields: &[(String, Value)], indent: usize) -> Option<String> {
    let mut block = format!("{}{key}:\n", " ".repeat(indent));
    for (key, value) in fields {
        block.push_str(&field_line(key, value, indent + 2)?);
    }
    Some(block)
}

/// Formats a key with its value as JSON, which is also valid YAML.
fn field_line(key: &str, value: &Value, indent: usize) -> Option<String> {
    let plain = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let key = if plain {
        key.to_owned()
    } else {
        serde_json::to_string(key).ok()?
    };
    let text = spaced_json(value)?;
    Some(format!("{}{key}: {text}\n", " ".repeat(indent)))
}

/// Formats JSON on one line with a space after each comma and colon.
fn spaced_json(value: &Value) -> Option<String> {
    Some(match value {
        Value::Array(items) => {
            let items: Option<Vec<String>> = items.iter().map(spaced_json).collect();
            format!("[{}]", items?.join(", "))
        }
        Value::Object(map) => {
            let pair = |(key, value): (&String, &Value)| {
                Some(format!(
                    "{}: {}",
                    serde_json::to_string(key).ok()?,
                    spaced_json(value)?
                ))
            };
            let pairs: Option<Vec<String>> = map.iter().map(pair).collect();
            format!("{{{}}}", pairs?.join(", "))
        }
        _ => serde_json::to_string(value).ok()?,
    })
}

/// Replaces lines of the text.
fn spliced(source: &SourceText, start: usize, end: usize, lines: &str) -> String {
    let before = source.text.get(..start).unwrap_or_default();
    let after = source.text.get(end..).unwrap_or_default();
    let newline = if before.is_empty() || before.ends_with('\n') || lines.is_empty() {
        ""
    } else {
        "\n"
    };
    format!("{before}{newline}{lines}{after}")
}
