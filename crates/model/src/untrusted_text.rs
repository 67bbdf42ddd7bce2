//! Untrusted text, and the only way to show it.

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;

use crate::hidden::{Marked, marked};

/// Text from a server, a file or a person. Its `Display` escapes every character that could deceive a reader or
/// a terminal: control characters, bidirectional overrides, and characters that cannot be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UntrustedText<'a> {
    text: &'a str,
    limit: usize,
    keep_lines: bool,
}

impl<'a> UntrustedText<'a> {
    /// Wraps a text; line breaks and tabs are escaped too.
    pub fn new(text: &'a str) -> Self {
        Self {
            text,
            limit: usize::MAX,
            keep_lines: false,
        }
    }

    /// Wraps a text whose line breaks and tabs are kept, for showing in a block of its own.
    pub fn block(text: &'a str) -> Self {
        Self {
            text,
            limit: usize::MAX,
            keep_lines: true,
        }
    }

    /// Shows at most so many characters, with a mark where it was cut.
    pub fn shortened(self, limit: usize) -> Self {
        Self { limit, ..self }
    }
}

impl fmt::Display for UntrustedText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (count, Marked { character, hidden }) in marked(self.text).enumerate() {
            if count >= self.limit {
                return f.write_str("…");
            }
            match character {
                '\n' | '\t' if self.keep_lines => write!(f, "{character}")?,
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                c if hidden => write!(f, "\\u{{{:x}}}", u32::from(c))?,
                c => write!(f, "{c}")?,
            }
        }
        Ok(())
    }
}

/// The characters of a text without hidden ones; white space stays.
pub fn visible_characters(text: &str) -> impl Iterator<Item = char> + '_ {
    let is_shown = |marked: &Marked| !marked.hidden || marked.character.is_whitespace();
    marked(text).filter(is_shown).map(|marked| marked.character)
}

/// Text with hidden characters written as `\u{…}`, for readers that get text as a value: models and forms. Line
/// breaks, carriage returns and tabs stay.
pub fn escape_hidden(text: &str) -> Cow<'_, str> {
    escaped(text, |out, character| {
        use fmt::Write;
        // Writing to a string does not fail.
        let _ = write!(out, "\\u{{{:x}}}", u32::from(character));
    })
}

/// JSON text with hidden characters written as `\uXXXX`: the same value, safe to print on a terminal.
pub fn escape_hidden_json(json: &str) -> Cow<'_, str> {
    // In valid JSON such a character can only be inside a string, where an escape means the same.
    escaped(json, |out, character| {
        use fmt::Write;
        for unit in character.encode_utf16(&mut [0; 2]) {
            let _ = write!(out, "\\u{unit:04x}");
        }
    })
}

/// JSON text with the hidden characters of its strings and keys written as `\u{…}`, however the server wrote them:
/// for definitions that models read. JSON without any stays byte for byte.
pub fn escape_hidden_values(json: &str) -> Cow<'_, str> {
    // An escape may stand for a hidden character; most definitions have neither.
    if !json.contains("\\u") && matches!(escape_hidden(json), Cow::Borrowed(_)) {
        return Cow::Borrowed(json);
    }
    let Ok(read) = serde_json::from_str::<Value>(json) else {
        return escape_hidden_json(json);
    };
    match shown(&read) {
        Some(shown) => Cow::Owned(shown.to_string()),
        None => Cow::Borrowed(json),
    }
}

/// The value with its hidden characters written out, unless it has none.
fn shown(value: &Value) -> Option<Value> {
    match value {
        Value::String(text) => match escape_hidden(text) {
            Cow::Owned(shown) => Some(Value::String(shown)),
            Cow::Borrowed(_) => None,
        },
        Value::Array(items) => {
            let shown_items: Vec<_> = items.iter().map(shown).collect();
            shown_items.iter().any(Option::is_some).then(|| {
                let pairs = shown_items.into_iter().zip(items);
                pairs
                    .map(|(shown, item)| shown.unwrap_or_else(|| item.clone()))
                    .collect()
            })
        }
        Value::Object(members) => {
            let is_shown = |(name, value): (&String, &Value)| {
                matches!(escape_hidden(name), Cow::Owned(_)) || shown(value).is_some()
            };
            members.iter().any(is_shown).then(|| {
                let pairs = members.iter().map(|(name, value)| {
                    let value = shown(value).unwrap_or_else(|| value.clone());
                    (escape_hidden(name).into_owned(), value)
                });
                Value::Object(pairs.collect())
            })
        }
        _ => None,
    }
}

fn escaped(text: &str, escape: impl Fn(&mut String, char)) -> Cow<'_, str> {
    let is_shown =
        |marked: &Marked| !marked.hidden || matches!(marked.character, '\n' | '\r' | '\t');
    let is_plain =
        |byte: u8| (byte >= 0x20 && byte != 0x7f) || matches!(byte, b'\n' | b'\r' | b'\t');
    if text.is_ascii() && text.bytes().all(is_plain) {
        return Cow::Borrowed(text);
    }
    if marked(text).all(|marked| is_shown(&marked)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 64);
    for marked in marked(text) {
        match is_shown(&marked) {
            true => out.push(marked.character),
            false => escape(&mut out, marked.character),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_cannot_move_the_cursor_or_hide() {
        let text = "ok\u{1b}[2Jgone\u{202e}abc\u{e0041}\u{200b}\nnext";
        let shown = UntrustedText::new(text).to_string();
        assert_eq!(
            shown,
            "ok\\u{1b}[2Jgone\\u{202e}abc\\u{e0041}\\u{200b}\\nnext"
        );
        assert_eq!(UntrustedText::block("a\nb").to_string(), "a\nb");
        assert_eq!(
            UntrustedText::new("日本語です").shortened(2).to_string(),
            "日本…"
        );
    }

    #[test]
    fn r_sec_01_json_keeps_its_value_when_hidden_characters_are_escaped() {
        let value =
            serde_json::json!({"a\u{202e}": "x\u{9b}31m\u{e0041}\r\n\tä 👩\u{200d}🚀", "n": 1.5});
        let plain = value.to_string();
        let shown = escape_hidden_json(&plain);
        assert!(
            !shown.contains(['\u{202e}', '\u{9b}', '\u{e0041}']),
            "{shown}"
        );
        assert!(shown.contains("\\udb40\\udc41") && shown.contains("ä 👩\u{200d}🚀"));
        let again: serde_json::Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(again, value);
        assert!(matches!(
            escape_hidden_json("{\n\t\"a\": 1\r\n}"),
            Cow::Borrowed(_)
        ));
    }

    #[test]
    fn r_sec_01_definitions_for_models_show_hidden_characters_however_written() {
        let check = |json: &str, expected: &str| assert_eq!(escape_hidden_values(json), expected);
        check(
            "{\"a\":\"\u{e0041}x\", \"n\": 1.50}",
            r#"{"a":"\\u{e0041}x","n":1.5}"#,
        );
        check(
            r#"{"a":["\udb40\udc41",1],"b":{"\u202e":2}}"#,
            r#"{"a":["\\u{e0041}",1],"b":{"\\u{202e}":2}}"#,
        );
        for same in [
            r#"{ "a" : "\u00e9\r\n", "n": 1.50 }"#,
            "{\"a\":\"ä ❤\u{fe0f}\", \"n\": 1.50}",
            "not json",
        ] {
            assert!(
                matches!(escape_hidden_values(same), Cow::Borrowed(_)),
                "{same}"
            );
        }
    }

    #[test]
    fn r_sec_01_text_for_models_has_no_hidden_characters() {
        assert_eq!(
            escape_hidden("a\r\nb\t\u{e0069}\u{fe0f}c\u{202e}"),
            "a\r\nb\t\\u{e0069}\\u{fe0f}c\\u{202e}"
        );
        assert!(matches!(escape_hidden("plain ä 日本"), Cow::Borrowed(_)));
    }
}
