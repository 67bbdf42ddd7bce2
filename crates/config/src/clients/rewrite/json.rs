//! Adds and removes servers in JSON with comments.

use serde_json::Value as Json;

use super::brackets::{Brackets, Position, line_indent, spliced};
use super::style::{Style, eol};
use super::{Taken, position};
use crate::clients::text::Container;
use crate::node::{Node, Value};
use crate::text::SourceText;

pub(super) fn insert(
    source: &SourceText,
    at: &Container,
    name: &str,
    entry: &Json,
) -> Option<String> {
    add(source, at, Position::End, |style, indent| {
        property(style, indent, name, entry)
    })
}

pub(super) fn put_back(source: &SourceText, at: &Container, taken: &Taken) -> Option<String> {
    let position = position(source, at, taken);
    add(source, at, position, |_, _| taken.text.clone())
}

/// Adds a property to the container. Missing objects are created.
fn add(
    source: &SourceText,
    at: &Container,
    position: Position,
    item: impl Fn(&Style, Option<&str>) -> String,
) -> Option<String> {
    let text = &source.text;
    let style = Style::of(text);
    let tree = source.tree()?;
    let mut node = tree;
    let mut missing = at.keys;
    while let Some((key, rest)) = missing.split_first() {
        let Some(entry) = node.get(key).filter(|entry| is_object(&entry.node)) else {
            break;
        };
        (node, missing) = (&entry.node, rest);
    }
    if !is_object(node) {
        // The file has no value yet; a value of another type is refused before.
        let start = match text.is_empty() || text.ends_with('\n') {
            true => "",
            false => eol(text),
        };
        let style = Style {
            is_one_line: false,
            ..style
        };
        let value = nested(&style, missing, Some(""), &item);
        return Some(format!("{text}{start}{value}{}", style.eol));
    }
    let Some((key, inner)) = missing.split_first() else {
        return brackets(text, node)?.insert(&style, position, |indent| item(&style, indent));
    };
    if let Some(null) = node.get(key) {
        let outer = line_indent(text, null.node.start);
        let indent = (!style.is_one_line).then_some(outer);
        let value = nested(&style, inner, indent, &item);
        return Some(spliced(text, &[(null.node.start, null.node.end, value)]));
    }
    brackets(text, node)?.insert(&style, Position::End, |indent| {
        let value = nested(&style, inner, indent, &item);
        format!("\"{key}\":{}{value}", style.space)
    })
}

pub(super) fn remove(source: &SourceText, at: &Container, name: &str) -> Option<String> {
    let node = at.node(source)?;
    let index = node.entries().iter().position(|entry| entry.key == name)?;
    brackets(&source.text, node)?.remove(index)
}

/// Removes the container itself, which is the `depth`-th of its keys.
pub(super) fn remove_container(
    source: &SourceText,
    at: &Container,
    depth: usize,
) -> Option<String> {
    let (key, parents) = at.keys.get(..=depth)?.split_last()?;
    let parent = Container {
        keys: parents,
        is_list: false,
    };
    remove(source, &parent, key)
}

fn is_object(node: &Node) -> bool {
    matches!(node.value, Value::Map(_))
}

fn brackets<'t>(text: &'t str, node: &Node) -> Option<Brackets<'t>> {
    Some(Brackets {
        text,
        open: node.start,
        close: node.end.checked_sub(1)?,
        items: node
            .entries()
            .iter()
            .map(|entry| (entry.key_start, entry.node.end))
            .collect(),
        line_comment: "//",
    })
}

/// An object with nested objects for the keys, the innermost of which contains the item.
fn nested(
    style: &Style,
    keys: &[&str],
    indent: Option<&str>,
    item: &impl Fn(&Style, Option<&str>) -> String,
) -> String {
    let inner = indent.map(|indent| format!("{indent}{}", style.unit));
    let content = match keys.split_first() {
        Some((key, rest)) => {
            let value = nested(style, rest, inner.as_deref(), item);
            format!("\"{key}\":{}{value}", style.space)
        }
        None => item(style, inner.as_deref()),
    };
    match (indent, inner) {
        (Some(indent), Some(inner)) => {
            let eol = style.eol;
            format!("{{{eol}{inner}{content}{eol}{indent}}}")
        }
        _ => format!("{{{content}}}"),
    }
}

fn property(style: &Style, indent: Option<&str>, name: &str, value: &Json) -> String {
    let name = Json::from(name);
    let space = style.space;
    format!("{name}:{space}{}", formatted(style, indent, value))
}

/// Formats a value: objects on several lines if there is an indentation, everything else on one.
fn formatted(style: &Style, indent: Option<&str>, value: &Json) -> String {
    let Style { eol, space, .. } = style;
    match (value, indent) {
        (Json::Object(map), Some(indent)) if !map.is_empty() => {
            let inner = format!("{indent}{}", style.unit);
            let fields = map
                .iter()
                .map(|(key, value)| property(style, Some(&inner), key, value));
            let fields: Vec<String> = fields.collect();
            let fields = fields.join(&format!(",{eol}{inner}"));
            format!("{{{eol}{inner}{fields}{eol}{indent}}}")
        }
        (Json::Object(map), _) => {
            let fields = map
                .iter()
                .map(|(key, value)| property(style, None, key, value));
            let fields: Vec<String> = fields.collect();
            format!("{{{}}}", fields.join(&format!(",{space}")))
        }
        (Json::Array(items), _) => {
            let items: Vec<String> = items
                .iter()
                .map(|item| formatted(style, None, item))
                .collect();
            format!("[{}]", items.join(&format!(",{space}")))
        }
        _ => value.to_string(),
    }
}
