//! Arguments as they are shown to a person: every value verbatim, without space that could push a part out of view.

use std::fmt::Write as _;

use pegboard_model::UntrustedText;
use serde_json::Value;

/// Longest run of spaces that is shown as it is. A longer run could push what follows out of view.
const SPACES_AS_THEY_ARE: usize = 8;
/// Number of values that a message names.
const VALUES_NAMED: usize = 3;
/// Longest shown path of a value, in characters.
const PLACE: usize = 80;

/// Removes the whitespace between the tokens of a JSON text and replaces long runs of spaces inside strings with
/// their count. Works on the text, because a parser would round long numbers.
pub fn readable(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    let mut characters = json.chars().peekable();
    let (mut is_inside, mut is_escaped) = (false, false);
    while let Some(character) = characters.next() {
        if is_inside && character.is_whitespace() {
            let mut count = 1;
            while characters.next_if_eq(&character).is_some() {
                count += 1;
            }
            match count {
                ..=SPACES_AS_THEY_ARE => text.extend(std::iter::repeat_n(character, count)),
                _ => drop(write!(text, "⟨{count} spaces⟩")),
            }
            is_escaped = false;
            continue;
        }
        match character {
            '"' if !is_escaped => is_inside = !is_inside,
            _ if !is_inside && character.is_ascii_whitespace() => continue,
            _ => {}
        }
        is_escaped = is_inside && character == '\\' && !is_escaped;
        text.push(character);
    }
    counted_line_ends(&text)
}

/// Replaces long runs of escaped line ends and tabs with their count; they would be shown as empty lines.
fn counted_line_ends(text: &str) -> String {
    const ESCAPES: [(&str, &str); 3] = [
        ("\\n", "line ends"),
        ("\\r\\n", "line ends"),
        ("\\t", "tabs"),
    ];
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let run = ESCAPES.iter().find_map(|(escape, name)| {
            let mut count = 0;
            let mut after = rest;
            while let Some(next) = after.strip_prefix(escape) {
                (count, after) = (count + 1, next);
            }
            (count > SPACES_AS_THEY_ARE).then_some((count, *name, after))
        });
        match run {
            Some((count, name, after)) => {
                let _ = write!(shown, "⟨{count} {name}⟩");
                rest = after;
            }
            None => {
                shown.push(character);
                rest = rest.get(character.len_utf8()..).unwrap_or_default();
            }
        }
    }
    shown
}

/// Names the longest values of the arguments with their lengths, as a hint what to shorten.
pub(super) fn longest_values(json: &str) -> String {
    let mut found = Vec::new();
    if let Ok(value) = serde_json::from_str(json) {
        measure(&value, String::new(), &mut found);
    }
    found.sort_by_key(|(_, length)| std::cmp::Reverse(*length));
    let named: Vec<String> = found
        .iter()
        .take(VALUES_NAMED)
        .map(|(place, length)| {
            let place = UntrustedText::new(place).shortened(PLACE);
            format!("`{place}` has {length}")
        })
        .collect();
    match named.is_empty() {
        true => format!("they have {}", json.chars().count()),
        false => named.join(", "),
    }
}

fn measure(value: &Value, place: String, found: &mut Vec<(String, usize)>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                measure(value, format!("{place}/{key}"), found);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                measure(value, format!("{place}/{index}"), found);
            }
        }
        Value::String(text) => found.push((place, text.chars().count())),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(json: &str, expected: &str) {
        assert_eq!(readable(json), expected, "{json}");
    }

    #[test]
    fn r_sec_07_space_cannot_push_anything_out_of_sight() {
        check(
            "{ \"a\" : 1 ,\n\n\n \"b\":[ true ] }",
            r#"{"a":1,"b":[true]}"#,
        );
        check(r#"{"a":"x  y"}"#, r#"{"a":"x  y"}"#);
        let padded = format!(r#"{{"a":"ls{}rm"}}"#, " ".repeat(5_000));
        check(&padded, r#"{"a":"ls⟨5000 spaces⟩rm"}"#);
        let lines = format!(r#"{{"a":"ls{}rm"}}"#, r"\n".repeat(70));
        check(&lines, r#"{"a":"ls⟨70 line ends⟩rm"}"#);
        check(r#"{"a":"q\" , \\","b":2}"#, r#"{"a":"q\" , \\","b":2}"#);
        check(
            r#"{"n":123456789012345678901234567890}"#,
            r#"{"n":123456789012345678901234567890}"#,
        );
    }

    #[test]
    fn r_sec_07_the_longest_values_are_named() {
        let json = format!(
            r#"{{"a":"{}","b":["x","{}"],"c":7}}"#,
            "y".repeat(30),
            "z".repeat(40)
        );
        let named = longest_values(&json);
        assert!(named.starts_with("`/b/1` has 40, `/a` has 30"), "{named}");
        assert_eq!(longest_values("[1]"), "they have 3");
    }

    proptest! {
        #[test]
        fn r_sec_07_readable_json_parses_to_the_same_values(
            values in proptest::collection::vec("[a-z \\\\\"]{0,6}", 0..5)
        ) {
            let json = serde_json::to_string_pretty(&values).unwrap();
            let shown: Vec<String> = serde_json::from_str(&readable(&json)).unwrap();
            prop_assert_eq!(shown, values);
        }
    }
}
