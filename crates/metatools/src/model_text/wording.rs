//! Text utilities: counts, durations, quoting and shortening.

use std::time::Duration;

use pegboard_model::UntrustedText;

/// Formats a number with its noun.
pub(crate) fn count(number: usize, noun: &str) -> String {
    let plural = match (number, noun.strip_suffix('y')) {
        (1, _) => noun.to_owned(),
        (_, Some(stem)) => format!("{stem}ies"),
        (_, None) => format!("{noun}s"),
    };
    format!("{number} {plural}")
}

/// Formats a duration in its largest unit.
pub(crate) fn age(age: Duration) -> String {
    match age.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3600 => format!("{} min", seconds / 60),
        seconds @ 3600..86_400 => format!("{} h", seconds / 3600),
        seconds => format!("{} d", seconds / 86_400),
    }
}

/// Formats untrusted text on one line, with at most `limit` characters.
pub(crate) fn line(text: &str, limit: usize) -> String {
    UntrustedText::new(text.trim()).shortened(limit).to_string()
}

/// Quotes text that a model wrote.
pub(crate) fn quoted(text: &str) -> String {
    const SHOWN: usize = 60;
    format!("\"{}\"", line(text, SHOWN).replace('"', "'"))
}

/// Formats untrusted text of several lines, with `\n` as line break.
pub(crate) fn block(text: &str) -> String {
    let text = text.trim();
    if text.contains('\r') {
        return UntrustedText::block(&text.replace("\r\n", "\n").replace('\r', "\n")).to_string();
    }
    UntrustedText::block(text).to_string()
}

/// Like [`block`], without empty lines and deep indentation, which are useless to a model.
pub(crate) fn tidy(text: &str) -> String {
    const INDENT: usize = 2;
    let block = block(text);
    let lines = block
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty());
    let lines = lines.map(|line| {
        let bare = line.trim_start();
        let indent = (line.len() - bare.len()).min(INDENT);
        format!("{}{bare}", " ".repeat(indent))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the beginning of a text with at most `limit` characters, and the number of characters left out. It ends
/// after a sentence if that fills half of the limit, else after a word.
pub(crate) fn beginning(text: &str, limit: usize) -> (&str, usize) {
    let Some((end, _)) = text.char_indices().nth(limit) else {
        return (text, 0);
    };
    let room = text.get(..end).unwrap_or_default();
    let sentence = room
        .char_indices()
        .rev()
        .map(|(at, character)| (at + character.len_utf8(), character))
        .find(|(after, character)| match character {
            '\n' | '。' | '！' | '？' => true,
            '.' | '!' | '?' => room
                .get(*after..)
                .is_some_and(|rest| rest.starts_with(char::is_whitespace)),
            _ => false,
        })
        .map(|(after, _)| after)
        .filter(|after| *after >= end / 2);
    let word = || room.rfind(char::is_whitespace).filter(|at| *at >= end / 2);
    let kept = sentence.or_else(word).unwrap_or(end);
    let kept = text.get(..kept).unwrap_or_default().trim_end();
    let left = text.get(kept.len()..).unwrap_or_default().chars().count();
    (kept, left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, limit: usize, expected: (&str, usize)) {
        assert_eq!(beginning(text, limit), expected, "{text:?}");
    }

    #[test]
    fn texts_are_cut_at_a_sentence_or_a_word() {
        check("One two. Three four.", 40, ("One two. Three four.", 0));
        check("One two. Three four.", 12, ("One two.", 12));
        check("One two three four.", 12, ("One two", 12));
        check("Onetwothreefour", 6, ("Onetwo", 9));
        check("查询天气。返回温度。", 6, ("查询天气。", 5));
        check("", 3, ("", 0));
    }

    #[test]
    fn numbers_have_their_nouns() {
        assert_eq!(count(1, "category"), "1 category");
        assert_eq!(count(2, "category"), "2 categories");
        assert_eq!(count(0, "tool"), "0 tools");
    }
}
