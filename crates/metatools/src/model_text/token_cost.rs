//! An upper estimate of a text's tokens, for responses with a hard limit.
//!
//! `pegboard_guard::estimate_tokens` is right on average and for prose, but a hostile name can cost five times
//! its estimate. Here a word counts as one token only if it is known to be one. Everything else is counted by its
//! letters, at the rate of text that no tokenizer has seen before.

use std::sync::OnceLock;

/// The 2,000 most frequent words in the definitions of public tools that are one o200k token, with and without
/// a capital.
const FAMILIAR: &str = include_str!("familiar_words.txt");

/// Weights in thousandths of a token, selection so that random letters, digits, marks and scripts are not
/// underestimated by more than the margin of the budgets (measured with o200k).
mod weight {
    pub(super) const FAMILIAR_WORD: u64 = 1000;
    /// A familiar word together with the `_` before it, which is one token for most of them.
    pub(super) const FAMILIAR_AFTER_UNDERSCORE: u64 = 700;
    pub(super) const UNFAMILIAR_WORD: u64 = 200;
    pub(super) const LETTER: u64 = 460;
    pub(super) const CAPITAL: u64 = 620;
    /// For a consonant that follows another one.
    pub(super) const CONSONANT_PAIR: u64 = 140;
    pub(super) const SHORTEST_WORD: u64 = 1100;
    pub(super) const DIGITS: u64 = 1000;
    pub(super) const WHITE_SPACE: u64 = 1000;
    pub(super) const MARK_BEFORE_WORD: u64 = 750;
    pub(super) const MARK: u64 = 1000;
    pub(super) const NEXT_MARK: u64 = 700;
    /// For each mark beyond the third of a run of JSON punctuation such as `":"` and `"},{"`.
    pub(super) const NEXT_JSON_MARK: u64 = 550;
}

/// Returns the cost of a text in thousandths of a token. The cost of a concatenation is at most the sum of the
/// costs of its parts, so that responses can be counted piece by piece.
pub(crate) fn cost(text: &str) -> u64 {
    let mut total = 0;
    let mut rest = text;
    let mut before = None;
    while let Some(first) = rest.chars().next() {
        let (length, cost) = piece(rest, first, before);
        total += cost;
        let taken = rest.get(..length).unwrap_or_default();
        before = taken.chars().next_back();
        rest = rest.get(length..).unwrap_or_default();
    }
    total
}

/// Returns the length and the cost of the first piece of a text.
fn piece(text: &str, first: char, before: Option<char>) -> (usize, u64) {
    let run = |belongs: fn(&u8) -> bool| text.bytes().take_while(belongs).count();
    match first {
        'A'..='Z' | 'a'..='z' => word(text, before),
        '0'..='9' => (run(u8::is_ascii_digit).min(3), weight::DIGITS),
        ' ' => {
            let joins = text
                .chars()
                .nth(1)
                .is_some_and(|next| !next.is_ascii_digit() && !next.is_whitespace());
            (1, if joins { 0 } else { weight::WHITE_SPACE })
        }
        '\n' | '\r' | '\t' => (run(u8::is_ascii_whitespace), weight::WHITE_SPACE),
        '\0'..='\x7f' => marks(text),
        _ => (first.len_utf8(), non_ascii(first)),
    }
}

fn word(text: &str, before: Option<char>) -> (usize, u64) {
    let bytes = text.as_bytes();
    let capitals = bytes
        .iter()
        .take_while(|byte| byte.is_ascii_uppercase())
        .count();
    let small = bytes
        .iter()
        .skip(capitals)
        .take_while(|byte| byte.is_ascii_lowercase())
        .count();
    let length = capitals + small;
    let word = text.get(..length).unwrap_or_default();
    if capitals <= 1 && small > 0 && is_familiar(word) {
        let joined = before == Some('_') && capitals == 0;
        let cost = if joined {
            weight::FAMILIAR_AFTER_UNDERSCORE
        } else {
            weight::FAMILIAR_WORD
        };
        return (length, cost);
    }
    let is_vowel = |byte: &u8| {
        matches!(
            byte.to_ascii_lowercase(),
            b'a' | b'e' | b'i' | b'o' | b'u' | b'y'
        )
    };
    let pairs = word
        .as_bytes()
        .windows(2)
        .filter(|pair| !pair.iter().any(is_vowel))
        .count();
    // A single capital begins a word; several are tokenized separately.
    let dear = if capitals > 1 { capitals } else { 0 };
    let letters = (length - dear) as u64 * weight::LETTER + dear as u64 * weight::CAPITAL;
    let cost = weight::UNFAMILIAR_WORD + letters + pairs as u64 * weight::CONSONANT_PAIR;
    (length, cost.max(weight::SHORTEST_WORD))
}

fn is_familiar(word: &str) -> bool {
    static WORDS: OnceLock<Vec<&'static str>> = OnceLock::new();
    let words = WORDS.get_or_init(|| FAMILIAR.split_ascii_whitespace().collect());
    let lower = |word: &str| {
        word.bytes()
            .map(|byte| byte.to_ascii_lowercase())
            .collect::<Vec<u8>>()
    };
    match word.as_bytes().first() {
        Some(first) if first.is_ascii_lowercase() => words.binary_search(&word).is_ok(),
        _ => {
            let lower = lower(word);
            words
                .binary_search_by(|known| known.as_bytes().cmp(&lower))
                .is_ok()
        }
    }
}

fn marks(text: &str) -> (usize, u64) {
    let is_mark =
        |byte: &u8| byte.is_ascii() && !byte.is_ascii_alphanumeric() && !byte.is_ascii_whitespace();
    let length = text.bytes().take_while(is_mark).count().max(1);
    let run = text.get(..length).unwrap_or_default();
    let more = (length - 1) as u64;
    let cost = if length == 1 {
        let before_word = text.as_bytes().get(1).is_some_and(u8::is_ascii_alphabetic);
        if before_word {
            weight::MARK_BEFORE_WORD
        } else {
            weight::MARK
        }
    } else if run.bytes().all(|byte| br#"{}[]":,"#.contains(&byte)) {
        weight::MARK + more.saturating_sub(2) * weight::NEXT_JSON_MARK
    } else {
        weight::MARK + more * weight::NEXT_MARK
    };
    (length, cost)
}

/// Returns the cost of a character outside ASCII, measured with random text of each Unicode block, which costs more
/// than the languages of the block do.
fn non_ascii(character: char) -> u64 {
    match u32::from(character) {
        // The dash and the ellipsis of our own lines.
        0x2014 | 0x2026 => 1000,
        0x80..=0x17f => 1350,
        0x460..=0x52f | 0x700..=0x7ff => 2000,
        0x180..=0x6ff => 1150,
        0x900..=0xdff => 1700,
        0xe00..=0xeff => 1200,
        0x3040..=0x30ff => 1300,
        0x4e00..=0x9fff => 2000,
        0xac00..=0xd7af => 2350,
        0x2000..=0x2fff => 2800,
        0x800..=0xffff => 3000,
        _ => 4000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_familiar_words_are_sorted_for_the_search() {
        let words: Vec<&str> = FAMILIAR.split_ascii_whitespace().collect();
        assert!(words.is_sorted());
        assert!(
            words
                .iter()
                .all(|word| word.bytes().all(|byte| byte.is_ascii_lowercase()))
        );
        assert!(is_familiar("create") && is_familiar("Create") && !is_familiar("createe"));
    }

    #[test]
    fn unknown_letters_cost_more_than_words() {
        assert_eq!(cost("create an issue"), 3_120);
        assert!(cost("qzxkvj") > 3_000);
        assert_eq!(cost(""), 0);
    }
}
