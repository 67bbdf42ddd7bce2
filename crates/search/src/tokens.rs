//! Text to words: split at everything but letters and digits and inside identifiers, in lower case.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::weights::WORD_BYTES;

/// What a word was in its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// A word that stands by itself.
    Whole,
    /// A piece of an identifier such as `readFile`.
    Piece,
    /// The same identifier with its pieces put together.
    Joined,
    /// Two neighbouring characters of a script that writes no spaces, or a lone one.
    Pair,
}

/// Calls back with each word of a text, as far as the text is read.
pub(crate) fn each_word(text: &str, most_bytes: usize, mut found: impl FnMut(&str, Part)) {
    let mut scratch = String::new();
    let mut rest = cut(text, most_bytes);
    // Nearly all text is small ASCII letters, which need neither a table of characters nor a copy.
    while let Some(start) = rest.bytes().position(starts_word) {
        rest = rest.get(start..).unwrap_or_default();
        let plain = rest.bytes().take_while(is_small).count();
        let ends = rest
            .as_bytes()
            .get(plain)
            .is_none_or(|next| !starts_word(*next));
        let (run, behind) = if ends && plain <= WORD_BYTES {
            let (run, behind) = rest.split_at_checked(plain).unwrap_or((rest, ""));
            found(run, Part::Whole);
            (run, behind)
        } else {
            let (run, behind) = run_of(rest);
            mixed(run, &mut scratch, &mut found);
            (run, behind)
        };
        // What is no letter after all, such as a dash of another script, is passed.
        rest = if run.is_empty() {
            without_first(behind)
        } else {
            behind
        };
    }
}

fn is_small(byte: &u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

/// Whether a word may start with the character that starts with this byte.
fn starts_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || !byte.is_ascii()
}

fn without_first(text: &str) -> &str {
    let mut characters = text.chars();
    characters.next();
    characters.as_str()
}

/// The letters and digits of one kind of script that a text starts with, and the rest.
fn run_of(text: &str) -> (&str, &str) {
    let cjk = text.chars().next().is_some_and(is_cjk);
    let outside = |c: char| {
        let inside = c.is_ascii_alphanumeric()
            || !c.is_ascii() && (c.is_alphanumeric() || is_combining_mark(c));
        !inside || is_cjk(c) != cjk
    };
    let end = text.find(outside).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

fn mixed(run: &str, scratch: &mut String, found: &mut impl FnMut(&str, Part)) {
    if run.chars().next().is_some_and(is_cjk) {
        pairs(run, found);
    } else if !run.is_empty() {
        identifier(run, scratch, found);
    }
}

/// The start of a text, at most so many bytes of it.
pub(crate) fn cut(text: &str, most_bytes: usize) -> &str {
    let mut end = most_bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// A name as it is compared: small letters and digits alone.
pub(crate) fn folded(name: &str, most_bytes: usize) -> String {
    let mut line = String::with_capacity(name.len().min(most_bytes));
    fold(name, most_bytes, &mut line);
    line
}

/// Adds a name to a line as it is compared.
pub(crate) fn fold(name: &str, most_bytes: usize, line: &mut String) {
    for character in cut(name, most_bytes).chars() {
        if character.is_ascii() {
            if character.is_ascii_alphanumeric() {
                line.push(character.to_ascii_lowercase());
            }
        } else if character.is_alphanumeric() {
            line.extend(character.to_lowercase());
        }
    }
}

fn pairs(run: &str, found: &mut impl FnMut(&str, Part)) {
    let mut starts = run.char_indices().map(|(at, _)| at);
    let (Some(_), Some(_)) = (starts.next(), starts.next()) else {
        return found(run, Part::Pair);
    };
    let ends = starts.chain(std::iter::once(run.len()));
    for ((start, _), end) in run.char_indices().zip(ends) {
        if let Some(pair) = run.get(start..end) {
            found(pair, Part::Pair);
        }
    }
}

fn identifier(run: &str, scratch: &mut String, found: &mut impl FnMut(&str, Part)) {
    let mut start = 0;
    let mut pieces = 0;
    let mut characters = run.char_indices().peekable();
    let (mut small, mut large) = (false, false);
    while let Some((at, character)) = characters.next() {
        let is_large = character.is_uppercase();
        let mut next_small = || {
            let next = characters.peek();
            next.is_some_and(|(_, next)| next.is_lowercase())
        };
        // `readFile` breaks before `F`, `HTTPServer` before `S`.
        if at > start && is_large && (small || large && next_small()) {
            pieces += 1;
            word(
                run.get(start..at).unwrap_or_default(),
                Part::Piece,
                scratch,
                found,
            );
            start = at;
        }
        large = is_large;
        small = !is_large;
    }
    let rest = run.get(start..).unwrap_or_default();
    if pieces == 0 {
        return word(rest, Part::Whole, scratch, found);
    }
    word(rest, Part::Piece, scratch, found);
    word(run, Part::Joined, scratch, found);
}

fn word(text: &str, part: Part, scratch: &mut String, found: &mut impl FnMut(&str, Part)) {
    let text = cut(text, WORD_BYTES);
    if text
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    {
        return found(text, part);
    }
    scratch.clear();
    if text.is_ascii() {
        scratch.push_str(text);
        scratch.make_ascii_lowercase();
    } else {
        // Accents and wide or styled letters are dropped, so that `Größe` and `grosse` are near and `café` and
        // `cafe` are one.
        let plain = text.nfkd().filter(|c| !is_combining_mark(*c));
        scratch.extend(plain.flat_map(char::to_lowercase));
    }
    if !scratch.is_empty() {
        found(scratch, part);
    }
}

/// Scripts that write no spaces between words.
pub(crate) fn is_cjk(c: char) -> bool {
    matches!(c,
        '\u{3040}'..='\u{30ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let mut words = Vec::new();
        each_word(text, 1_000, |word, _| words.push(word.to_owned()));
        assert_eq!(words, expected, "{text}");
    }

    #[test]
    fn identifiers_fall_into_words_and_are_kept_whole() {
        check("create_pull-request", &["create", "pull", "request"]);
        check("getIssue", &["get", "issue", "getissue"]);
        check("HTTPServer", &["http", "server", "httpserver"]);
        check("API.get/v2", &["api", "get", "v2"]);
        check("···", &[]);
    }

    #[test]
    fn accents_and_wide_letters_are_plain() {
        check("Café ＡＢＣ cafe\u{301}", &["cafe", "abc", "cafe"]);
    }

    #[test]
    fn scripts_without_spaces_become_pairs() {
        check("查询天气", &["查询", "询天", "天气"]);
        check("水 ok水", &["水", "ok", "水"]);
    }

    #[test]
    fn names_are_folded() {
        assert_eq!(folded("GitHub__Close-issue", 100), "githubcloseissue");
        assert_eq!(folded("äöü", 3), "ä");
    }
}
