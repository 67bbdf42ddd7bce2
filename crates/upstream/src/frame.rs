//! Splits a byte stream into lines, with a limit that applies before memory is used.

use std::ops::Range;

use memchr::memchr;
use memchr::memmem;
use serde::de::IgnoredAny;
use tokio::io::{AsyncRead, AsyncReadExt};

/// Bytes requested from the system at a time; a pipe holds four times as much.
const CHUNK: usize = 16 * 1024;
/// The capacity of a pipe.
const WIDE_CHUNK: usize = 64 * 1024;
/// This sequence does not occur in valid JSON lines: it means that messages are separated by a carriage return alone.
const GLUED: &[u8] = b"}\r{";
/// A buffer that grew beyond this for one line is released after it.
const KEPT_CAPACITY: usize = 256 * 1024;

/// Why there are no more lines.
#[derive(Debug)]
pub(crate) enum LineFault {
    /// A line is longer than this many bytes.
    TooLong(usize),
    /// Messages end with a carriage return alone, so that no line would ever end.
    CarriageReturns,
    /// Reading failed.
    Io,
}

/// Splits a stream into lines.
pub(crate) struct LineReader<R> {
    source: R,
    buffer: Vec<u8>,
    /// Where the current line ends and the unread bytes begin.
    next: usize,
    line: Range<usize>,
    ended: bool,
    /// Bytes requested from the system at a time.
    chunk: usize,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(crate) fn new(source: R) -> Self {
        Self {
            source,
            buffer: Vec::new(),
            next: 0,
            line: 0..0,
            ended: false,
            chunk: CHUNK,
        }
    }

    /// Returns whether a complete line is buffered, so that the next one does not wait.
    pub(crate) fn has_line(&self) -> bool {
        let unread = self.buffer.get(self.next..).unwrap_or_default();
        memchr(b'\n', unread).is_some()
    }

    /// Reads a whole pipe at a time from now on, for a server that floods.
    pub(crate) fn widen(&mut self) {
        self.chunk = WIDE_CHUNK;
    }

    /// Returns the line that `advance` found, without its line end.
    pub(crate) fn line(&self) -> &[u8] {
        let line = self.buffer.get(self.line.clone()).unwrap_or_default();
        line.strip_suffix(b"\r").unwrap_or(line)
    }

    /// Reads the next line. Returns `false` at the end of the stream. The limit is evaluated again after each read,
    /// because it is higher while a call is in flight.
    pub(crate) async fn advance(&mut self, limit: impl Fn() -> usize) -> Result<bool, LineFault> {
        self.forget_line();
        let mut scanned = 0;
        loop {
            let unread = self.buffer.get(self.next + scanned..).unwrap_or_default();
            if let Some(position) = memchr(b'\n', unread) {
                let end = self.next + scanned + position;
                self.line = self.next..end;
                self.next = end + 1;
                return self.within(limit());
            }
            if self.is_glued(scanned) {
                return Err(LineFault::CarriageReturns);
            }
            scanned += unread.len();
            // One byte more than the limit may be the `\r` of a line end.
            let limit = limit();
            if scanned > limit + 1 {
                return Err(LineFault::TooLong(limit));
            }
            if self.ended {
                self.line = self.next..self.buffer.len();
                self.next = self.buffer.len();
                return if self.line.is_empty() {
                    Ok(false)
                } else {
                    self.within(limit)
                };
            }
            self.make_room(limit);
            match self.source.read_buf(&mut self.buffer).await {
                Ok(0) => self.ended = true,
                Ok(_) => {}
                Err(_) => return Err(LineFault::Io),
            }
        }
    }

    /// Returns whether the incomplete line contains a whole message and the start of another. The first `scanned` bytes
    /// were inspected before.
    fn is_glued(&self, scanned: usize) -> bool {
        let line = self.buffer.get(self.next..).unwrap_or_default();
        let from = scanned.saturating_sub(GLUED.len() - 1);
        let fresh = line.get(from..).unwrap_or_default();
        let first = memmem::find(fresh, GLUED).and_then(|at| line.get(..=from + at));
        first.is_some_and(|first| serde_json::from_slice::<IgnoredAny>(first).is_ok())
    }

    fn within(&self, limit: usize) -> Result<bool, LineFault> {
        if self.line().len() > limit {
            Err(LineFault::TooLong(limit))
        } else {
            Ok(true)
        }
    }

    fn forget_line(&mut self) {
        if self.next == self.buffer.len() {
            self.buffer.clear();
            self.next = 0;
            if self.buffer.capacity() > KEPT_CAPACITY {
                self.buffer = Vec::new();
            }
        }
        self.line = 0..0;
    }

    fn make_room(&mut self, limit: usize) {
        if self.next > 0 {
            self.buffer.drain(..self.next);
            self.next = 0;
        }
        let chunk = self.chunk;
        if self.buffer.capacity() - self.buffer.len() < chunk {
            // Double, but never beyond what one legal line needs.
            let wanted = (self.buffer.len() * 2).clamp(chunk, limit + 2 * chunk);
            self.buffer
                .reserve_exact(wanted.saturating_sub(self.buffer.len()).max(chunk));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(input: &[u8], limit: usize) -> (Vec<String>, Option<LineFault>) {
        let mut reader = LineReader::new(input);
        let mut lines = Vec::new();
        loop {
            match reader.advance(|| limit).await {
                Ok(true) => lines.push(String::from_utf8_lossy(reader.line()).into_owned()),
                Ok(false) => return (lines, None),
                Err(fault) => return (lines, Some(fault)),
            }
        }
    }

    #[tokio::test]
    async fn lines_end_by_lf_crlf_or_the_end() {
        let (found, fault) = lines(b"one\ntwo\r\n\nfour", 10).await;
        assert_eq!(found, ["one", "two", "", "four"]);
        assert!(fault.is_none());
    }

    #[tokio::test]
    async fn r_sec_01_a_line_of_exactly_the_limit_is_the_longest() {
        for (input, fits) in [
            ("aaaa\n", true),
            ("aaaa\r\n", true),
            ("aaaa", true),
            ("aaaaa\n", false),
            ("aaaaa", false),
        ] {
            let (_, fault) = lines(input.as_bytes(), 4).await;
            assert_eq!(fault.is_none(), fits, "{input:?}");
        }
    }

    #[tokio::test]
    async fn r_sec_01_c07_messages_parted_by_carriage_returns_alone_are_seen_at_once() {
        for (first, second, seen) in [
            ("{\"id\":1}\r", "{", true),
            ("{\"id\":1}", "\r{\"id\":2}\r", true),
            ("{\"id\":1}\r{", "\"id\":2}", true),
            ("{\"id\":1}\r", "\n{\"id\":2}\r\n", false),
            ("{\"a\":[{}\r,", "{}]}", false),
            ("{progress}\r", "{more}", false),
        ] {
            let mut reader = LineReader::new(first.as_bytes().chain(second.as_bytes()));
            let fault = reader.advance(|| 1000).await;
            let found = matches!(fault, Err(LineFault::CarriageReturns));
            assert_eq!(found, seen, "{first:?} {second:?}");
        }
    }

    #[tokio::test]
    async fn r_sec_01_an_endless_line_keeps_memory_bounded() {
        const LIMIT: usize = 1024 * 1024;
        let mut reader = LineReader::new(tokio::io::repeat(b'x'));
        assert!(matches!(
            reader.advance(|| LIMIT).await,
            Err(LineFault::TooLong(LIMIT))
        ));
        assert!(
            reader.buffer.capacity() <= LIMIT * 3 / 2,
            "{}",
            reader.buffer.capacity()
        );
    }

    #[tokio::test]
    async fn a_large_buffer_is_given_back() {
        let input = format!("{}\nshort\n", "y".repeat(600_000));
        let mut reader = LineReader::new(input.as_bytes());
        assert!(reader.advance(|| 1_000_000).await.unwrap());
        assert!(reader.advance(|| 1_000_000).await.unwrap());
        assert!(!reader.advance(|| 1_000_000).await.unwrap());
        assert!(reader.buffer.capacity() <= KEPT_CAPACITY);
    }
}
