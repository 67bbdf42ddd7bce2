//! Text normalization for the vocabulary: lower case, no accents, separate punctuation.

use unicode_general_category::{GeneralCategory, get_general_category};
use unicode_normalization::UnicodeNormalization;

/// Maximum number of bytes of a text that are read. The maximum number of tokens, each a word of maximum length with
/// four bytes per letter, fits into it. Without a limit a text of spaces would be read to its end.
const MAX_BYTES: usize = 64 * 1024;

/// The characters of a text in lower case, without accents and with spaces between words.
pub(super) fn letters(text: &str) -> impl Iterator<Item = char> {
    start_of(text)
        .chars()
        .filter(|letter| !is_control(*letter))
        .flat_map(spaced)
        .flat_map(char::to_lowercase)
        .nfd()
        .filter(|letter| letter.is_ascii() || !is_accent(*letter))
}

fn start_of(text: &str) -> &str {
    let max = text.len().min(MAX_BYTES);
    let ends = (0..=max).rev();
    ends.filter_map(|end| text.get(..end))
        .next()
        .unwrap_or_default()
}

/// Whether a character is punctuation, which is always a separate word.
pub(super) fn is_punctuation(letter: char) -> bool {
    use GeneralCategory as Is;
    if letter.is_ascii() {
        return letter.is_ascii_punctuation();
    }
    matches!(
        get_general_category(letter),
        Is::ConnectorPunctuation
            | Is::DashPunctuation
            | Is::OpenPunctuation
            | Is::ClosePunctuation
            | Is::InitialPunctuation
            | Is::FinalPunctuation
            | Is::OtherPunctuation
    )
}

fn is_control(letter: char) -> bool {
    use GeneralCategory as Is;
    if letter.is_ascii() {
        return letter.is_ascii_control() && !matches!(letter, '\t' | '\n' | '\r');
    }
    letter == char::REPLACEMENT_CHARACTER
        || matches!(
            get_general_category(letter),
            Is::Control | Is::Format | Is::PrivateUse | Is::Surrogate | Is::Unassigned
        )
}

fn is_accent(letter: char) -> bool {
    get_general_category(letter) == GeneralCategory::NonspacingMark
}

/// Replaces white space by a space, and surrounds a CJK character, which is a word by itself, with spaces.
fn spaced(letter: char) -> impl Iterator<Item = char> {
    let (blank, letter) = if is_cjk(letter) {
        (Some(' '), letter)
    } else if letter.is_whitespace() {
        (None, ' ')
    } else {
        (None, letter)
    };
    blank.into_iter().chain([letter]).chain(blank)
}

/// The blocks of Chinese characters that the vocabulary was created with. They do not include Kana and Hangul.
fn is_cjk(letter: char) -> bool {
    matches!(letter,
        '\u{4E00}'..='\u{9FFF}'
        | '\u{3400}'..='\u{4DBF}'
        | '\u{20000}'..='\u{2A6DF}'
        | '\u{2A700}'..='\u{2CEAF}'
        | '\u{F900}'..='\u{FAFF}'
        | '\u{2F800}'..='\u{2FA1F}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_find_02_letters_are_normalized() {
        let check = |text, expected: &str| assert_eq!(letters(text).collect::<String>(), expected);
        check("Ünïcödé ÇA", "unicode ca");
        check("a\tb\nc\u{a0}d\u{2028}e", "a b c d e");
        check("a\u{0}b\u{7}c\u{200b}d\u{fffd}e", "abcde");
        check("取x", " 取 x");
        check("İ", "i");
        check("", "");
    }

    #[test]
    fn r_find_02_punctuation_is_recognized_in_every_script() {
        for letter in "$+<=>^|~`!\"'—“…。、¿".chars() {
            assert!(is_punctuation(letter), "{letter}");
        }
        for letter in "a1é€取🚀°".chars() {
            assert!(!is_punctuation(letter), "{letter}");
        }
    }
}
