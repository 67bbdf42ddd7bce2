//! Lines that were meant to be messages but are not valid ones: what can still be read from them.
//!
//! A caller whose answer was damaged is told so at once; without this it would wait for its time-out, which says
//! nothing about the cause. Text that never was a message stays noise and fails nobody.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::error::Category;
use serde_json::value::RawValue;

/// The start of an unfinished message that is kept, to see whether the next line goes on with it.
const KEPT_BYTES: usize = 64 * 1024;

const BYTE_ORDER_MARK: char = '\u{feff}';

/// The top-level members that were found before the text broke off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MessageTraces {
    /// The id, if it is one of ours.
    pub(crate) id: Option<u64>,
    has_version: bool,
    has_method: bool,
    has_outcome: bool,
}

impl MessageTraces {
    /// Whether this is what is left of an answer. One member alone may be chance, and noise must fail nobody.
    pub(crate) fn is_answer(self) -> bool {
        let members = [self.id.is_some(), self.has_version, self.has_outcome];
        !self.has_method && members.iter().filter(|is_there| **is_there).count() >= 2
    }
}

/// What a text is that could not be read as a message.
#[derive(Debug)]
pub(crate) enum Diagnosis {
    /// A whole JSON object.
    Whole(MessageTraces),
    /// The start of a JSON object.
    PartialMessage(MessageTraces),
    /// Not JSON from some place on.
    Broken(MessageTraces, serde_json::Error),
}

/// Looks for what a text has of a message.
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
        // An id counts once the next member follows it: garbage may begin with a digit.
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

/// The first object of a line that holds several, and what follows it.
pub(crate) fn split_first_object(text: &str) -> Option<(&str, &str)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    let first = values.next()?.ok()?.get();
    let rest = text.get(values.byte_offset()..)?;
    let rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == BYTE_ORDER_MARK);
    (first.starts_with('{') && rest.starts_with('{')).then_some((first, rest))
}

/// A line without what may stand around a message: white space, and a byte order mark wherever a program opened
/// its output again.
pub(crate) fn trim_bom(text: &str) -> &str {
    text.trim().trim_start_matches(BYTE_ORDER_MARK).trim_start()
}

/// Whether a line is a message whose characters have two or four bytes each (UTF-16, UTF-32).
pub(crate) fn is_wide_encoding(line: &[u8]) -> bool {
    if memchr::memchr(0, line).is_none() {
        return false;
    }
    let narrow: Vec<u8> = line
        .iter()
        .copied()
        .filter(|byte| !matches!(byte, 0 | 0xfe | 0xff))
        .collect();
    // Single NUL bytes in a message of UTF-8 are another fault.
    let is_every_second = narrow.len() <= line.len() / 2 + 2;
    let text = narrow.trim_ascii();
    is_every_second
        && text.starts_with(b"{")
        && memchr::memmem::find(text, b"\"jsonrpc\"").is_some()
}

/// The start of an object that a line ended in the middle of.
#[derive(Debug)]
pub(crate) struct PartialMessage {
    /// `None` for one that is too long to be kept.
    text: Option<String>,
    pub(crate) traces: MessageTraces,
}

/// What the line after an unfinished object makes of it.
#[derive(Debug)]
pub(crate) enum Continuation {
    /// A message was split over lines.
    Split(MessageTraces),
    /// It may be one, but does not look like it yet.
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

    /// Judges by the next line, which is not a message by itself.
    pub(crate) fn next(self, line: &str) -> Continuation {
        let Some(mut text) = self.text else {
            return match self.traces.is_answer() {
                true => Continuation::Split(self.traces),
                false => Continuation::Unrelated,
            };
        };
        // A second start of a message means that the first one was given up.
        if line.starts_with('{') && starts_message(line) {
            return Continuation::Unrelated;
        }
        // White space between tokens means nothing, and inside a string a line end is not allowed anyway.
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
