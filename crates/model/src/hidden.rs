//! Hidden characters: those that a reader cannot see, or that change how other characters are displayed.
//!
//! They are identified by general category, so that new Unicode versions extend the set; only what the categories do
//! not cover is listed by code point. A variation selector or joiner directly after an emoji is part of the emoji and
//! not hidden; anywhere else it is invisible and could carry a message.

use std::iter::Peekable;
use std::str::Chars;

use unicode_general_category::{GeneralCategory, get_general_category};

const EMOJI_SELECTOR: char = '\u{fe0f}';
const JOINER: char = '\u{200d}';
const KEYCAP: char = '\u{20e3}';

/// A character of a text, and whether it must be escaped at its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CheckedChar {
    pub(crate) character: char,
    pub(crate) hidden: bool,
}

/// The characters of a text with their visibility, which also depends on their neighbours.
pub(crate) fn checked_chars(text: &str) -> impl Iterator<Item = CheckedChar> + '_ {
    CheckedChars {
        rest: text.chars().peekable(),
        previous: Previous::Other,
    }
}

/// Whether a character is hidden by itself: a control, format, private-use, unassigned or invisible character. Line
/// breaks and tabs count as hidden.
pub fn is_hidden(character: char) -> bool {
    // Fast path: most texts are ASCII.
    if character.is_ascii() {
        return character.is_ascii_control();
    }
    matches!(
        get_general_category(character),
        GeneralCategory::Control
            | GeneralCategory::Format
            | GeneralCategory::PrivateUse
            | GeneralCategory::Surrogate
            | GeneralCategory::Unassigned
            | GeneralCategory::LineSeparator
            | GeneralCategory::ParagraphSeparator
    ) || is_invisible_by_itself(character)
}

/// Letters, marks and symbols without a visible glyph: combining grapheme joiner, Hangul fillers, Khmer inherent
/// vowels, variation selectors, the blank braille pattern.
fn is_invisible_by_itself(character: char) -> bool {
    matches!(u32::from(character),
        0x034F | 0x115F | 0x1160 | 0x17B4 | 0x17B5 | 0x180B..=0x180F | 0x2800 | 0x3164
        | 0xFE00..=0xFE0F | 0xFFA0 | 0xE0000..=0xE0FFF)
}

/// The previous character, as far as it matters for emoji sequences.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Previous {
    /// A symbol or a skin tone.
    Emoji,
    /// An emoji with its variation selector.
    Selected,
    /// A digit, `#` or `*`, which may become a keycap.
    Key,
    Other,
}

struct CheckedChars<'a> {
    rest: Peekable<Chars<'a>>,
    previous: Previous,
}

impl Iterator for CheckedChars<'_> {
    type Item = CheckedChar;

    fn next(&mut self) -> Option<CheckedChar> {
        let character = self.rest.next()?;
        let (hidden, previous) = match character {
            EMOJI_SELECTOR => match self.previous {
                Previous::Emoji => (false, Previous::Selected),
                Previous::Key if self.rest.peek() == Some(&KEYCAP) => (false, Previous::Other),
                _ => (true, Previous::Other),
            },
            JOINER => {
                let follows = matches!(self.previous, Previous::Emoji | Previous::Selected);
                let leads = self.rest.peek().copied().is_some_and(is_emoji);
                (!(follows && leads), Previous::Other)
            }
            '0'..='9' | '#' | '*' => (false, Previous::Key),
            other if is_emoji(other) => (false, Previous::Emoji),
            other => (is_hidden(other), Previous::Other),
        };
        self.previous = previous;
        Some(CheckedChar { character, hidden })
    }
}

/// Whether a character can be part of an emoji sequence: a symbol or a skin tone.
fn is_emoji(character: char) -> bool {
    match u32::from(character) {
        0x1F3FB..=0x1F3FF => true,
        // The blank braille pattern has no visible glyph.
        0x2800 => false,
        // Symbols below © cannot start an emoji.
        code if code < 0xA9 => false,
        _ => get_general_category(character) == GeneralCategory::OtherSymbol,
    }
}

#[cfg(test)]
mod tests {
    use crate::UntrustedText;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(UntrustedText::new(text).to_string(), expected);
    }

    #[test]
    fn r_sec_01_every_hidden_character_is_escaped() {
        // Controls, bidi, zero width, tags, fillers, separators, private use, unassigned, musical format.
        for code in [
            0x07, 0x1b, 0x7f, 0x85, 0x9b, 0xad, 0x34f, 0x61c, 0x115f, 0x1160, 0x17b4, 0x180e,
            0x200b, 0x200c, 0x200d, 0x200e, 0x2028, 0x2029, 0x202a, 0x202e, 0x2060, 0x2066, 0x2069,
            0x206f, 0x2800, 0x3164, 0xe000, 0xfe00, 0xfe0f, 0xfeff, 0xffa0, 0xfff9, 0xffff,
            0x1d173, 0x1d17a, 0xe0001, 0xe0041, 0xe007f, 0xe0100, 0xe01ef, 0xe0fff, 0xf0000,
            0x10fffd,
        ] {
            let character = char::from_u32(code).unwrap();
            check(&format!("a{character}b"), &format!("a\\u{{{code:x}}}b"));
        }
    }

    #[test]
    fn texts_of_all_scripts_stay_readable() {
        for text in [
            "naïve café",
            "日本語です",
            "עברית",
            "العربية",
            "हिन्दी",
            "a\u{a0}b",
            "© ™ → ✓",
        ] {
            check(text, text);
        }
    }

    #[test]
    fn r_sec_01_emoji_are_kept_and_their_parts_cannot_hide_messages() {
        for emoji in [
            "❤\u{fe0f}",
            "👩\u{200d}🚀",
            "👍🏽",
            "🏳\u{fe0f}\u{200d}🌈",
            "1\u{fe0f}\u{20e3}",
            "🇩🇪",
        ] {
            check(emoji, emoji);
        }
        check("👍🏽\u{200d}♂\u{fe0f}", "👍🏽\u{200d}♂\u{fe0f}");
        check("❤\u{fe0f}\u{fe0f}", "❤\u{fe0f}\\u{fe0f}");
        check("❤\u{200d}\u{200d}❤", "❤\\u{200d}\\u{200d}❤");
        check("a\u{fe0f}", "a\\u{fe0f}");
        check("1\u{fe0f}2", "1\\u{fe0f}2");
        check("❤\u{200d}a", "❤\\u{200d}a");
        check("❤\u{e0041}", "❤\\u{e0041}");
    }
}
