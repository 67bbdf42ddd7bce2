//! Adds and removes servers in TOML: as sections, or in brackets where the file has them in brackets.

use serde_json::Value as Json;

use super::brackets::{Brackets, Position, line_start, rest_of_line, spliced};
use super::style::{Style, eol};
use super::toml_layout::{Section, sections};
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
    let fields = entry.as_object()?;
    if let Some(brackets) = brackets(source, at) {
        let item = match at.is_list {
            true => value(entry)?,
            false => format!("{} = {}", key(name), value(entry)?),
        };
        return brackets.insert(&one_line(source), Position::End, |_| item.clone());
    }
    let eol = eol(&source.text);
    let keys = at.keys.iter().copied();
    let (path, header) = match at.is_list {
        true => (keys.map(key).collect::<Vec<_>>(), ("[[", "]]")),
        false => (keys.chain([name]).map(key).collect(), ("[", "]")),
    };
    let mut block = format!("{}{}{}", header.0, path.join("."), header.1);
    for (field, content) in fields {
        block.push_str(&format!("{eol}{} = {}", key(field), value(content)?));
    }
    Some(appended(&source.text, &block))
}

/// Adds a block at the end, after an empty line. The last line keeps or lacks its line break as before.
fn appended(text: &str, block: &str) -> String {
    let eol = eol(text);
    match text {
        "" => format!("{block}{eol}"),
        _ if text.ends_with('\n') => format!("{text}{eol}{block}{eol}"),
        _ => format!("{text}{eol}{eol}{block}"),
    }
}

pub(super) fn put_back(source: &SourceText, at: &Container, taken: &Taken) -> Option<String> {
    let piece = taken.text.trim();
    if let Some(brackets) = brackets(source, at) {
        let position = position(source, at, taken);
        return brackets.insert(&one_line(source), position, |_| piece.to_owned());
    }
    // A section is valid at the end of the file; a statement only where it was.
    piece
        .starts_with('[')
        .then(|| appended(&source.text, piece))
}

/// Removes the server with this name, which is the `index`-th of a list. Returns its text as well.
pub(super) fn remove(
    source: &SourceText,
    at: &Container,
    name: &str,
    index: usize,
) -> Option<(String, String)> {
    let text = &source.text;
    if let Some(brackets) = brackets(source, at) {
        let index = match at.is_list {
            // Items without a name are not counted as servers.
            true => named_index(at.node(source)?, index)?,
            false => at
                .node(source)?
                .entries()
                .iter()
                .position(|entry| entry.key == name)?,
        };
        let (start, end) = *brackets.items.get(index)?;
        let piece = text.get(start..end)?.to_owned();
        return Some((brackets.remove(index)?, piece));
    }
    let sections = sections(text);
    let ranges = match at.is_list {
        true => list_ranges(&sections, at, named_index(at.node(source)?, index)?),
        false => table_ranges(text, &sections, at, name),
    };
    let pieces = ranges.iter().map(|(start, end)| text.get(*start..*end));
    let piece: String = pieces.collect::<Option<_>>()?;
    let changes = ranges.iter().map(|(start, end)| {
        (
            without_space_before(text, *start, *end),
            *end,
            String::new(),
        )
    });
    Some((spliced(text, &changes.collect::<Vec<_>>()), piece))
}

/// The lines that define a server in a table of servers.
fn table_ranges(
    text: &str,
    sections: &[Section],
    at: &Container,
    name: &str,
) -> Vec<(usize, usize)> {
    let path: Vec<&str> = at.keys.iter().copied().chain([name]).collect();
    let belongs = |whole: &[&str]| whole.len() >= path.len() && whole.starts_with(&path);
    let mut ranges = Vec::new();
    for section in sections {
        let header: Vec<&str> = section.header.iter().map(String::as_str).collect();
        if belongs(&header) {
            ranges.push((section.start, section.end));
            continue;
        }
        for statement in &section.statements {
            let keys = statement.path.iter().map(String::as_str);
            let whole: Vec<&str> = header.iter().copied().chain(keys).collect();
            if belongs(&whole) {
                let rest = rest_of_line(text, statement.end).len();
                let end = text.len().min(statement.end + rest + 1);
                ranges.push((line_start(text, statement.start), end));
            }
        }
    }
    ranges
}

/// The sections of one item of an array of tables.
fn list_ranges(sections: &[Section], at: &Container, index: usize) -> Vec<(usize, usize)> {
    let mut item = None;
    let mut ranges = Vec::new();
    for section in sections {
        let header: Vec<&str> = section.header.iter().map(String::as_str).collect();
        if !header.starts_with(at.keys) {
            continue;
        }
        if section.is_array && header.len() == at.keys.len() {
            item = Some(item.map_or(0, |item: usize| item + 1));
        }
        if item == Some(index) {
            ranges.push((section.start, section.end));
        }
    }
    ranges
}

/// Extends a section to the empty line before it. If the section ends without a line break, the line before it does
/// too.
fn without_space_before(text: &str, start: usize, end: usize) -> usize {
    let before = text.get(..start).unwrap_or_default();
    let is_section = text.get(start..).is_some_and(|rest| rest.starts_with('['));
    let strip = |text: &str| {
        let text = text.strip_suffix('\n')?;
        Some(text.strip_suffix('\r').unwrap_or(text).len())
    };
    let mut at = before.len();
    if is_section
        && let Some(shorter) = strip(before)
        && let Some(line) = before.get(..shorter)
        && (line.is_empty() || line.ends_with('\n'))
    {
        at = shorter;
    }
    let ends_with_break = text.get(..end).is_some_and(|text| text.ends_with('\n'));
    if !ends_with_break && let Some(shorter) = before.get(..at).and_then(strip) {
        at = shorter;
    }
    at
}

/// The position in a list of the `index`-th item that has a name.
fn named_index(list: &Node, index: usize) -> Option<usize> {
    let Value::List(items) = &list.value else {
        return None;
    };
    let named = items.iter().enumerate().filter(|(_, item)| {
        let name = item.get("name");
        name.is_some_and(|name| name.node.text().is_some())
    });
    named.map(|(at, _)| at).nth(index)
}

/// The brackets of the container, if it is written in brackets.
fn brackets<'s>(source: &'s SourceText, at: &Container) -> Option<Brackets<'s>> {
    let text = &source.text;
    let sections = sections(text);
    let found = sections.iter().find_map(|section| {
        let mut statements = section.statements.iter();
        statements.find(|statement| {
            let keys = section.header.iter().chain(&statement.path);
            keys.eq(at.keys.iter())
        })
    })?;
    let node = at.node(source)?;
    let items = match &node.value {
        Value::Map(entries) => entries
            .iter()
            .map(|entry| (entry.key_start, entry.node.end))
            .collect(),
        Value::List(items) => items.iter().map(|item| (item.start, item.end)).collect(),
        _ => return None,
    };
    Some(Brackets {
        text,
        open: found.value_start,
        close: found.end.checked_sub(1)?,
        items,
        line_comment: "#",
    })
}

/// New items in brackets are on one line, as inline tables must be.
fn one_line(source: &SourceText) -> Style {
    Style {
        is_one_line: true,
        space: " ",
        ..Style::of(&source.text)
    }
}

fn key(key: &str) -> String {
    let is_bare = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    match !key.is_empty() && key.bytes().all(is_bare) {
        true => key.to_owned(),
        false => Json::from(key).to_string(),
    }
}

/// Formats a value. A JSON string is a TOML string, except for the character DEL.
fn value(json: &Json) -> Option<String> {
    Some(match json {
        Json::Null => return None,
        Json::String(text) => Json::from(text.as_str())
            .to_string()
            .replace('\u{7f}', "\\u007F"),
        Json::Array(items) => {
            let items: Option<Vec<String>> = items.iter().map(value).collect();
            format!("[{}]", items?.join(", "))
        }
        Json::Object(map) if map.is_empty() => "{}".to_owned(),
        Json::Object(map) => {
            let fields = map
                .iter()
                .map(|(name, field)| Some(format!("{} = {}", key(name), value(field)?)));
            let fields: Option<Vec<String>> = fields.collect();
            format!("{{ {} }}", fields?.join(", "))
        }
        _ => json.to_string(),
    })
}
