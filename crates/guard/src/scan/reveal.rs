//! Reveals what a text hides: decodes tag characters, removes invisible ones, and maps look-alike letters to Latin.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;
use unicode_security::confusable_detection::skeleton;

/// Invisible characters in sequence that count as a hidden message, not as a leftover of an editor.
const MESSAGE_MIN: usize = 8;
/// Characters of white space in sequence that push the text after them out of sight.
const PADDING_SPACES: usize = 70;
const PADDING_LINES: usize = 20;

/// Which hidden characters a text contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Hidden {
    /// Tag characters, which spell an invisible text.
    pub(super) tags: bool,
    /// Overrides of the text direction.
    pub(super) bidi: bool,
    /// Zero-width and other invisible characters.
    pub(super) invisible: bool,
    /// So many invisible characters in sequence that they encode a message.
    pub(super) message: bool,
    /// Private-use characters.
    pub(super) private: bool,
    /// Escape sequences for a terminal, or other control characters.
    pub(super) control: bool,
    /// Words of Latin and look-alike letters.
    pub(super) mixed: bool,
    /// Text after so much white space that a reader does not see it.
    pub(super) padded: bool,
}

/// A text with everything in sight, in lower case.
pub(super) struct Revealed<'a> {
    pub(super) text: Cow<'a, str>,
    pub(super) hidden: Hidden,
}

/// Reveals a text. ASCII text without control characters is only put into lower case.
pub(super) fn reveal(text: &str) -> Revealed<'_> {
    let mut hidden = Hidden {
        padded: is_padded(text),
        ..Hidden::default()
    };
    let is_plain = |byte: u8| byte >= 0x20 && byte != 0x7f || matches!(byte, b'\n' | b'\t' | b'\r');
    if text.is_ascii() && text.bytes().all(is_plain) {
        let has_upper = text.bytes().any(|byte| byte.is_ascii_uppercase());
        let text = if has_upper {
            Cow::Owned(text.to_ascii_lowercase())
        } else {
            Cow::Borrowed(text)
        };
        return Revealed { text, hidden };
    }
    let visible = visible(text, &mut hidden);
    let normal: String = visible.nfkc().collect::<String>().to_lowercase();
    let text = Cow::Owned(latin(&normal, &mut hidden));
    Revealed { text, hidden }
}

/// The text without hidden characters. Tag characters are decoded.
fn visible(text: &str, hidden: &mut Hidden) -> String {
    let mut out = String::with_capacity(text.len());
    let mut run = 0_usize;
    let mut previous = ' ';
    let has_rtl = text.chars().any(is_rtl);
    let mut characters = text.chars().peekable();
    let mut in_flag = false;
    while let Some(character) = characters.next() {
        let next = characters.peek().copied().unwrap_or(' ');
        let was_hidden = match character {
            // A flag of a region is spelled with tag characters after a black flag.
            '\u{1f3f4}' => {
                in_flag = true;
                false
            }
            '\u{e0020}'..='\u{e007f}' | '\u{e0001}' if in_flag => {
                in_flag = character != '\u{e007f}';
                previous = character;
                continue;
            }
            '\u{e0000}'..='\u{e007f}' => {
                hidden.tags = true;
                if let Some(decoded) =
                    char::from_u32(u32::from(character) - 0xe0000).filter(char::is_ascii)
                {
                    out.push(if decoded.is_control() { ' ' } else { decoded });
                }
                true
            }
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                hidden.bidi = true;
                true
            }
            '\u{200e}' | '\u{200f}' | '\u{61c}' if has_rtl => continue,
            '\u{200c}' | '\u{200d}' if joins(previous, next) => {
                previous = character;
                continue;
            }
            '\u{fe0e}' | '\u{fe0f}' if is_symbol(previous) => {
                previous = character;
                continue;
            }
            '\u{feff}' if out.is_empty() => continue,
            '\u{200b}'..='\u{200f}'
            | '\u{2060}'..='\u{2064}'
            | '\u{206a}'..='\u{206f}'
            | '\u{feff}'
            | '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{3164}'
            | '\u{ffa0}'
            | '\u{2800}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{e0100}'..='\u{e01ef}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{1d173}'..='\u{1d17a}' => {
                // A soft hyphen in a long word is typography.
                hidden.invisible |= character != '\u{ad}';
                true
            }
            '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}' => {
                hidden.private = true;
                true
            }
            '\n' | '\t' | '\r' => false,
            control if control.is_control() => {
                hidden.control = true;
                true
            }
            _ => {
                in_flag = false;
                false
            }
        };
        if was_hidden {
            run += 1;
            hidden.message |= run >= MESSAGE_MIN;
        } else {
            run = 0;
            out.push(character);
        }
        previous = character;
    }
    out
}

fn is_symbol(character: char) -> bool {
    matches!(u32::from(character), 0x23 | 0x2a | 0x30..=0x39 | 0xa9 | 0xae | 0x203c..=0x3299 | 0x1f000..=0x1faff)
}

fn is_rtl(character: char) -> bool {
    matches!(u32::from(character), 0x590..=0x8ff | 0xfb1d..=0xfdff | 0xfe70..=0xfefc)
}

/// Whether a joiner between two characters is part of the writing: in emoji, and in Arabic and Indic scripts.
fn joins(previous: char, next: char) -> bool {
    let is_script =
        |character: char| matches!(u32::from(character), 0x600..=0xdff | 0x1780..=0x17ff);
    let is_emoji = |character: char| {
        is_symbol(character) && !character.is_ascii()
            || character == '\u{fe0f}'
            || matches!(u32::from(character), 0x1f3fb..=0x1f3ff | 0xe007f)
    };
    (is_emoji(previous) && is_emoji(next)) || (is_script(previous) && is_script(next))
}

/// Maps letters that look like Latin ones to them, in words that also have Latin letters.
fn latin(text: &str, hidden: &mut Hidden) -> String {
    let mut out = String::with_capacity(text.len());
    let mut word = String::new();
    for character in text.chars() {
        if character.is_alphanumeric() {
            word.push(character);
            continue;
        }
        push_latin(&mut out, &word, hidden);
        word.clear();
        out.push(character);
    }
    push_latin(&mut out, &word, hidden);
    out
}

fn push_latin(out: &mut String, word: &str, hidden: &mut Hidden) {
    if word.is_ascii() {
        out.push_str(word);
        return;
    }
    let is_foreign = |character: char| matches!(u32::from(character), 0x370..=0x3bb | 0x3bd..=0x52f | 0x2d00..=0x2dff | 0x13a0..=0x13ff);
    let latin = word.chars().filter(char::is_ascii_alphabetic).count();
    let foreign = word
        .chars()
        .filter(|character| is_foreign(*character))
        .count();
    // One letter alone may replace a part of a spaced-out word.
    let is_single = foreign == 1 && word.chars().count() == 1;
    if foreign == 0 || (latin < 2 && !is_single) {
        out.push_str(word);
        return;
    }
    let mapped: String = skeleton(word).collect();
    if mapped.is_ascii() && latin >= 2 {
        hidden.mixed = true;
    }
    out.push_str(if mapped.is_ascii() { &mapped } else { word });
}

/// Whether text follows so much white space that a reader does not see it.
fn is_padded(text: &str) -> bool {
    let (mut spaces, mut lines, mut seen) = (0_usize, 0_usize, false);
    for byte in text.bytes() {
        match byte {
            b'\n' => {
                lines += 1;
                spaces = 0;
            }
            b' ' | b'\t' | b'\r' => spaces += 1,
            _ => {
                if seen && (spaces >= PADDING_SPACES || lines >= PADDING_LINES) {
                    return true;
                }
                (spaces, lines, seen) = (0, 0, true);
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str, has: impl Fn(Hidden) -> bool) {
        let revealed = reveal(text);
        assert_eq!(revealed.text, expected);
        assert!(has(revealed.hidden), "{:?}", revealed.hidden);
    }

    #[test]
    fn r_scan_01_hidden_text_is_revealed() {
        check("Add\u{e0052}\u{e0055}\u{e004e}", "addrun", |hidden| {
            hidden.tags
        });
        check("ig\u{200b}nore", "ignore", |hidden| hidden.invisible);
        check("a\u{202e}b", "ab", |hidden| hidden.bidi);
        check("a\u{e000}b", "ab", |hidden| hidden.private);
        check("a\u{1b}[0m", "a[0m", |hidden| hidden.control);
        check("ignоre", "ignore", |hidden| hidden.mixed);
        check("ｉｇｎｏｒｅ", "ignore", |hidden| {
            hidden == Hidden::default()
        });
        check(&format!("a{}", "\u{fe00}".repeat(9)), "a", |hidden| {
            hidden.message
        });
        check(
            &format!("a{}b", " ".repeat(80)),
            &format!("a{}b", " ".repeat(80)),
            |hidden| hidden.padded,
        );
    }

    #[test]
    fn r_scan_01_writing_that_needs_invisible_characters_is_clean() {
        for text in [
            "👨\u{200d}👩\u{200d}👧 ❤\u{fe0f} 1\u{fe0f}\u{20e3}",
            "می\u{200c}خواهم",
            "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
            "\u{feff}Zürich",
            "5 µs, Δt",
            "Привет мир",
        ] {
            assert_eq!(reveal(text).hidden, Hidden::default(), "{text}");
        }
    }
}
