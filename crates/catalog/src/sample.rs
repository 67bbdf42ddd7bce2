//! Sample strings for examples, with the format, length and pattern that a schema requires.

use pegboard_guard::ArgumentValidator;
use serde_json::{Map, Value, json};

use crate::sample_pattern::sample_pattern;

/// Samples for the standard formats.
const FORMATS: &[(&str, &str)] = &[
    ("date", "2025-01-15"),
    ("date-time", "2025-01-15T09:30:00Z"),
    ("duration", "PT1H"),
    ("email", "user@example.com"),
    ("hostname", "example.com"),
    ("idn-email", "user@example.com"),
    ("idn-hostname", "example.com"),
    ("ipv4", "192.0.2.1"),
    ("ipv6", "2001:db8::1"),
    ("iri", "https://example.com"),
    ("iri-reference", "https://example.com"),
    ("json-pointer", "/example"),
    ("regex", "^example$"),
    ("relative-json-pointer", "0/example"),
    ("time", "09:30:00Z"),
    ("uri", "https://example.com"),
    ("uri-reference", "https://example.com"),
    ("uri-template", "https://example.com/{id}"),
    ("url", "https://example.com"),
    ("uuid", "123e4567-e89b-42d3-a456-426614174000"),
];

/// Samples by the last word of a parameter's name, so that examples look realistic.
const NAMES: &[(&str, &str)] = &[
    ("branch", "main"),
    ("city", "Berlin"),
    ("country", "DE"),
    ("currency", "EUR"),
    ("date", "2025-01-15"),
    ("directory", "/tmp/example"),
    ("email", "user@example.com"),
    ("file", "example.txt"),
    ("filename", "example.txt"),
    ("id", "123"),
    ("language", "en"),
    ("message", "Hello"),
    ("owner", "octocat"),
    ("path", "/tmp/example.txt"),
    ("query", "example"),
    ("repo", "hello-world"),
    ("sql", "SELECT 1"),
    ("text", "Hello"),
    ("time", "09:30"),
    ("timezone", "Europe/Berlin"),
    ("title", "Example title"),
    ("uri", "https://example.com"),
    ("url", "https://example.com"),
];

/// Samples for patterns with look-around, which the pattern sampler does not support.
const PATTERNED: &[&str] = &[
    "a",
    "A",
    "1",
    "abc",
    "ABC",
    "a1",
    "A1",
    "2025-01-15",
    "09:30",
    "https://example.com",
    "/example",
    "example.com",
    "example/example",
    "example-1",
    "example_1",
    "12345678",
];

/// Maximum length of a sample.
const LONGEST: usize = 2_000;

/// Returns a sample for a parameter with this name and schema. It may be invalid; the caller validates it.
pub(crate) fn sample_text(flat: &Map<String, Value>, name: &str) -> String {
    let format = flat
        .get("format")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let by_format = FORMATS
        .iter()
        .find(|(known, _)| *known == format)
        .map(|(_, text)| *text);
    let last = crate::words::words(name).pop().unwrap_or_default();
    let by_name = NAMES
        .iter()
        .find(|(known, _)| *known == last)
        .map(|(_, text)| *text);
    let plain = by_format.or(by_name).unwrap_or("example");
    match flat.get("pattern").and_then(Value::as_str) {
        Some(pattern) => patterned(flat, pattern, plain),
        None => of_length(flat, plain),
    }
}

fn patterned(flat: &Map<String, Value>, pattern: &str, plain: &str) -> String {
    let limits = ["minLength", "maxLength"]
        .iter()
        .filter_map(|key| Some(((*key).to_owned(), flat.get(*key)?.clone())));
    let mut schema: Map<String, Value> = limits.collect();
    schema.insert("pattern".to_owned(), json!(pattern));
    // The validator expects an object, so the text is wrapped in one.
    let schema = json!({"properties": {"text": schema}}).to_string();
    let Some(check) = ArgumentValidator::new(&schema) else {
        return plain.to_owned();
    };
    let fits = |text: &str| {
        check
            .errors(&json!({"text": text}))
            .is_some_and(|faults| faults.is_empty())
    };
    let padded = of_length(flat, plain);
    let digits = of_length(flat, "1");
    let sampled = sample_pattern(pattern).unwrap_or_default();
    let first = [plain, &padded, &digits, &sampled];
    let mut tries = first.into_iter().chain(PATTERNED.iter().copied());
    tries.find(|text| fits(text)).unwrap_or(plain).to_owned()
}

/// Repeats or truncates a text to the length that the schema requires.
fn of_length(flat: &Map<String, Value>, text: &str) -> String {
    let length = |key: &str| {
        let length = flat.get(key).and_then(Value::as_u64)?;
        usize::try_from(length).ok()
    };
    let least = length("minLength").unwrap_or(0).min(LONGEST);
    let most = length("maxLength").unwrap_or(LONGEST);
    let size = text.chars().count().max(least).min(most);
    text.chars().cycle().take(size).collect()
}
