//! Text tools.

use serde_json::json;

use super::{Effect, ExampleTool, ToolOutput, object};

const REPEAT_MAX: i64 = 10;
const RESULTS_MAX: i64 = 200;
const SLUG_MAX: i64 = 200;

pub(super) const ECHO: ExampleTool = ExampleTool {
    name: "echo",
    title: "Echo",
    description: "Returns a text unchanged. Useful to check that calls arrive.",
    effect: Effect::Pure,
    input: || {
        object(
            json!({
                "text": {"type": "string", "description": "The text to give back."},
                "repeat": {
                    "type": "integer",
                    "description": "How many times to give it back, each on its own line.",
                    "minimum": 1,
                    "maximum": REPEAT_MAX,
                    "default": 1,
                },
            }),
            &["text"],
        )
    },
    output: None,
    run: |arguments, _| {
        let text = arguments.text("text")?;
        let repeat = arguments.integer("repeat", 1, 1, REPEAT_MAX)?;
        let lines: Vec<&str> = (0..repeat).map(|_| text).collect();
        Ok(ToolOutput::text(lines.join("\n")))
    },
};

pub(super) const COUNT_WORDS: ExampleTool = ExampleTool {
    name: "count_words",
    title: "Count words",
    description: "Counts the words, lines, characters and bytes of a text. Words are \
                  separated by white space.",
    effect: Effect::Pure,
    input: || {
        object(
            json!({"text": {"type": "string", "description": "The text to count in."}}),
            &["text"],
        )
    },
    output: Some(|| {
        let count = |what: &str| json!({"type": "integer", "minimum": 0, "description": what});
        object(
            json!({
                "words": count("Words."),
                "lines": count("Lines."),
                "characters": count("Unicode characters, white space included."),
                "bytes": count("Bytes as UTF-8."),
            }),
            &["words", "lines", "characters", "bytes"],
        )
    }),
    run: |arguments, _| {
        let text = arguments.text("text")?;
        Ok(ToolOutput::data(json!({
            "words": text.split_whitespace().count(),
            "lines": text.lines().count(),
            "characters": text.chars().count(),
            "bytes": text.len(),
        })))
    },
};

pub(super) const SEARCH_TEXT: ExampleTool = ExampleTool {
    name: "search_text",
    title: "Search in a text",
    description: "Finds the lines of a text that contain some words, whatever their case. Returns each \
                  line with its number.",
    effect: Effect::Pure,
    input: || {
        object(
            json!({
                "text": {"type": "string", "description": "The text to search in."},
                "words": {
                    "type": "string",
                    "description": "The words to look for, separated by spaces.",
                    "examples": ["error timeout"],
                },
                "match": {
                    "type": "string",
                    "description": "Whether a line must contain all of the words or any of them.",
                    "enum": ["all", "any"],
                    "default": "all",
                },
                "max_results": {
                    "type": "integer",
                    "description": "How many lines to give at most.",
                    "minimum": 1,
                    "maximum": RESULTS_MAX,
                    "default": 20,
                },
            }),
            &["text", "words"],
        )
    },
    output: Some(|| {
        let line = object(
            json!({
                "number": {"type": "integer", "description": "The line's number, from 1."},
                "text": {"type": "string", "description": "The line."},
            }),
            &["number", "text"],
        );
        object(
            json!({
                "lines": {"type": "array", "description": "The lines found.", "items": line},
                "total": {"type": "integer", "description": "How many lines match, shown or not."},
            }),
            &["lines", "total"],
        )
    }),
    run: |arguments, _| {
        let text = arguments.text("text")?;
        let wanted = arguments.text("words")?.to_lowercase();
        let wanted: Vec<&str> = wanted.split_whitespace().collect();
        let all = arguments.choice("match", &["all", "any"])? == "all";
        let at_most =
            usize::try_from(arguments.integer("max_results", 20, 1, RESULTS_MAX)?).unwrap_or(0);
        if wanted.is_empty() {
            return Err("`words` must hold at least one word.".to_owned());
        }
        let matches = |line: &str| {
            let line = line.to_lowercase();
            let mut found = wanted.iter().map(|word| line.contains(word));
            if all {
                found.all(|found| found)
            } else {
                found.any(|found| found)
            }
        };
        let found: Vec<_> = text
            .lines()
            .zip(1..)
            .filter(|(line, _)| matches(line))
            .collect();
        let lines: Vec<_> = found
            .iter()
            .take(at_most)
            .map(|(line, number): &(&str, u64)| json!({"number": number, "text": line}))
            .collect();
        Ok(ToolOutput::data(
            json!({"lines": lines, "total": found.len()}),
        ))
    },
};

pub(super) const SLUGIFY: ExampleTool = ExampleTool {
    name: "slugify",
    title: "Make a slug",
    description: "Turns a title into a name for a file or an address: lower case, with everything that \
                  is neither a letter nor a digit replaced by one separator.",
    effect: Effect::Pure,
    input: || {
        object(
            json!({
                "text": {
                    "type": "string",
                    "description": "The title.",
                    "examples": ["Hello, World! Part 2"],
                },
                "separator": {
                    "type": "string",
                    "description": "What to put between words.",
                    "enum": ["-", "_"],
                    "default": "-",
                },
                "max_length": {
                    "type": "integer",
                    "description": "Most characters of the slug; whole words are left out at its end.",
                    "minimum": 1,
                    "maximum": SLUG_MAX,
                    "default": 80,
                },
            }),
            &["text"],
        )
    },
    output: None,
    run: |arguments, _| {
        let text = arguments.text("text")?.to_lowercase();
        let separator = arguments.choice("separator", &["-", "_"])?;
        let at_most =
            usize::try_from(arguments.integer("max_length", 80, 1, SLUG_MAX)?).unwrap_or(0);
        let words = text
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty());
        let slug = joined(words, separator, at_most);
        if slug.is_empty() {
            return Err("`text` has no letter and no digit to make a slug of.".to_owned());
        }
        Ok(ToolOutput::text(slug))
    },
};

/// Joins as many whole words as fit; a first word that does not fit is truncated.
fn joined<'a>(words: impl Iterator<Item = &'a str>, separator: &str, at_most: usize) -> String {
    let mut slug = String::new();
    let mut length = 0;
    for word in words {
        if slug.is_empty() {
            slug.extend(word.chars().take(at_most));
            length = slug.chars().count();
            continue;
        }
        length += separator.len() + word.chars().count();
        if length > at_most {
            break;
        }
        slug.push_str(separator);
        slug.push_str(word);
    }
    slug
}
