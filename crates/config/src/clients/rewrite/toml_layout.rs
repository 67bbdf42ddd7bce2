//! The sections and statements of a TOML file, by byte offsets.

use std::borrow::Cow;

use toml_parser::parser::{Event, EventKind, parse_document};
use toml_parser::{ParseError, Source};

use super::brackets::rest_of_line;

/// A header with the statements below it. The first section has no header.
#[derive(Debug, Default)]
pub(super) struct Section {
    /// The path of the header.
    pub(super) header: Vec<String>,
    /// Whether the header is one of an array of tables.
    pub(super) is_array: bool,
    /// Offset of the header's first bracket.
    pub(super) start: usize,
    /// Offset after the last line of the header and its statements, with its line break.
    pub(super) end: usize,
    pub(super) statements: Vec<Statement>,
}

/// A key with its value.
#[derive(Debug, Default)]
pub(super) struct Statement {
    /// The key, split at its dots.
    pub(super) path: Vec<String>,
    pub(super) start: usize,
    pub(super) value_start: usize,
    /// Offset after the value.
    pub(super) end: usize,
}

/// Returns the sections of a text that was parsed before.
pub(super) fn sections(text: &str) -> Vec<Section> {
    let source = Source::new(text);
    let tokens = source.lex().into_vec();
    let mut events: Vec<Event> = Vec::with_capacity(tokens.len());
    let mut error: Option<ParseError> = None;
    parse_document(&tokens, &mut |event| events.push(event), &mut error);
    let mut builder = Builder {
        source,
        sections: vec![Section::default()],
        depth: 0,
        in_header: false,
        in_value: false,
    };
    for event in &events {
        builder.take(*event);
    }
    for section in &mut builder.sections {
        let rest = rest_of_line(text, section.end);
        section.end = text.len().min(section.end + rest.len() + 1);
    }
    builder.sections
}

struct Builder<'t> {
    source: Source<'t>,
    sections: Vec<Section>,
    /// Number of open brackets of the current value.
    depth: usize,
    in_header: bool,
    in_value: bool,
}

impl Builder<'_> {
    fn take(&mut self, event: Event) -> Option<()> {
        let (start, end) = (event.span().start(), event.span().end());
        match event.kind() {
            EventKind::StdTableOpen | EventKind::ArrayTableOpen => {
                self.in_header = true;
                self.in_value = false;
                self.sections.push(Section {
                    is_array: event.kind() == EventKind::ArrayTableOpen,
                    start,
                    end,
                    ..Section::default()
                });
            }
            EventKind::StdTableClose | EventKind::ArrayTableClose => {
                self.in_header = false;
                self.sections.last_mut()?.end = end;
            }
            EventKind::SimpleKey if self.in_header => {
                let key = self.key(event);
                self.sections.last_mut()?.header.push(key);
            }
            EventKind::SimpleKey if self.depth == 0 => {
                let key = self.key(event);
                let is_new = std::mem::take(&mut self.in_value)
                    || self.statement().is_none_or(|last| last.value_start > 0);
                if is_new {
                    let statement = Statement {
                        start,
                        ..Statement::default()
                    };
                    self.sections.last_mut()?.statements.push(statement);
                }
                self.statement()?.path.push(key);
            }
            EventKind::KeyValSep if self.depth == 0 => self.in_value = true,
            EventKind::ArrayOpen | EventKind::InlineTableOpen => {
                self.value(start, end);
                self.depth += 1;
            }
            EventKind::ArrayClose | EventKind::InlineTableClose => {
                self.depth = self.depth.saturating_sub(1);
                self.value(start, end);
            }
            EventKind::Scalar => self.value(start, end),
            _ => {}
        }
        Some(())
    }

    fn statement(&mut self) -> Option<&mut Statement> {
        self.sections.last_mut()?.statements.last_mut()
    }

    fn value(&mut self, start: usize, end: usize) {
        if let Some(statement) = self.statement() {
            if statement.value_start == 0 {
                statement.value_start = start;
            }
            statement.end = end;
        }
        if let Some(section) = self.sections.last_mut() {
            section.end = end;
        }
    }

    fn key(&self, event: Event) -> String {
        let mut text = Cow::Borrowed("");
        let mut error: Option<ParseError> = None;
        if let Some(raw) = self.source.get(event) {
            raw.decode_key(&mut text, &mut error);
        }
        text.into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_and_statements_have_their_offsets() {
        let text = "a.b = [1, # c\n 2]\n\"x y\" = { z = 1 }\n\n# note\n[t.'u']  # d\nk = 1 # e\n\n[[l]]\nn = \"v\"";
        let shown: Vec<String> = sections(text)
            .iter()
            .map(|section| {
                let statements = section.statements.iter().map(|statement| {
                    let text = &text[statement.value_start..statement.end];
                    format!("{}: {text:?}", statement.path.join("/"))
                });
                let statements: Vec<String> = statements.collect();
                let header = section.header.join("/");
                let block = &text[section.start..section.end];
                format!("{header} {} {statements:?} {block:?}", section.is_array)
            })
            .collect();
        assert_eq!(
            shown,
            [
                r#" false ["a/b: \"[1, # c\\n 2]\"", "x y: \"{ z = 1 }\""] "a.b = [1, # c\n 2]\n\"x y\" = { z = 1 }\n""#,
                r#"t/u false ["k: \"1\""] "[t.'u']  # d\nk = 1 # e\n""#,
                r#"l true ["n: \"\\\"v\\\"\""] "[[l]]\nn = \"v\"""#,
            ]
        );
    }
}
