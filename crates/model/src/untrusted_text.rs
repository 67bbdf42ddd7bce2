//! Untrusted text and how to display it safely.

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;

use crate::hidden::{CheckedChar, checked_chars};

/// Text from a server, a file or a user. Its `Display` escapes every character that could mislead a reader or a
/// terminal: control characters, bidirectional overrides, and invisible characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UntrustedText<'a> {
    text: &'a str,
    limit: usize,
    keep_lines: bool,
}

impl<'a> UntrustedText<'a> {
    /// Wraps a text for display on one line; line breaks and tabs are escaped too.
    pub fn new(text: &'a str) -> Self {
        Self {
            text,
            limit: usize::MAX,
            keep_lines: false,
        }
    }

    /// Wraps a text for display in a block of its own; line breaks and tabs are kept.
    pub fn block(text: &'a str) -> Self {
        Self {
            text,
            limit: usize::MAX,
            keep_lines: true,
        }
    }

    /// Limits the number of displayed characters; `…` marks a truncated text.
    pub fn shortened(self, limit: usize) -> Self {
        Self { limit, ..self }
    }
}

impl fmt::Display for UntrustedText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (count, CheckedChar { character, hidden }) in checked_chars(self.text).enumerate() {
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

/// The characters of a text without hidden ones; white space is kept.
pub fn visible_characters(text: &str) -> impl Iterator<Item = char> + '_ {
    let is_visible = |checked: &CheckedChar| !checked.hidden || checked.character.is_whitespace();
    checked_chars(text)
        .filter(is_visible)
        .map(|checked| checked.character)
}

/// Escapes hidden characters as `\u{…}`, for models and forms. Line breaks, carriage returns and tabs are kept.
pub fn escape_hidden(text: &str) -> Cow<'_, str> {
    escape_with(text, |out, character| {
        use fmt::Write;
        // Writing to a string does not fail.
        let _ = write!(out, "\\u{{{:x}}}", u32::from(character));
    })
}

/// Escapes hidden characters in JSON text as `\uXXXX`. The value is unchanged and the text is safe on a terminal.
pub fn escape_hidden_json(json: &str) -> Cow<'_, str> {
    // In valid JSON a hidden character can only occur inside a string, where the escape is equivalent.
    escape_with(json, |out, character| {
        use fmt::Write;
        for unit in character.encode_utf16(&mut [0; 2]) {
            let _ = write!(out, "\\u{unit:04x}");
        }
    })
}

/// Escapes hidden characters in the strings and keys of JSON text as `\u{…}`, whether the server wrote them literally
/// or as escapes. Used for definitions that models read. Text without hidden characters is returned unchanged.
pub fn escape_hidden_values(json: &str) -> Cow<'_, str> {
    // A JSON escape may encode a hidden character; most definitions contain neither.
    if !json.contains("\\u") && matches!(escape_hidden(json), Cow::Borrowed(_)) {
        return Cow::Borrowed(json);
    }
    let Ok(value) = serde_json::from_str::<Value>(json) else {
        return escape_hidden_json(json);
    };
    match escape_value(&value) {
        Some(escaped) => Cow::Owned(escaped.to_string()),
        None => Cow::Borrowed(json),
    }
}

/// The value with its hidden characters escaped; `None` if it has none.
fn escape_value(value: &Value) -> Option<Value> {
    match value {
        Value::String(text) => match escape_hidden(text) {
            Cow::Owned(escaped) => Some(Value::String(escaped)),
            Cow::Borrowed(_) => None,
        },
        Value::Array(items) => {
            let escaped: Vec<_> = items.iter().map(escape_value).collect();
            escaped.iter().any(Option::is_some).then(|| {
                let pairs = escaped.into_iter().zip(items);
                pairs
                    .map(|(escaped, item)| escaped.unwrap_or_else(|| item.clone()))
                    .collect()
            })
        }
        Value::Object(members) => {
            let has_hidden = |(name, value): (&String, &Value)| {
                matches!(escape_hidden(name), Cow::Owned(_)) || escape_value(value).is_some()
            };
            members.iter().any(has_hidden).then(|| {
                let pairs = members.iter().map(|(name, value)| {
                    let value = escape_value(value).unwrap_or_else(|| value.clone());
                    (escape_hidden(name).into_owned(), value)
                });
                Value::Object(pairs.collect())
            })
        }
        _ => None,
    }
}

fn escape_with(text: &str, escape: impl Fn(&mut String, char)) -> Cow<'_, str> {
    let is_kept =
        |checked: &CheckedChar| !checked.hidden || matches!(checked.character, '\n' | '\r' | '\t');
    let is_plain =
        |byte: u8| (byte >= 0x20 && byte != 0x7f) || matches!(byte, b'\n' | b'\r' | b'\t');
    if text.is_ascii() && text.bytes().all(is_plain) {
        return Cow::Borrowed(text);
    }
    if checked_chars(text).all(|checked| is_kept(&checked)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 64);
    for checked in checked_chars(text) {
        match is_kept(&checked) {
            true => out.push(checked.character),
            false => escape(&mut out, checked.character),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untrusted_text_cannot_move_the_cursor_or_hide() {
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
