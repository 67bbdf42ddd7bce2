//! Reads parts of a stored result: by offset, by pattern, or by JSON pointer.

use std::borrow::Cow;

use pegboard_guard::estimate_tokens;
use pegboard_model::{Reason, ToolError, ToolResult};
use serde::Deserialize;
use serde_json::Value;

use crate::result_store::{StoredResult, continuation_note, floor_char_boundary, part};

/// Longest pattern, in bytes.
const PATTERN_BYTES: usize = 500;
/// Lines up to this length are shown completely.
const LINE_BYTES: usize = 1_000;
/// Bytes shown before and after a match in a longer line.
const AROUND_BYTES: usize = 200;
/// Memory limit of a compiled pattern.
const PATTERN_COST: usize = 1 << 20;

/// Arguments of `read_result`.
#[derive(Debug, Deserialize)]
pub(crate) struct ReadResultArgs {
    /// The id of the stored result.
    pub(crate) id: String,
    #[serde(default)]
    offset: Option<usize>,
    #[serde(default)]
    grep: Option<String>,
    #[serde(default)]
    pointer: Option<String>,
}

/// Reads a part of a stored result.
pub(crate) fn read(stored: &StoredResult, args: &ReadResultArgs) -> ToolResult<String> {
    match (&args.grep, &args.pointer) {
        (Some(pattern), _) => grep(stored, pattern, args.offset.unwrap_or(0)),
        (None, Some(pointer)) => at_pointer(stored, pointer, args.offset.unwrap_or(0)),
        (None, None) => {
            let from = args.offset.unwrap_or(0);
            if from > stored.text.len() {
                let message = format!("`offset` {from} is past the end at {}", stored.text.len());
                return Err(ToolError::new(Reason::ArgsInvalid, message).at_field("offset"));
            }
            let (text, next) = stored.part(from);
            let tokens = estimate_tokens(&stored.text) as usize;
            let note = continuation_note(&args.id, stored, from, next, tokens);
            Ok(format!("{text}{note}"))
        }
    }
}

/// Returns the matching lines, each with its offset.
fn grep(stored: &StoredResult, pattern: &str, from: usize) -> ToolResult<String> {
    let invalid = |message: String| {
        let error = ToolError::new(Reason::ArgsInvalid, message).at_field("grep");
        error.with_remedy("Write plain words or a regular expression without look-around.")
    };
    if pattern.is_empty() || pattern.len() > PATTERN_BYTES {
        return Err(invalid(format!(
            "`grep` must have 1 to {PATTERN_BYTES} characters"
        )));
    }
    let regex = regex::RegexBuilder::new(pattern)
        .case_insensitive(true)
        .size_limit(PATTERN_COST)
        .build();
    let regex =
        regex.map_err(|error| invalid(format!("`grep` is not a valid pattern: {error}")))?;
    let (mut out, mut tokens, mut count, mut shown) = (String::new(), 0, 0, 0);
    let mut next = None;
    for (at, found) in matches(&stored.text, &regex) {
        count += 1;
        if at < from || next.is_some() {
            continue;
        }
        let entry = format!("{at}: {found}\n");
        tokens += estimate_tokens(&entry) as usize;
        if tokens > stored.part_tokens && shown > 0 {
            next = Some(at);
            continue;
        }
        shown += 1;
        out.push_str(&entry);
    }
    let more = next
        .map(|at| format!(" More: the same with \"offset\":{at}."))
        .unwrap_or_default();
    Ok(format!(
        "{out}[{shown} of {count} matching lines, each with its offset.{more}]"
    ))
}

/// Returns the matching lines, each with its offset. Of a long line, which may be the whole text, only the
/// surroundings of each match are returned.
fn matches<'t>(
    text: &'t str,
    regex: &'t regex::Regex,
) -> impl Iterator<Item = (usize, Cow<'t, str>)> {
    let mut start = 0;
    text.split_inclusive('\n').flat_map(move |line| {
        let at = start;
        start += line.len();
        let line = line.trim_end_matches(['\n', '\r']);
        let is_long = line.len() > LINE_BYTES;
        let mut shown = 0;
        regex.find_iter(line).filter_map(move |found| {
            if !is_long {
                let is_first = std::mem::replace(&mut shown, usize::MAX) == 0;
                return is_first.then_some((at, Cow::Borrowed(line)));
            }
            if found.end() <= shown && shown > 0 {
                return None;
            }
            let before =
                floor_char_boundary(line, found.start().saturating_sub(AROUND_BYTES)).max(shown);
            let end = found.end().min(found.start() + LINE_BYTES);
            shown = floor_char_boundary(line, end + AROUND_BYTES).max(before);
            let piece = line.get(before..shown).unwrap_or_default();
            Some((at + before, Cow::Owned(format!("…{piece}…"))))
        })
    })
}

/// Returns a part of the structured content, or of the text if that is JSON.
fn at_pointer(stored: &StoredResult, pointer: &str, from: usize) -> ToolResult<String> {
    let invalid =
        |message: String| ToolError::new(Reason::ArgsInvalid, message).at_field("pointer");
    let json = stored.structured.as_deref().unwrap_or(&stored.text);
    let value: Value = serde_json::from_str(json)
        .map_err(|_| invalid("the result is not JSON, so `pointer` cannot be used".to_owned()))?;
    let Some(found) = value.pointer(pointer) else {
        let known = deepest(&value, pointer);
        return Err(invalid(format!("`{pointer}` does not exist; {known}")));
    };
    let text = serde_json::to_string_pretty(found).unwrap_or_default();
    let (piece, next) = part(&text, from, stored.part_tokens);
    let note = match next < text.len() {
        true => format!(
            "\n[Bytes {from} to {next} of {} at `{pointer}`. Read on: the same with \"offset\":{next}.]",
            text.len()
        ),
        false => String::new(),
    };
    Ok(format!("{piece}{note}"))
}

/// Describes the deepest existing value on the path of a pointer.
fn deepest(value: &Value, pointer: &str) -> String {
    let mut end = pointer.len();
    loop {
        let head = pointer.get(..end).unwrap_or_default();
        if let Some(found) = value.pointer(head) {
            return match found {
                Value::Object(map) => {
                    let keys: Vec<&str> = map.keys().take(20).map(String::as_str).collect();
                    format!("`{head}` has {}", keys.join(", "))
                }
                Value::Array(items) => format!("`{head}` is a list of {}", items.len()),
                _ => format!("`{head}` is a single value"),
            };
        }
        match head.rfind('/') {
            Some(at) => end = at,
            None => return "a pointer begins with `/`".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, pattern: &str, expected: &[(usize, &str)]) {
        let regex = regex::Regex::new(pattern).unwrap();
        let found: Vec<_> = matches(text, &regex).collect();
        let found: Vec<_> = found.iter().map(|(at, line)| (*at, &**line)).collect();
        assert_eq!(found, expected, "{pattern}");
    }

    #[test]
    fn r_ctx_08_a_line_that_matches_is_found_once_and_to_its_end() {
        check("a b a\r\nb\nba", "a", &[(0, "a b a"), (9, "ba")]);
        check("a b a\r\nb\nba", "a$", &[(0, "a b a"), (9, "ba")]);
        check("", "a", &[]);
    }

    #[test]
    fn r_ctx_08_in_one_huge_line_the_surroundings_of_each_match_are_shown() {
        let (before, between) = ("é".repeat(1_000), "-".repeat(1_000));
        let text = format!("{before}needle{between}NEEDLE needle{between}");
        let (e, dash) = ("é".repeat(100), "-".repeat(200));
        check(
            &text,
            "(?i)needle",
            &[
                (1_800, &format!("…{e}needle{dash}…")),
                (2_806, &format!("…{dash}NEEDLE needle{}…", "-".repeat(193))),
            ],
        );
    }
}
