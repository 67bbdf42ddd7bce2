//! Sentences in a description that replace unsupported keywords.

use pegboard_model::UntrustedText;
use serde_json::{Map, Value};

use crate::limits::{DETAIL_MAX, SENTENCE_MAX};

/// A schema object. After cleaning every schema is an object.
pub(crate) type SchemaObject = Map<String, Value>;

/// An untrusted value for the detail of a loss: short and on one line.
pub(crate) fn detail(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    UntrustedText::new(&text).shortened(DETAIL_MAX).to_string()
}

/// Appends a sentence to a schema's description.
pub(crate) fn append_description(node: &mut SchemaObject, sentence: &str) {
    let mut text = match node.get("description") {
        Some(Value::String(text)) => text.clone(),
        _ => String::new(),
    };
    append(&mut text, sentence);
    node.insert("description".to_owned(), Value::String(text));
}

/// Appends a sentence to a text.
pub(crate) fn append(text: &mut String, sentence: &str) {
    let kept = text.trim_end().len();
    text.truncate(kept);
    if !text.is_empty() {
        if !text.ends_with(['.', '!', '?', ':', ';', ',', ')', '`']) {
            text.push('.');
        }
        text.push(' ');
    }
    text.push_str(&cut(sentence, SENTENCE_MAX));
}

/// Truncates a text to `limit` characters, including the mark `…`.
pub(crate) fn cut(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some(_) => {
            let mut kept: String = text.chars().take(limit.saturating_sub(1)).collect();
            kept.push('…');
            kept
        }
    }
}

/// Joins values to a list for a sentence.
pub(crate) fn join_values(values: &[Value]) -> String {
    let mut text = String::new();
    for value in values {
        if !text.is_empty() {
            text.push_str(", ");
        }
        text.push_str(&value.to_string());
        if text.len() > SENTENCE_MAX {
            break;
        }
    }
    text
}

/// A sentence for a constraint; `None` for other keywords.
pub(crate) fn sentence(keyword: &str, value: &Value) -> Option<String> {
    Some(match keyword {
        "minLength" => format!("At least {value} characters."),
        "maxLength" => format!("At most {value} characters."),
        "minItems" => format!("At least {value} items."),
        "maxItems" => format!("At most {value} items."),
        "minProperties" => format!("At least {value} properties."),
        "maxProperties" => format!("At most {value} properties."),
        "minimum" => format!("At least {value}."),
        "maximum" => format!("At most {value}."),
        "exclusiveMinimum" => format!("Greater than {value}."),
        "exclusiveMaximum" => format!("Less than {value}."),
        "multipleOf" => format!("A multiple of {value}."),
        "uniqueItems" => "Items are unique.".to_owned(),
        "pattern" => format!("Matches the pattern {}.", plain(value)),
        "format" => format!("Format: {}.", plain(value)),
        "default" => format!("Default: {value}."),
        "contentEncoding" | "contentMediaType" => format!("Encoded as {}.", plain(value)),
        _ => return None,
    })
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => format!("`{text}`"),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_truncated_text_ends_with_a_mark() {
        assert_eq!(cut("héllo", 5), "héllo");
        assert_eq!(cut("😀😀😀", 2), "😀…");
    }

    #[test]
    fn sentences_are_joined_with_a_full_stop() {
        let mut text = "The name ".to_owned();
        append(&mut text, "At most 3 characters.");
        assert_eq!(text, "The name. At most 3 characters.");
    }
}
