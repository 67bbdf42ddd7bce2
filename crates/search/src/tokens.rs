//! Splitting of text into lower-case words, at everything except letters and digits and inside identifiers.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::weights::WORD_BYTES;

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A separate word.
    Word,
    /// A piece of an identifier such as `readFile`.
    Piece,
    /// A complete identifier that was also split into pieces.
    Joined,
    /// Two adjacent characters of a script without spaces, or a single one.
    Bigram,
}

/// Calls back with each token of the first `max_bytes` of a text.
pub(crate) fn each_word(text: &str, max_bytes: usize, mut found: impl FnMut(&str, TokenKind)) {
    let mut scratch = String::new();
    let mut rest = cut(text, max_bytes);
    // Fast path: most text is lower-case ASCII, which needs neither a character table nor a copy.
    while let Some(start) = rest.bytes().position(starts_word) {
        rest = rest.get(start..).unwrap_or_default();
        let plain = rest.bytes().take_while(is_small).count();
        let ends = rest
            .as_bytes()
            .get(plain)
            .is_none_or(|next| !starts_word(*next));
        let (run, behind) = if ends && plain <= WORD_BYTES {
            let (run, behind) = rest.split_at_checked(plain).unwrap_or((rest, ""));
            found(run, TokenKind::Word);
            (run, behind)
        } else {
            let (run, behind) = run_of(rest);
            mixed(run, &mut scratch, &mut found);
            (run, behind)
        };
        // Skips non-ASCII characters that are not letters, such as dashes.
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

/// Whether a character that starts with this byte can start a word.
fn starts_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || !byte.is_ascii()
}

fn without_first(text: &str) -> &str {
    let mut characters = text.chars();
    characters.next();
    characters.as_str()
}

/// Splits off the leading letters and digits of the same kind of script.
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

fn mixed(run: &str, scratch: &mut String, found: &mut impl FnMut(&str, TokenKind)) {
    if run.chars().next().is_some_and(is_cjk) {
        bigrams(run, found);
    } else if !run.is_empty() {
        identifier(run, scratch, found);
    }
}

/// The first `max_bytes` of a text, shortened to a character boundary.
pub(crate) fn cut(text: &str, max_bytes: usize) -> &str {
    let mut end = max_bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// Folds a name for comparison: lower-case letters and digits only.
pub(crate) fn folded(name: &str, max_bytes: usize) -> String {
    let mut line = String::with_capacity(name.len().min(max_bytes));
    fold(name, max_bytes, &mut line);
    line
}

/// Appends a folded name to `line`.
pub(crate) fn fold(name: &str, max_bytes: usize, line: &mut String) {
    for character in cut(name, max_bytes).chars() {
        if character.is_ascii() {
            if character.is_ascii_alphanumeric() {
                line.push(character.to_ascii_lowercase());
            }
        } else if character.is_alphanumeric() {
            line.extend(character.to_lowercase());
        }
    }
}

fn bigrams(run: &str, found: &mut impl FnMut(&str, TokenKind)) {
    let mut starts = run.char_indices().map(|(at, _)| at);
    let (Some(_), Some(_)) = (starts.next(), starts.next()) else {
        return found(run, TokenKind::Bigram);
    };
    let ends = starts.chain(std::iter::once(run.len()));
    for ((start, _), end) in run.char_indices().zip(ends) {
        if let Some(pair) = run.get(start..end) {
            found(pair, TokenKind::Bigram);
        }
    }
}

fn identifier(run: &str, scratch: &mut String, found: &mut impl FnMut(&str, TokenKind)) {
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
        // `readFile` is split before `F`, `HTTPServer` before `S`.
        if at > start && is_large && (small || large && next_small()) {
            pieces += 1;
            word(
                run.get(start..at).unwrap_or_default(),
                TokenKind::Piece,
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
        return word(rest, TokenKind::Word, scratch, found);
    }
    word(rest, TokenKind::Piece, scratch, found);
    word(run, TokenKind::Joined, scratch, found);
}

fn word(
    text: &str,
    kind: TokenKind,
    scratch: &mut String,
    found: &mut impl FnMut(&str, TokenKind),
) {
    let text = cut(text, WORD_BYTES);
    if text
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    {
        return found(text, kind);
    }
    scratch.clear();
    if text.is_ascii() {
        scratch.push_str(text);
        scratch.make_ascii_lowercase();
    } else {
        // Removes accents and width or style variants, so that `café` and `cafe` are the same word.
        let plain = text.nfkd().filter(|c| !is_combining_mark(*c));
        scratch.extend(plain.flat_map(char::to_lowercase));
    }
    if !scratch.is_empty() {
        found(scratch, kind);
    }
}

/// Whether a character belongs to a script without spaces between words.
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
    fn identifiers_are_split_and_also_kept_whole() {
        check("create_pull-request", &["create", "pull", "request"]);
        check("getIssue", &["get", "issue", "getissue"]);
        check("HTTPServer", &["http", "server", "httpserver"]);
        check("API.get/v2", &["api", "get", "v2"]);
        check("···", &[]);
    }

    #[test]
    fn accents_and_wide_letters_are_removed() {
        check("Café ＡＢＣ cafe\u{301}", &["cafe", "abc", "cafe"]);
    }

    #[test]
    fn scripts_without_spaces_become_bigrams() {
        check("查询天气", &["查询", "询天", "天气"]);
        check("水 ok水", &["水", "ok", "水"]);
    }

    #[test]
    fn names_are_folded() {
        assert_eq!(folded("GitHub__Close-issue", 100), "githubcloseissue");
        assert_eq!(folded("äöü", 3), "ä");
    }
}
