//! Splits a client's input into lines of limited length, without copying.

use std::io;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

/// Minimum read buffer.
const READ_BYTES: usize = 16 * 1024;

/// A non-empty line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Whole(Bytes),
    /// Skipped because it is longer than this limit.
    TooLong(usize),
}

pub(super) struct Lines<R> {
    input: R,
    buffer: BytesMut,
    /// How much of the buffer is known to contain no line break.
    scanned: usize,
    max: usize,
    /// Whether the rest of an overlong line must still be skipped.
    skipping: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(input: R, max: usize) -> Self {
        Self {
            input,
            buffer: BytesMut::new(),
            scanned: 0,
            max,
            skipping: false,
        }
    }

    /// The next line, or `None` at the end of the input. Cancel safe.
    pub(super) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            while let Some(line) = self.take_line() {
                if let Some(line) = self.classify(line) {
                    return Ok(Some(line));
                }
            }
            if self.buffer.len() > self.max {
                self.buffer.clear();
                self.scanned = 0;
                self.skipping = true;
            }
            self.buffer.reserve(READ_BYTES);
            if self.input.read_buf(&mut self.buffer).await? == 0 {
                self.scanned = 0;
                // The last line may have no line break.
                let rest = self.buffer.split().freeze();
                return Ok(self.classify(rest));
            }
        }
    }

    /// Removes a line from the buffer, without its line break.
    fn take_line(&mut self) -> Option<Bytes> {
        let new = self.buffer.get(self.scanned..).unwrap_or_default();
        let Some(at) = memchr::memchr(b'\n', new) else {
            self.scanned = self.buffer.len();
            return None;
        };
        let mut line = self.buffer.split_to(self.scanned + at + 1);
        self.scanned = 0;
        line.truncate(line.len() - 1);
        Some(line.freeze())
    }

    fn classify(&mut self, line: Bytes) -> Option<Line> {
        if std::mem::take(&mut self.skipping) || line.len() > self.max {
            return Some(Line::TooLong(self.max));
        }
        let end = line.iter().rposition(|byte| !byte.is_ascii_whitespace())?;
        Some(Line::Whole(line.slice(..=end)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads chunks as they arrive through a pipe.
    async fn check(pieces: &[&str], expected: &[Option<&str>]) {
        let mut input = tokio_test_input(pieces);
        let mut lines = Lines::new(&mut input, 8);
        let mut got = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            got.push(match line {
                Line::Whole(text) => Some(String::from_utf8(text.to_vec()).unwrap()),
                Line::TooLong(max) => {
                    assert_eq!(max, 8);
                    None
                }
            });
        }
        let got: Vec<_> = got.iter().map(Option::as_deref).collect();
        assert_eq!(got, expected, "{pieces:?}");
    }

    fn tokio_test_input(pieces: &[&str]) -> impl AsyncRead + Unpin {
        let pieces: Vec<String> = pieces.iter().map(|piece| (*piece).to_owned()).collect();
        let mut whole: Box<dyn AsyncRead + Unpin> = Box::new(tokio::io::empty());
        for piece in pieces {
            whole = Box::new(whole.chain(std::io::Cursor::new(piece)));
        }
        whole
    }

    #[tokio::test]
    async fn lines_are_reassembled_from_any_chunks() {
        check(
            &["a\nbc\r\n", "d", "e\n\n  \nf"],
            &[Some("a"), Some("bc"), Some("de"), Some("f")],
        )
        .await;
        check(&[], &[]).await;
        check(&["\n\n"], &[]).await;
    }

    #[tokio::test]
    async fn r_gate_01_a_line_that_is_too_long_is_dropped_alone() {
        check(
            &["12345678\n", "123456789\n", "ok\n"],
            &[Some("12345678"), None, Some("ok")],
        )
        .await;
        let long = "x".repeat(100);
        check(&[&long, &long, "\nok\n"], &[None, Some("ok")]).await;
        check(&[&long], &[None]).await;
    }
}
