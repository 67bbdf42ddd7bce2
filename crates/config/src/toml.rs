//! Parses TOML. Duplicate definitions, which TOML forbids, become duplicate entries, so that they are reported with
//! both lines and affect only the server that contains them.

use std::borrow::Cow;

use pegboard_model::{Limits, UntrustedText};
use toml_parser::decoder::ScalarKind;
use toml_parser::parser::{Event, EventKind, RecursionGuard, ValidateWhitespace, parse_document};
use toml_parser::{Expected, ParseError, Source};

use crate::node::{Node, Value};
use crate::text::SyntaxError;
use crate::toml_table::{Key, Table, TableOrigin};

pub(crate) fn read(text: &str, limits: &Limits) -> Result<Node, SyntaxError> {
    let source = Source::new(text);
    let tokens = source.lex().into_vec();
    let mut events: Vec<Event> = Vec::with_capacity(tokens.len());
    let mut error: Option<ParseError> = None;
    let mut checked = ValidateWhitespace::new(&mut events, source);
    let depth = u32::try_from(limits.json_depth).unwrap_or(u32::MAX);
    parse_document(
        &tokens,
        &mut RecursionGuard::new(&mut checked, depth),
        &mut error,
    );
    drop(tokens);
    if let Some(error) = error.take() {
        return Err(syntax_error(&error));
    }
    let mut reader = Reader {
        source,
        events: events.iter(),
        error: None,
        depth: limits.json_depth,
    };
    let root = reader.document();
    match reader.error {
        Some(error) => Err(error),
        None => Ok(root),
    }
}

fn syntax_error(error: &ParseError) -> SyntaxError {
    let at = error
        .unexpected()
        .or(error.context())
        .map_or(0, |span| span.start());
    let mut message = error.description().to_owned();
    if let Some(expected) = error.expected().filter(|list| !list.is_empty()) {
        let names: Vec<String> = expected.iter().map(expected_name).collect();
        message = format!("{message}, expected {}", names.join(", "));
    }
    SyntaxError::new(at, message)
}

fn expected_name(expected: &Expected) -> String {
    match expected {
        Expected::Literal(text) => format!("`{}`", UntrustedText::new(text)),
        Expected::Description(text) => (*text).to_owned(),
        _ => "something else".to_owned(),
    }
}

struct Reader<'a> {
    source: Source<'a>,
    events: std::slice::Iter<'a, Event>,
    error: Option<SyntaxError>,
    depth: usize,
}

impl Reader<'_> {
    fn document(&mut self) -> Node {
        let mut root = Table::new(0, TableOrigin::Header);
        let mut header: Vec<Key> = Vec::new();
        let mut many = false;
        let mut current = Table::new(0, TableOrigin::Header);
        while self.error.is_none() {
            let Some(event) = self.next() else { break };
            match event.kind() {
                EventKind::StdTableOpen | EventKind::ArrayTableOpen => {
                    let finished = std::mem::replace(
                        &mut current,
                        Table::new(event.span().start(), TableOrigin::Header),
                    );
                    root.attach(&header, many, finished);
                    many = event.kind() == EventKind::ArrayTableOpen;
                    header = self.key();
                }
                EventKind::SimpleKey => {
                    let path = self.key_from(event);
                    let Some(value) = self.value() else { break };
                    current.set(&path, value);
                }
                _ => {}
            }
        }
        root.attach(&header, many, current);
        root.into_node()
    }

    fn next(&mut self) -> Option<Event> {
        self.events.next().copied()
    }

    /// Reads the dotted key of a header, up to its closing bracket.
    fn key(&mut self) -> Vec<Key> {
        while let Some(event) = self.next() {
            if event.kind() == EventKind::SimpleKey {
                return self.key_from(event);
            }
        }
        Vec::new()
    }

    /// Reads the rest of a dotted key, up to the `=` or the closing bracket.
    fn key_from(&mut self, first: Event) -> Vec<Key> {
        let mut path = vec![self.simple_key(first)];
        while let Some(event) = self.next() {
            match event.kind() {
                EventKind::SimpleKey => {
                    let key = self.simple_key(event);
                    path.push(key);
                }
                EventKind::KeySep | EventKind::Whitespace => {}
                _ => break,
            }
        }
        if path.len() > self.depth {
            let at = first.span().start();
            self.error = Some(SyntaxError::too_large(at, "the keys are nested too deeply"));
            path.truncate(1);
        }
        path
    }

    fn simple_key(&mut self, event: Event) -> Key {
        let mut text = Cow::Borrowed("");
        let mut error: Option<ParseError> = None;
        if let Some(raw) = self.source.get(event) {
            raw.decode_key(&mut text, &mut error);
        }
        self.note(error);
        Key {
            text: text.into_owned(),
            start: event.span().start(),
        }
    }

    fn note(&mut self, error: Option<ParseError>) {
        if let (Some(error), None) = (error, &self.error) {
            self.error = Some(syntax_error(&error));
        }
    }

    fn value(&mut self) -> Option<Node> {
        while let Some(event) = self.next() {
            match event.kind() {
                EventKind::Scalar => return Some(self.scalar(event)),
                EventKind::ArrayOpen => return Some(self.array(event.span().start())),
                EventKind::InlineTableOpen => return Some(self.inline_table(event.span().start())),
                EventKind::Whitespace | EventKind::Comment | EventKind::Newline => {}
                _ => return None,
            }
        }
        None
    }

    fn scalar(&mut self, event: Event) -> Node {
        let (start, end) = (event.span().start(), event.span().end());
        let mut text = Cow::Borrowed("");
        let mut error: Option<ParseError> = None;
        let kind = self
            .source
            .get(event)
            .map(|raw| raw.decode_scalar(&mut text, &mut error));
        self.note(error);
        let value = match kind {
            Some(ScalarKind::Boolean(value)) => Value::Bool(value),
            Some(ScalarKind::Integer(radix)) => match i64::from_str_radix(&text, radix.value()) {
                Ok(number) => Value::Integer(number),
                Err(_) => {
                    let message = ParseError::new("the number is too large");
                    self.note(Some(message.with_unexpected(event.span())));
                    Value::Null
                }
            },
            Some(ScalarKind::Float) => text.parse().map_or(Value::Null, Value::Float),
            Some(ScalarKind::String | ScalarKind::DateTime) => Value::Text(text.into_owned()),
            None => Value::Null,
        };
        Node::new(start, end, value)
    }

    fn array(&mut self, start: usize) -> Node {
        let mut items = Vec::new();
        let mut end = start;
        while let Some(event) = self.next() {
            end = event.span().end();
            match event.kind() {
                EventKind::Scalar => items.push(self.scalar(event)),
                EventKind::ArrayOpen => items.push(self.array(event.span().start())),
                EventKind::InlineTableOpen => items.push(self.inline_table(event.span().start())),
                EventKind::ArrayClose => break,
                _ => {}
            }
        }
        Node::new(start, end, Value::List(items))
    }

    fn inline_table(&mut self, start: usize) -> Node {
        let mut table = Table::new(start, TableOrigin::Header);
        let mut end = start;
        while let Some(event) = self.next() {
            end = event.span().end();
            match event.kind() {
                EventKind::SimpleKey => {
                    let path = self.key_from(event);
                    let Some(value) = self.value() else { break };
                    table.set(&path, value);
                }
                EventKind::InlineTableClose => break,
                _ => {}
            }
        }
        let mut node = table.into_node();
        node.end = end;
        node
    }
}
