//! Adds and removes servers in YAML, line by line in block style and between brackets in flow style. The caller
//! verifies the result, so a wrong assumption here leads to an error and never to lost data.

use serde_json::{Map, Value as Json};

use super::brackets::{Brackets, Position, spliced};
use super::style::{Style, eol};
use super::{Taken, position};
use crate::clients::text::Container;
use crate::node::{Entry, Node, Value};
use crate::text::SourceText;

/// Indentation of new lines.
const UNIT: usize = 2;

pub(super) fn insert(
    source: &SourceText,
    at: &Container,
    name: &str,
    entry: &Json,
) -> Option<String> {
    let text = &source.text;
    let fields = entry.as_object()?;
    let flow = || match at.is_list {
        true => flow(entry),
        false => Some(format!("{}: {}", key(name), flow(entry)?)),
    };
    let block = |indent: usize| match at.is_list {
        true => list_item(fields, indent, eol(text)),
        false => table_entry(name, fields, indent, eol(text)),
    };
    let Some(node) = at.node(source) else {
        return create(source, at, block);
    };
    if let Some(brackets) = brackets(text, node) {
        let item = flow()?;
        return brackets.insert(&one_line(text), Position::End, |_| item.clone());
    }
    if node.value == Value::Null {
        if node.end > node.start {
            let (open, close) = if at.is_list { ("[", "]") } else { ("{", "}") };
            let value = format!("{open}{}{close}", flow()?);
            return Some(spliced(text, &[(node.start, node.end, value)]));
        }
        let parent = parent_entry(source, at)?;
        let after = block_lines(source, parent.key_start, &parent.node)?.1;
        let indent = indent_of(source, parent.key_start)? + UNIT;
        return Some(with_lines(text, after, &block(indent)?));
    }
    let (start, last) = blocks(node).pop()?;
    let (_, after) = block_lines(source, start, last)?;
    Some(with_lines(
        text,
        after,
        &block(item_indent(source, at, start)?)?,
    ))
}

/// Adds the container with its first server after the last entry of the file.
fn create(
    source: &SourceText,
    at: &Container,
    block: impl Fn(usize) -> Option<String>,
) -> Option<String> {
    let ([key], Some(tree)) = (at.keys, source.tree()) else {
        return None;
    };
    let text = &source.text;
    let new = format!("{key}:{}{}", eol(text), block(UNIT)?);
    let Some(last) = tree.entries().last() else {
        // In an empty file, or in one that contains only comments.
        return (tree.value == Value::Null).then(|| with_lines(text, text.len(), &new));
    };
    if indent_of(source, last.key_start)? != 0 {
        return None;
    }
    let (_, after) = block_lines(source, last.key_start, &last.node)?;
    Some(with_lines(text, after, &new))
}

/// Removes a server. Returns its text as well.
pub(super) fn remove(
    source: &SourceText,
    at: &Container,
    server: &Entry,
    index: usize,
) -> Option<(String, String)> {
    let text = &source.text;
    let node = at.node(source)?;
    if let Some(brackets) = brackets(text, node) {
        let spans = brackets.items.iter();
        let index = spans
            .map(|(start, _)| *start)
            .position(|start| start == server.key_start)
            .unwrap_or(index);
        let (start, end) = *brackets.items.get(index)?;
        return Some((brackets.remove(index)?, text.get(start..end)?.to_owned()));
    }
    let (start, end) = block_lines(source, server.key_start, &server.node)?;
    let piece = text.get(start..end)?.to_owned();
    Some((without_lines(text, start, end), piece))
}

pub(super) fn put_back(source: &SourceText, at: &Container, taken: &Taken) -> Option<String> {
    let text = &source.text;
    let node = at.node(source)?;
    let position = position(source, at, taken);
    if let Some(brackets) = brackets(text, node) {
        let item = taken.text.trim();
        let is_item = !item.contains('\n') && !item.starts_with('-');
        return is_item
            .then(|| brackets.insert(&one_line(text), position, |_| item.to_owned()))
            .flatten();
    }
    let blocks = blocks(node);
    let (first, _) = *blocks.first()?;
    let indent = item_indent(source, at, first)?;
    let own = taken.text.len() - taken.text.trim_start_matches(' ').len();
    if own != indent || !taken.text.ends_with('\n') {
        return None;
    }
    let after = match position {
        Position::Start => source.line_start(source.line_of(first)),
        Position::End => {
            let (start, last) = *blocks.last()?;
            block_lines(source, start, last)?.1
        }
        Position::After(_) => {
            let servers = at.servers(source);
            let before = servers
                .iter()
                .find(|server| Some(&server.key) == taken.after.as_ref())?;
            block_lines(source, before.key_start, &before.node)?.1
        }
    };
    Some(with_lines(text, after, &taken.text))
}

pub(super) fn remove_container(
    source: &SourceText,
    at: &Container,
    depth: usize,
) -> Option<String> {
    let keys = at.keys.get(..=depth)?;
    let (last, parents) = keys.split_last()?;
    let mut parent = source.tree()?;
    for key in parents {
        parent = &parent.get(key)?.node;
    }
    let entry = parent.get(last)?;
    let (start, end) = block_lines(source, entry.key_start, &entry.node)?;
    Some(without_lines(&source.text, start, end))
}

/// The entry that contains the container.
fn parent_entry<'s>(source: &'s SourceText, at: &Container) -> Option<&'s Entry> {
    let (last, parents) = at.keys.split_last()?;
    let mut node = source.tree()?;
    for key in parents {
        node = &node.get(key)?.node;
    }
    node.get(last)
}

/// The start and the value of each entry or item in block style.
fn blocks(node: &Node) -> Vec<(usize, &Node)> {
    match &node.value {
        Value::Map(entries) => entries
            .iter()
            .map(|entry| (entry.key_start, &entry.node))
            .collect(),
        Value::List(items) => items.iter().map(|item| (item.start, item)).collect(),
        _ => Vec::new(),
    }
}

fn brackets<'t>(text: &'t str, node: &Node) -> Option<Brackets<'t>> {
    let is_flow = text.get(node.start..)?.starts_with(['{', '[']) && node.end > node.start;
    let items = blocks(node).into_iter();
    is_flow.then(|| Brackets {
        text,
        open: node.start,
        close: node.end - 1,
        items: items.map(|(start, node)| (start, node.end)).collect(),
        line_comment: "#",
    })
}

fn one_line(text: &str) -> Style {
    Style {
        is_one_line: true,
        space: " ",
        ..Style::of(text)
    }
}

/// The lines of an entry or item, from the start of its first line to the end of its last one.
fn block_lines(source: &SourceText, start: usize, node: &Node) -> Option<(usize, usize)> {
    indent_of(source, start)?;
    let first = source.line_of(start);
    let last = written_end(node).max(start + 1);
    // An end at the start of a line belongs to the previous line.
    let last = source.line_of(last - 1).max(first);
    let mut end = source.line_start(last + 1);
    // Empty lines after a block scalar may have been counted as part of it.
    while end > source.line_start(first + 1) {
        let line = source.line_start(source.line_of(end - 1));
        if !source.text.get(line..end)?.trim().is_empty() {
            break;
        }
        end = line;
    }
    Some((source.line_start(first), end))
}

/// Offset of the end of the last nested value. A value that is not written has the offset of what follows.
fn written_end(node: &Node) -> usize {
    match &node.value {
        Value::Null if node.end == node.start => 0,
        Value::List(items) => items
            .iter()
            .map(written_end)
            .max()
            .unwrap_or(0)
            .max(node.end),
        Value::Map(entries) => {
            let ends = entries
                .iter()
                .map(|entry| written_end(&entry.node).max(entry.key_start + entry.key.len()));
            ends.max().unwrap_or(0).max(node.end)
        }
        _ => node.end,
    }
}

/// The indentation of a line, if there are only spaces and the dash of an item before an offset.
fn indent_of(source: &SourceText, at: usize) -> Option<usize> {
    let start = source.line_start(source.line_of(at));
    let before = source.text.get(start..at)?;
    let indent = before.len() - before.trim_start_matches(' ').len();
    let rest = before.get(indent..)?;
    let is_item = rest
        .strip_prefix('-')
        .is_some_and(|space| space.bytes().all(|b| b == b' '));
    (rest.is_empty() || is_item).then_some(indent)
}

/// Like [`indent_of`], for an entry or item of the container: an item must start with its dash on this line.
fn item_indent(source: &SourceText, at: &Container, start: usize) -> Option<usize> {
    let line = source.line_start(source.line_of(start));
    let has_dash = source.text.get(line..start)?.contains('-');
    (has_dash == at.is_list).then(|| indent_of(source, start))?
}

fn table_entry(name: &str, fields: &Map<String, Json>, indent: usize, eol: &str) -> Option<String> {
    let mut block = format!("{}{}:{eol}", " ".repeat(indent), key(name));
    for (field, value) in fields {
        let space = " ".repeat(indent + UNIT);
        block.push_str(&format!("{space}{}: {}{eol}", key(field), flow(value)?));
    }
    Some(block)
}

fn list_item(fields: &Map<String, Json>, indent: usize, eol: &str) -> Option<String> {
    let mut block = String::new();
    for (field, value) in fields {
        let lead = if block.is_empty() { "- " } else { "  " };
        let space = " ".repeat(indent);
        block.push_str(&format!(
            "{space}{lead}{}: {}{eol}",
            key(field),
            flow(value)?
        ));
    }
    Some(block)
}

fn key(key: &str) -> String {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    let starts_as_word = key.starts_with(|c: char| c.is_ascii_alphabetic());
    // Words that YAML reads as something else than a string.
    let is_word = !matches!(
        key.to_ascii_lowercase().as_str(),
        "null" | "true" | "false" | "yes" | "no" | "on" | "off" | "y" | "n"
    );
    match starts_as_word && is_word && key.bytes().all(is_plain) {
        true => key.to_owned(),
        false => Json::from(key).to_string(),
    }
}

/// Formats a value as JSON on one line, which is also valid YAML.
fn flow(value: &Json) -> Option<String> {
    Some(match value {
        Json::Array(items) => {
            let items: Option<Vec<String>> = items.iter().map(flow).collect();
            format!("[{}]", items?.join(", "))
        }
        Json::Object(map) => {
            let pair =
                |(name, value): (&String, &Json)| Some(format!("{}: {}", key(name), flow(value)?));
            let pairs: Option<Vec<String>> = map.iter().map(pair).collect();
            format!("{{{}}}", pairs?.join(", "))
        }
        _ => value.to_string(),
    })
}

/// Inserts lines. If the file does not end with a line break, its last line gets one and the new last line none.
fn with_lines(text: &str, at: usize, lines: &str) -> String {
    let (before, after) = text.split_at_checked(at).unwrap_or((text, ""));
    if before.is_empty() || before.ends_with('\n') {
        return format!("{before}{lines}{after}");
    }
    let eol = eol(text);
    let lines = lines.strip_suffix(eol).unwrap_or(lines);
    format!("{before}{eol}{lines}{after}")
}

/// Removes lines. If the last line of the file has no line break, the line before it will have none either.
fn without_lines(text: &str, start: usize, end: usize) -> String {
    let mut start = start;
    let ends_with_break = text.get(..end).is_some_and(|text| text.ends_with('\n'));
    if !ends_with_break {
        let before = text.get(..start).unwrap_or_default();
        let shorter = before.strip_suffix('\n').unwrap_or(before);
        start = shorter.strip_suffix('\r').unwrap_or(shorter).len();
    }
    spliced(text, &[(start, end, String::new())])
}
