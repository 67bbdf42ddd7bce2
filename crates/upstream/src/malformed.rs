//! Recovers information from lines that were meant to be messages but are malformed.
//!
//! The caller whose response was malformed gets an error at once, with the cause; otherwise it would run into its
//! timeout. Text that never was a message counts as noise and fails no caller.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::error::Category;
use serde_json::value::RawValue;

/// The length up to which an incomplete message is kept, to see whether the next line continues it.
const KEPT_BYTES: usize = 64 * 1024;

const BYTE_ORDER_MARK: char = '\u{feff}';

/// The top-level members found before the text became invalid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MessageTraces {
    /// The id, if it is one of ours.
    pub(crate) id: Option<u64>,
    has_version: bool,
    has_method: bool,
    has_outcome: bool,
}

impl MessageTraces {
    /// Returns whether these are the remains of a response. A single member may be a coincidence, and noise must not
    /// fail a caller.
    pub(crate) fn is_answer(self) -> bool {
        let members = [self.id.is_some(), self.has_version, self.has_outcome];
        !self.has_method && members.iter().filter(|is_there| **is_there).count() >= 2
    }
}

/// What a text is that could not be parsed as a message.
#[derive(Debug)]
pub(crate) enum Diagnosis {
    /// A complete JSON object.
    Whole(MessageTraces),
    /// The start of a JSON object.
    PartialMessage(MessageTraces),
    /// Invalid JSON from some position on.
    Broken(MessageTraces, serde_json::Error),
}

/// Finds the members of a message in a text.
pub(crate) fn diagnose(text: &str) -> Diagnosis {
    let mut traces = MessageTraces::default();
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let read = TraceVisitor(&mut traces)
        .deserialize(&mut deserializer)
        .and_then(|()| deserializer.end());
    match read {
        Ok(()) => Diagnosis::Whole(traces),
        Err(error) if error.classify() == Category::Eof => Diagnosis::PartialMessage(traces),
        Err(error) => Diagnosis::Broken(traces, error),
    }
}

struct TraceVisitor<'a>(&'a mut MessageTraces);

impl<'de> DeserializeSeed<'de> for TraceVisitor<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for TraceVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        // An id counts only once another member follows: garbage may begin with a digit.
        let mut id = None;
        while let Some(key) = map.next_key::<String>()? {
            self.0.id = id.or(self.0.id);
            match key.as_str() {
                "jsonrpc" => self.0.has_version = true,
                "method" => self.0.has_method = true,
                "result" | "error" => self.0.has_outcome = true,
                "id" => {
                    let raw: &RawValue = map.next_value()?;
                    id = raw.get().parse().ok();
                    continue;
                }
                _ => {}
            }
            map.next_value::<IgnoredAny>()?;
        }
        self.0.id = id.or(self.0.id);
        Ok(())
    }
}

/// Splits a line that holds several objects into the first one and the rest.
pub(crate) fn split_first_object(text: &str) -> Option<(&str, &str)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    let first = values.next()?.ok()?.get();
    let rest = text.get(values.byte_offset()..)?;
    let rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == BYTE_ORDER_MARK);
    (first.starts_with('{') && rest.starts_with('{')).then_some((first, rest))
}

/// Trims white space and byte order marks, which appear wherever a program reopened its output.
pub(crate) fn trim_bom(text: &str) -> &str {
    text.trim().trim_start_matches(BYTE_ORDER_MARK).trim_start()
}

/// Returns whether a line is a message in UTF-16 or UTF-32.
pub(crate) fn is_wide_encoding(line: &[u8]) -> bool {
    if memchr::memchr(0, line).is_none() {
        return false;
    }
    let narrow: Vec<u8> = line
        .iter()
        .copied()
        .filter(|byte| !matches!(byte, 0 | 0xfe | 0xff))
        .collect();
    // Single NUL bytes in UTF-8 are a different fault.
    let is_every_second = narrow.len() <= line.len() / 2 + 2;
    let text = narrow.trim_ascii();
    is_every_second
        && text.starts_with(b"{")
        && memchr::memmem::find(text, b"\"jsonrpc\"").is_some()
}

/// The start of an object whose line ended in the middle.
#[derive(Debug)]
pub(crate) struct PartialMessage {
    /// `None` if it is too long to be kept.
    text: Option<String>,
    pub(crate) traces: MessageTraces,
}

/// How the next line relates to an incomplete object.
#[derive(Debug)]
pub(crate) enum Continuation {
    /// Both lines are parts of one message.
    Split(MessageTraces),
    /// They may be parts of one message, but that is not certain yet.
    More(PartialMessage),
    /// The two lines do not belong together.
    Unrelated,
}

impl PartialMessage {
    pub(crate) fn new(text: &str, traces: MessageTraces) -> Self {
        Self {
            text: (text.len() <= KEPT_BYTES).then(|| text.to_owned()),
            traces,
        }
    }

    /// Classifies the next line, which is not a message by itself.
    pub(crate) fn next(self, line: &str) -> Continuation {
        let Some(mut text) = self.text else {
            return match self.traces.is_answer() {
                true => Continuation::Split(self.traces),
                false => Continuation::Unrelated,
            };
        };
        // A line that starts a new message means that the first one was abandoned.
        if line.starts_with('{') && starts_message(line) {
            return Continuation::Unrelated;
        }
        // White space between tokens is insignificant, and inside a string a line end is not allowed anyway.
        text.push_str(line);
        match diagnose(&text) {
            Diagnosis::Whole(traces) | Diagnosis::PartialMessage(traces) if traces.is_answer() => {
                Continuation::Split(traces)
            }
            Diagnosis::PartialMessage(traces) if text.len() <= KEPT_BYTES => {
                Continuation::More(Self {
                    text: Some(text),
                    traces,
                })
            }
            _ => Continuation::Unrelated,
        }
    }
}

fn starts_message(line: &str) -> bool {
    match diagnose(line) {
        Diagnosis::Whole(traces)
        | Diagnosis::PartialMessage(traces)
        | Diagnosis::Broken(traces, _) => traces.has_version,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_sec_01_the_traces_of_an_answer_are_found() {
        for (text, id, is_answer) in [
            (
                r#"{"jsonrpc":"2.0","id":4,"result":{"x":NaN}}"#,
                Some(4),
                true,
            ),
            (r#"{"jsonrpc":"2.0","result":{"x":NaN},"id":4}"#, None, true),
            (r#"{"id":4,"result":{"text":"cut"#, Some(4), true),
            (
                r#"{"jsonrpc":"2.0","id":4,"method":"x","params":{"#,
                Some(4),
                false,
            ),
            (r#"{"level":"info","id":4}"#, Some(4), false),
            (r#"{"jsonrpc":"2.0","id":"#, None, false),
            ("{\"jsonrpc\":\"2.0\",\"id\":4\u{fffd}", None, false),
            ("{ jsonrpc: '2.0', id: 4 }", None, false),
            ("{broken", None, false),
        ] {
            let (Diagnosis::Whole(traces)
            | Diagnosis::PartialMessage(traces)
            | Diagnosis::Broken(traces, _)) = diagnose(text);
            assert_eq!((traces.id, traces.is_answer()), (id, is_answer), "{text}");
        }
    }

    #[test]
    fn r_sec_01_wide_characters_are_distinguished_from_single_nul_bytes() {
        let message = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
        let little: Vec<u8> = message.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = message.encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert!(is_wide_encoding(&little) && is_wide_encoding(&big));
        assert!(is_wide_encoding(&[b"\xff\xfe", little.as_slice()].concat()));
        assert!(
            is_wide_encoding(&[b"\0", little.as_slice()].concat()),
            "a later line"
        );
        assert!(!is_wide_encoding(message.as_bytes()));
        assert!(!is_wide_encoding(format!("{message}\0").as_bytes()));
        assert!(!is_wide_encoding(b"\0\0\0\0binary\0\0\0\0"));
    }

    #[test]
    fn r_sec_01_several_objects_on_a_line_are_found_one_by_one() {
        assert_eq!(
            split_first_object("{\"a\":\"}{\"} \u{feff}{\"b\":1}"),
            Some((r#"{"a":"}{"}"#, r#"{"b":1}"#))
        );
        assert_eq!(split_first_object(r#"{"a":1}"#), None);
        assert_eq!(split_first_object(r#"{"a":1} text"#), None);
        assert_eq!(split_first_object(r#"1 {"a":1}"#), None);
    }
}
