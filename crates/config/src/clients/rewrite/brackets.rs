//! Inserts and removes items between brackets: JSON objects, inline tables and arrays of TOML, flow collections of
//! YAML. Everything else keeps its bytes.

use super::style::Style;

/// A collection in brackets, by byte offsets.
#[derive(Debug)]
pub(super) struct Brackets<'t> {
    pub(super) text: &'t str,
    /// Offset of the opening bracket.
    pub(super) open: usize,
    /// Offset of the closing bracket.
    pub(super) close: usize,
    /// Start and end of each item, without its comma.
    pub(super) items: Vec<(usize, usize)>,
    /// The start of a comment to the end of the line.
    pub(super) line_comment: &'static str,
}

/// Where to insert an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    Start,
    After(usize),
    End,
}

impl Brackets<'_> {
    /// Inserts an item. `item` formats it for an indentation, or on one line for `None`.
    pub(super) fn insert(
        &self,
        style: &Style,
        position: Position,
        item: impl Fn(Option<&str>) -> String,
    ) -> Option<String> {
        let last = self.items.len().checked_sub(1);
        match (position, last) {
            (_, None) => self.insert_first(style, item),
            (Position::Start, Some(_)) => self.insert_before_all(style, item),
            (Position::After(index), Some(last)) => self.insert_after(style, index.min(last), item),
            (Position::End, Some(last)) => self.insert_after(style, last, item),
        }
    }

    fn insert_first(&self, style: &Style, item: impl Fn(Option<&str>) -> String) -> Option<String> {
        let inside = self.text.get(self.open + 1..self.close)?;
        let content_end = self.open + 1 + inside.trim_end().len();
        if style.is_one_line {
            return Some(self.spliced(&[(content_end, content_end, item(None))]));
        }
        let outer = line_indent(self.text, self.open);
        let indent = format!("{outer}{}", style.unit);
        let mut text = format!("{}{indent}{}", style.eol, item(Some(&indent)));
        if !self.text.get(content_end..self.close)?.contains('\n') {
            text.push_str(style.eol);
            text.push_str(outer);
        }
        Some(self.spliced(&[(content_end, content_end, text)]))
    }

    fn insert_before_all(
        &self,
        style: &Style,
        item: impl Fn(Option<&str>) -> String,
    ) -> Option<String> {
        let (first, _) = *self.items.first()?;
        let (start, text) = match self.indent_of(first) {
            Some(indent) => {
                let item = item(Some(indent));
                (first, format!("{item},{}{indent}", style.eol))
            }
            None => (first, format!("{},{}", item(None), style.space)),
        };
        Some(self.spliced(&[(start, start, text)]))
    }

    fn insert_after(
        &self,
        style: &Style,
        index: usize,
        item: impl Fn(Option<&str>) -> String,
    ) -> Option<String> {
        let (start, end) = *self.items.get(index)?;
        let comma = self.comma_after(end);
        let separated = comma.map_or(end, |comma| comma + 1);
        // An item keeps the comma that was after its predecessor, so that removing it gives the same text again.
        let tail = if comma.is_some() { "," } else { "" };
        let first = self.items.first().map_or(start, |(start, _)| *start);
        let indent = self.indent_of(start).or(self.indent_of(first));
        let (point, text) = match indent {
            Some(indent) => {
                let item = item(Some(indent));
                let text = format!("{}{indent}{item}{tail}", style.eol);
                (self.end_of_line_trivia(separated), text)
            }
            None => (separated, format!("{}{}{tail}", style.space, item(None))),
        };
        let missing = if comma.is_none() { "," } else { "" };
        Some(self.spliced(&[(end, end, missing.to_owned()), (point, point, text)]))
    }

    /// Removes an item with its comma.
    pub(super) fn remove(&self, index: usize) -> Option<String> {
        let (start, end) = *self.items.get(index)?;
        let own_comma = self.comma_after(end);
        let end = own_comma.map_or(end, |comma| comma + 1);
        let is_last = index + 1 == self.items.len();
        let previous = index.checked_sub(1).and_then(|index| self.items.get(index));
        if self.items.len() == 1 {
            let (before, after) = (
                self.text.get(self.open + 1..start)?,
                self.text.get(end..self.close)?,
            );
            let is_empty = before.trim().is_empty() && after.trim().is_empty();
            let (start, end) = match is_empty {
                true => (self.open + 1, self.close),
                false => self.whole_lines(start, end),
            };
            return Some(self.spliced(&[(start, end, String::new())]));
        }
        if !is_last {
            let (start, end) = self.whole_lines(start, end);
            return Some(self.spliced(&[(start, end, String::new())]));
        }
        let mut removed = Vec::new();
        if let (None, Some((_, previous_end))) = (own_comma, previous) {
            let comma = self.comma_after(*previous_end)?;
            removed.push((comma, comma + 1, String::new()));
        }
        let ends_line = rest_of_line(self.text, end).trim().is_empty();
        let before = self.text.get(..start)?;
        let start = match ends_line {
            true => before.trim_end().len(),
            false => before.trim_end_matches([' ', '\t']).len(),
        };
        // On one line the space after the previous comma belongs to the item.
        let start = start.max(removed.first().map_or(0, |(_, end, _)| *end));
        removed.push((start, end, String::new()));
        Some(self.spliced(&removed))
    }

    /// Extends a range to whole lines if nothing else is on them, else over the space after it.
    fn whole_lines(&self, start: usize, end: usize) -> (usize, usize) {
        let line = line_start(self.text, start);
        let rest = rest_of_line(self.text, end);
        let before = self.text.get(line..start).unwrap_or_default();
        let ends_with_break = self.text.get(..end + rest.len() + 1).is_some();
        if before.trim().is_empty() && rest.trim().is_empty() && ends_with_break {
            return (line, end + rest.len() + 1);
        }
        let space = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let is_comment = rest.trim_start().starts_with(self.line_comment);
        (start, if is_comment { end } else { end + space })
    }

    /// The indentation of an item that is the first one on its line.
    fn indent_of(&self, start: usize) -> Option<&str> {
        let line = line_start(self.text, start);
        let before = self.text.get(line..start)?;
        (line > self.open && before.trim().is_empty()).then_some(before)
    }

    /// Offset of the comma after an item, if only space and comments are before it.
    fn comma_after(&self, end: usize) -> Option<usize> {
        let at = self.skip_trivia(end, true);
        let is_comma = at < self.close && self.text.get(at..)?.starts_with(',');
        is_comma.then_some(at)
    }

    /// Offset after the comments that follow on the same line, or `at` if something else follows.
    fn end_of_line_trivia(&self, at: usize) -> usize {
        let end = self.skip_trivia(at, false);
        let rest = self.text.get(end..).unwrap_or_default();
        match rest.starts_with(['\n', '\r']) {
            true => end,
            false => at,
        }
    }

    fn skip_trivia(&self, from: usize, crosses_lines: bool) -> usize {
        let mut at = from;
        loop {
            let rest = self.text.get(at..self.close).unwrap_or_default();
            let space = match crosses_lines {
                true => rest.len() - rest.trim_start().len(),
                false => rest.len() - rest.trim_start_matches([' ', '\t']).len(),
            };
            let rest = rest.get(space..).unwrap_or_default();
            let comment = if rest.starts_with(self.line_comment) {
                rest.find(['\n', '\r']).unwrap_or(rest.len())
            } else if self.line_comment == "//" && rest.starts_with("/*") {
                rest.find("*/").map_or(rest.len(), |end| end + 2)
            } else {
                0
            };
            let breaks = rest.get(..comment).is_some_and(|text| text.contains('\n'));
            if comment == 0 || (breaks && !crosses_lines) {
                return at + space;
            }
            at += space + comment;
        }
    }

    fn spliced(&self, changes: &[(usize, usize, String)]) -> String {
        spliced(self.text, changes)
    }
}

/// Replaces ranges of a text, which are in order and do not overlap.
pub(super) fn spliced(text: &str, changes: &[(usize, usize, String)]) -> String {
    let mut new = String::with_capacity(text.len() + 512);
    let mut at = 0;
    for (start, end, replacement) in changes {
        new.push_str(text.get(at..*start).unwrap_or_default());
        new.push_str(replacement);
        at = *end;
    }
    new.push_str(text.get(at..).unwrap_or_default());
    new
}

pub(super) fn line_start(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or_default();
    before.rfind('\n').map_or(0, |at| at + 1)
}

/// The text from an offset to the end of its line, without the line break.
pub(super) fn rest_of_line(text: &str, at: usize) -> &str {
    let rest = text.get(at..).unwrap_or_default();
    rest.split('\n').next().unwrap_or_default()
}

/// The white space at the start of a line.
pub(super) fn line_indent(text: &str, at: usize) -> &str {
    let line = text.get(line_start(text, at)..).unwrap_or_default();
    let end = line.len() - line.trim_start_matches([' ', '\t']).len();
    line.get(..end).unwrap_or_default()
}
