//! Unpaired surrogate escapes (`\ud800` without its partner), which strict JSON parsers refuse.
//!
//! Servers that cut a text in the middle of an emoji write them. One such escape would make a client refuse the whole
//! message, so each is replaced by the replacement character. Its escape has the same length, so the rest of the text
//! does not move.

use std::borrow::Cow;

use memchr::memchr;
use serde_json::value::RawValue;

/// The replacement, as long as the escape that it replaces.
const REPLACEMENT: &[u8] = b"\\ufffd";
const ESCAPE_BYTES: usize = REPLACEMENT.len();

/// Replaces unpaired surrogate escapes in a JSON value.
pub fn paired(raw: Box<RawValue>) -> Box<RawValue> {
    match replace_lone(raw.get()) {
        Cow::Borrowed(_) => raw,
        // Only escapes inside strings changed, so the text is as valid as before.
        Cow::Owned(text) => RawValue::from_string(text).unwrap_or(raw),
    }
}

/// The same for a borrowed value. Returns `None` if nothing was replaced.
pub fn repaired(raw: &RawValue) -> Option<Box<RawValue>> {
    match replace_lone(raw.get()) {
        Cow::Borrowed(_) => None,
        Cow::Owned(text) => RawValue::from_string(text).ok(),
    }
}

/// Replaces unpaired surrogate escapes in JSON text.
pub fn replace_lone(json: &str) -> Cow<'_, str> {
    let bytes = json.as_bytes();
    let mut lone = Vec::new();
    let mut at = 0;
    // A backslash occurs only inside strings, where it begins an escape of two or six bytes.
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr(b'\\', rest)) {
        at += found;
        match surrogate(bytes, at) {
            Some(Half::High) if surrogate(bytes, at + ESCAPE_BYTES) == Some(Half::Low) => {
                at += 2 * ESCAPE_BYTES;
            }
            Some(_) => {
                lone.push(at);
                at += ESCAPE_BYTES;
            }
            None => at += 2,
        }
    }
    if lone.is_empty() {
        return Cow::Borrowed(json);
    }
    let mut text = bytes.to_vec();
    for at in lone {
        if let Some(escape) = text.get_mut(at..at + ESCAPE_BYTES) {
            escape.copy_from_slice(REPLACEMENT);
        }
    }
    String::from_utf8(text).map_or(Cow::Borrowed(json), Cow::Owned)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Half {
    High,
    Low,
}

/// Returns which half of a pair the escape at this position encodes, if any.
fn surrogate(bytes: &[u8], at: usize) -> Option<Half> {
    let [b'\\', b'u', b'd' | b'D', second, third, fourth] =
        *bytes.get(at..at.checked_add(ESCAPE_BYTES)?)?
    else {
        return None;
    };
    if !third.is_ascii_hexdigit() || !fourth.is_ascii_hexdigit() {
        return None;
    }
    match second {
        b'8' | b'9' | b'a' | b'b' | b'A' | b'B' => Some(Half::High),
        b'c'..=b'f' | b'C'..=b'F' => Some(Half::Low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_sec_01_half_a_character_is_replaced_and_nothing_else_changes() {
        for (json, expected) in [
            (r#""plain""#, r#""plain""#),
            (r#""a\ud83d\ude00b""#, r#""a\ud83d\ude00b""#),
            (r#""a\ud83d""#, r#""a\ufffd""#),
            (r#""\uD83D\uD83D\uDE00""#, r#""\ufffd\uD83D\uDE00""#),
            (r#""\ude00\ud83d""#, r#""\ufffd\ufffd""#),
            (r#""\udc00x\n\\ud800""#, r#""\ufffdx\n\\ud800""#),
            (r#""\\\ud800""#, r#""\\\ufffd""#),
            (
                r#"{"\ud800":[1.50,"\u00e9"]}"#,
                r#"{"\ufffd":[1.50,"\u00e9"]}"#,
            ),
            (r#""\ud8"#, r#""\ud8"#),
        ] {
            assert_eq!(replace_lone(json), expected, "{json}");
        }
    }

    #[test]
    fn r_sec_01_the_result_can_be_read_by_a_strict_reader() {
        let raw = RawValue::from_string(r#"{"text":"cut \ud83d"}"#.to_owned()).unwrap();
        assert!(serde_json::from_str::<serde_json::Value>(raw.get()).is_err());
        let paired = paired(raw);
        let value: serde_json::Value = serde_json::from_str(paired.get()).unwrap();
        assert_eq!(value["text"], "cut \u{fffd}");
    }
}
