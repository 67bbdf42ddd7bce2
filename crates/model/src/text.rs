//! Text that somebody else wrote, and the only way to show it.

use std::fmt;

/// Text from a server, a file or a person. Its `Display` escapes whatever could deceive a reader or a
/// terminal: control characters, bidirectional overrides, zero-width and tag characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreign<'a> {
    text: &'a str,
    limit: usize,
    keep_lines: bool,
}

impl<'a> Foreign<'a> {
    /// Wraps a text; line breaks and tabs are escaped too.
    pub fn new(text: &'a str) -> Self {
        Self {
            text,
            limit: usize::MAX,
            keep_lines: false,
        }
    }

    /// Wraps a text whose line breaks and tabs are kept, for showing in a block of its own.
    pub fn block(text: &'a str) -> Self {
        Self {
            text,
            limit: usize::MAX,
            keep_lines: true,
        }
    }

    /// Shows at most so many characters, with a mark where it was cut.
    pub fn shortened(self, limit: usize) -> Self {
        Self { limit, ..self }
    }
}

impl fmt::Display for Foreign<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (count, character) in self.text.chars().enumerate() {
            if count >= self.limit {
                return f.write_str("…");
            }
            match character {
                '\n' | '\t' if self.keep_lines => write!(f, "{character}")?,
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                c if is_deceptive(c) => write!(f, "\\u{{{:x}}}", u32::from(c))?,
                c => write!(f, "{c}")?,
            }
        }
        Ok(())
    }
}

fn is_deceptive(character: char) -> bool {
    character.is_control()
        || matches!(u32::from(character),
            0x00AD | 0x034F | 0x061C | 0x115F | 0x1160 | 0x17B4 | 0x17B5 | 0x180B..=0x180F
            | 0x200B..=0x200F | 0x2028..=0x202E | 0x2060..=0x206F | 0x3164 | 0xFEFF | 0xFFA0
            | 0xFFF0..=0xFFFB | 0xE000..=0xF8FF | 0xE0000..=0xE0FFF | 0xF0000..=0x10FFFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_cannot_move_the_cursor_or_hide() {
        let text = "ok\u{1b}[2Jgone\u{202e}abc\u{e0041}\u{200b}\nnext";
        let shown = Foreign::new(text).to_string();
        assert_eq!(
            shown,
            "ok\\u{1b}[2Jgone\\u{202e}abc\\u{e0041}\\u{200b}\\nnext"
        );
        assert_eq!(Foreign::block("a\nb").to_string(), "a\nb");
        assert_eq!(Foreign::new("日本語です").shortened(2).to_string(), "日本…");
    }
}
