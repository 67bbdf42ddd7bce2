//! Parses YAML. Aliases are copied within a budget, so that a small file cannot expand to a large tree.

use std::collections::HashMap;

use pegboard_model::{Limits, UntrustedText};
use saphyr::Scalar;
use saphyr_parser::{Event, Marker, Parser, Span};

use crate::node::{Entry, Node, Value};
use crate::text::SyntaxError;

/// Cost of one copied node in addition to its text.
const NODE_WEIGHT: u64 = 64;

pub(crate) fn read(text: &str, limits: &Limits) -> Result<Node, SyntaxError> {
    let offsets = Offsets::new(text);
    let mut builder = Builder {
        offsets: &offsets,
        depth: limits.json_depth,
        open: Vec::new(),
        anchors: HashMap::new(),
        copy_budget: limits.config_bytes,
        root: None,
    };
    let mut documents = 0;
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            let info = UntrustedText::new(error.info()).shortened(200).to_string();
            SyntaxError::new(offsets.byte(error.marker()), info)
        })?;
        if matches!(event, Event::DocumentStart(_)) {
            documents += 1;
            if documents > 1 {
                let at = offsets.byte(&span.start);
                return Err(SyntaxError::new(
                    at,
                    "a second document starts here; only one is read",
                ));
            }
        }
        builder.take(event, span)?;
    }
    Ok(builder.root.unwrap_or(Node::new(0, 0, Value::Null)))
}

/// A collection that is being parsed.
struct OpenCollection {
    anchor: usize,
    start: usize,
    filling: PartialCollection,
}

enum PartialCollection {
    List(Vec<Node>),
    Map(Map),
}

#[derive(Default)]
struct Map {
    entries: Vec<Entry>,
    /// Entries of `<<`, for keys that are not written.
    merge_entries: Vec<Entry>,
    /// The key that has no value yet.
    pending_key: Option<(String, usize)>,
}

impl Map {
    fn put(&mut self, entry: Entry) {
        match entry.node.value {
            Value::Map(entries) if entry.key == "<<" => self.merge_entries.extend(entries),
            Value::List(items) if entry.key == "<<" => {
                self.merge_entries
                    .extend(items.iter().flat_map(Node::entries).cloned());
            }
            _ => self.entries.push(entry),
        }
    }

    fn finished(mut self) -> Vec<Entry> {
        for merge_entries in self.merge_entries {
            if !self
                .entries
                .iter()
                .any(|entry| entry.key == merge_entries.key)
            {
                self.entries.push(merge_entries);
            }
        }
        self.entries
    }
}

struct Builder<'a> {
    offsets: &'a Offsets<'a>,
    depth: usize,
    open: Vec<OpenCollection>,
    anchors: HashMap<usize, Node>,
    copy_budget: u64,
    root: Option<Node>,
}

impl Builder<'_> {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), SyntaxError> {
        let start = self.offsets.byte(&span.start);
        let end = self.offsets.byte(&span.end);
        match event {
            Event::SequenceStart(anchor, _) => {
                self.begin(anchor, start, PartialCollection::List(Vec::new()))
            }
            Event::MappingStart(anchor, _) => {
                self.begin(anchor, start, PartialCollection::Map(Map::default()))
            }
            Event::SequenceEnd | Event::MappingEnd => self.finish(end),
            Event::Scalar(text, style, anchor, tag) => {
                let scalar = Scalar::parse_from_cow_and_metadata(text, style, tag.as_ref());
                let value = match scalar {
                    Some(Scalar::Null) => Value::Null,
                    Some(Scalar::Boolean(value)) => Value::Bool(value),
                    Some(Scalar::Integer(value)) => Value::Integer(value),
                    Some(Scalar::FloatingPoint(value)) => Value::Float(value.into()),
                    Some(Scalar::String(value)) => Value::Text(value.into_owned()),
                    None => {
                        return Err(SyntaxError::new(start, "the value does not match its tag"));
                    }
                };
                // If no value is written, the span is that of the next token.
                let written = self.offsets.text.get(start..end).unwrap_or_default();
                let is_written = matches!(written, "~" | "null" | "Null" | "NULL");
                let end = match value {
                    Value::Null if !is_written => start,
                    _ => end,
                };
                self.place(anchor, Node::new(start, end, value))
            }
            Event::Alias(anchor) => {
                let Some(node) = self.anchors.get(&anchor) else {
                    return Err(SyntaxError::new(
                        start,
                        "the alias is inside its own anchor",
                    ));
                };
                let weight = weight(node);
                let Some(left) = self.copy_budget.checked_sub(weight) else {
                    return Err(SyntaxError::too_large(
                        start,
                        "the aliases of this file expand to too much data",
                    ));
                };
                self.copy_budget = left;
                let copy = node.clone();
                if self.open.len() + nesting(&copy) > self.depth {
                    return Err(SyntaxError::too_large(
                        start,
                        "the values are nested too deeply",
                    ));
                }
                self.place(0, copy)
            }
            _ => Ok(()),
        }
    }

    fn begin(
        &mut self,
        anchor: usize,
        start: usize,
        filling: PartialCollection,
    ) -> Result<(), SyntaxError> {
        if self.open.len() >= self.depth {
            return Err(SyntaxError::too_large(
                start,
                "the values are nested too deeply",
            ));
        }
        self.open.push(OpenCollection {
            anchor,
            start,
            filling,
        });
        Ok(())
    }

    fn finish(&mut self, end: usize) -> Result<(), SyntaxError> {
        let Some(open) = self.open.pop() else {
            return Ok(());
        };
        let value = match open.filling {
            PartialCollection::List(items) => Value::List(items),
            PartialCollection::Map(map) => Value::Map(map.finished()),
        };
        // A block ends where the next token starts; only brackets have their own end.
        let in_brackets = self
            .offsets
            .text
            .get(open.start..)
            .is_some_and(|text| text.starts_with(['[', '{']));
        let end = if in_brackets { end } else { open.start };
        self.place(open.anchor, Node::new(open.start, end, value))
    }

    /// Adds a finished node to its parent.
    fn place(&mut self, anchor: usize, node: Node) -> Result<(), SyntaxError> {
        if anchor != 0 {
            let weight = weight(&node);
            let Some(left) = self.copy_budget.checked_sub(weight) else {
                let message = "the anchors of this file contain too much data";
                return Err(SyntaxError::too_large(node.start, message));
            };
            self.copy_budget = left;
            self.anchors.insert(anchor, node.clone());
        }
        let Some(open) = self.open.last_mut() else {
            self.root.get_or_insert(node);
            return Ok(());
        };
        match &mut open.filling {
            PartialCollection::List(items) => items.push(node),
            PartialCollection::Map(map) => match map.pending_key.take() {
                Some((key, key_start)) => map.put(Entry {
                    key,
                    key_start,
                    node,
                }),
                None => map.pending_key = Some((key_text(&node)?, node.start)),
            },
        }
        Ok(())
    }
}

fn key_text(node: &Node) -> Result<String, SyntaxError> {
    match &node.value {
        Value::Text(text) => Ok(text.clone()),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Bool(value) => Ok(value.to_string()),
        Value::Float(number) => Ok(number.to_string()),
        Value::Null => Ok("null".to_owned()),
        Value::List(_) | Value::Map(_) => {
            Err(SyntaxError::new(node.start, "a key must be a string"))
        }
    }
}

fn weight(node: &Node) -> u64 {
    NODE_WEIGHT
        + match &node.value {
            Value::Text(text) => text.len() as u64,
            Value::List(items) => items.iter().map(weight).sum(),
            Value::Map(entries) => entries
                .iter()
                .map(|e| weight(&e.node) + e.key.len() as u64)
                .sum(),
            _ => 0,
        }
}

fn nesting(node: &Node) -> usize {
    match &node.value {
        Value::List(items) => 1 + items.iter().map(nesting).max().unwrap_or(0),
        Value::Map(entries) => 1 + entries.iter().map(|e| nesting(&e.node)).max().unwrap_or(0),
        _ => 0,
    }
}

/// Converts the parser's character offsets to byte offsets.
struct Offsets<'a> {
    text: &'a str,
    /// The byte offset of every `STRIDE`-th character; empty for ASCII text.
    checkpoints: Vec<usize>,
}

const STRIDE: usize = 128;

impl<'a> Offsets<'a> {
    fn new(text: &'a str) -> Self {
        let checkpoints = if text.is_ascii() {
            Vec::new()
        } else {
            text.char_indices()
                .step_by(STRIDE)
                .map(|(at, _)| at)
                .collect()
        };
        Self { text, checkpoints }
    }

    fn byte(&self, marker: &Marker) -> usize {
        let index = marker.index();
        if self.checkpoints.is_empty() {
            return index.min(self.text.len());
        }
        let Some(base) = self.checkpoints.get(index / STRIDE) else {
            return self.text.len();
        };
        let rest = self.text.get(*base..).unwrap_or_default();
        rest.char_indices()
            .nth(index % STRIDE)
            .map_or(self.text.len(), |(at, _)| base + at)
    }
}
