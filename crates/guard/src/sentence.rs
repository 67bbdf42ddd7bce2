//! Extraction of the first sentence of a description, ignoring markup.

use pegboard_model::visible_characters;

/// Abbreviations whose full stop does not end a sentence.
const ABBREVIATIONS: &[&str] = &[
    "approx", "cf", "dr", "e.g", "eg", "esp", "fig", "i.e", "ie", "incl", "max", "min", "mr",
    "mrs", "no", "resp", "st", "vs",
];

/// Maximum number of characters of a description that are examined; a summary is far shorter.
const EXAMINED_CHARS: usize = 4096;

/// The first sentence on one line; empty if there is no text.
pub(crate) fn first_sentence(description: &str) -> String {
    let end = description
        .char_indices()
        .nth(EXAMINED_CHARS)
        .map_or(description.len(), |(at, _)| at);
    let head = description.get(..end).unwrap_or_default();
    let paragraph = first_paragraph(head);
    let end = sentence_end(&paragraph).unwrap_or(paragraph.len());
    one_line(paragraph.get(..end).unwrap_or_default())
}

/// Collapses white space and removes hidden characters.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in visible_characters(text) {
        if character.is_whitespace() {
            if !line.is_empty() && !line.ends_with(' ') {
                line.push(' ');
            }
        } else {
            line.push(character);
        }
    }
    line.truncate(line.trim_end().len());
    line
}

/// The first paragraph without headings, list marks and tags. A heading is used only if there is no other text.
fn first_paragraph(text: &str) -> String {
    let mut paragraph = String::new();
    let mut heading = String::new();
    for line in text.lines() {
        let line = line.trim();
        if let Some(title) = line.strip_prefix('#') {
            if !paragraph.is_empty() {
                break;
            }
            if heading.is_empty() {
                heading = title.trim_start_matches('#').trim().to_owned();
            }
            continue;
        }
        let is_item = list_mark(line).is_some();
        let bare = without_markup(line);
        if !bare.contains(char::is_alphanumeric) {
            if paragraph.is_empty() {
                continue;
            }
            break;
        }
        if is_item && !paragraph.is_empty() {
            break;
        }
        if !paragraph.is_empty() {
            paragraph.push('\n');
        }
        paragraph.push_str(&bare);
    }
    if paragraph.is_empty() {
        heading
    } else {
        paragraph
    }
}

/// The text after a list mark such as `- `, `* ` or `• `.
fn list_mark(line: &str) -> Option<&str> {
    ["- ", "* ", "+ ", "• ", "> "]
        .iter()
        .find_map(|mark| line.strip_prefix(mark))
}

fn without_markup(line: &str) -> String {
    let mut line = list_mark(line).unwrap_or(line).trim_start();
    if line.starts_with("```") {
        return String::new();
    }
    while let Some((_, rest)) = leading_tag(line) {
        line = rest.trim_start();
    }
    let mut bare = line.replace("**", "");
    while let Some(open) = bare.find("</") {
        match bare
            .get(open..)
            .and_then(leading_tag)
            .map(|(length, _)| length)
        {
            Some(length) => bare.replace_range(open..open + length, ""),
            None => break,
        }
    }
    bare.trim().to_owned()
}

/// The length of a leading tag such as `<Purpose>`, and the text after it.
fn leading_tag(text: &str) -> Option<(usize, &str)> {
    let inner = text.strip_prefix('<')?;
    let close = inner.find('>').filter(|close| *close <= 60)?;
    let (name, rest) = (inner.get(..close)?, inner.get(close + 1..)?);
    let named = name
        .trim_start_matches('/')
        .starts_with(|c: char| c.is_ascii_alphabetic());
    named.then_some((close + 2, rest))
}

/// The position after the first sentence and its closing mark.
fn sentence_end(text: &str) -> Option<usize> {
    text.char_indices().find_map(|(at, character)| {
        let after = text.get(at + character.len_utf8()..).unwrap_or_default();
        let ends = match character {
            '。' | '！' | '？' => true,
            '!' | '?' => after.starts_with(char::is_whitespace),
            '.' => is_full_stop(text.get(..at).unwrap_or_default(), after),
            _ => false,
        };
        ends.then_some(at + character.len_utf8())
    })
}

fn is_full_stop(before: &str, after: &str) -> bool {
    if !after.starts_with(char::is_whitespace) {
        return false;
    }
    let word = before
        .rsplit(char::is_whitespace)
        .next()
        .unwrap_or_default();
    let word = word
        .trim_start_matches(['(', '[', '"', '\'', '`'])
        .to_lowercase();
    if ABBREVIATIONS.contains(&word.as_str()) {
        return false;
    }
    let goes_on = after.trim_start().starts_with(char::is_lowercase);
    after.starts_with('\n') || !goes_on
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(description: &str, expected: &str) {
        assert_eq!(first_sentence(description), expected, "{description:?}");
    }

    #[test]
    fn r_reg_09_the_first_sentence_is_found() {
        check("List issues. Paged.", "List issues.");
        check("List issues", "List issues");
        check(
            "Reads a file, e.g. `a.txt`. Then more.",
            "Reads a file, e.g. `a.txt`.",
        );
        check("Uses v1.2 of the API. More.", "Uses v1.2 of the API.");
        check("Send it (i.e. Post it). More", "Send it (i.e. Post it).");
        check("Wraps over\n  two lines.\nMore.", "Wraps over two lines.");
        check("Ends here.\nthen more", "Ends here.");
        check("查询天气。返回温度。", "查询天气。");
        check("Really? Yes.", "Really?");
        check("First line\n\nSecond paragraph", "First line");
    }

    #[test]
    fn leading_markup_is_removed() {
        check("# Title\n\nDoes it. More", "Does it.");
        check("## Only a title", "Only a title");
        check("<Purpose>\nDoes it.\n</Purpose>", "Does it.");
        check("<usecase>Does it well.</usecase> More", "Does it well.");
        check("- Does it\n- And that", "Does it");
        check("---\n**Does** it.", "Does it.");
        check("```\ncode\n```", "code");
        check("Returns <id> of a page", "Returns <id> of a page");
        check("a\u{1b}[2Jb\u{202e}c", "a[2Jbc");
        check("  \n\t", "");
    }
}
