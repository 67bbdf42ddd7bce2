//! Whole lines from a stream of chunks.

use std::io;

/// Longest line that is kept back until it is whole. A longer one is passed on in parts: it could only be a message
/// beyond every limit, which the receiver refuses.
const LINE_BYTES: usize = 64 * 1024 * 1024;
/// Size of one read. Pipes hold this much by default.
const CHUNK_BYTES: usize = 64 * 1024;
/// A larger buffer is freed when it is empty.
const KEPT_BYTES: usize = 1024 * 1024;

/// Collects what was read and returns it in whole lines.
#[derive(Debug, Default)]
pub(crate) struct LineBuffer {
    bytes: Vec<u8>,
    /// End of the last whole line.
    whole: usize,
}

impl LineBuffer {
    /// Reads once. Returns the number of bytes; 0 at the end.
    pub(crate) fn fill(
        &mut self,
        read: impl FnOnce(&mut [u8]) -> rustix::io::Result<usize>,
    ) -> io::Result<usize> {
        let start = self.bytes.len();
        self.bytes.resize(start + CHUNK_BYTES, 0);
        let result = read(self.bytes.get_mut(start..).unwrap_or_default());
        self.bytes.truncate(start + result.unwrap_or(0));
        let new = self.bytes.get(start..).unwrap_or_default();
        if let Some(last) = memchr::memrchr(b'\n', new) {
            self.whole = start + last + 1;
        } else if self.bytes.len() > LINE_BYTES {
            self.whole = self.bytes.len();
        }
        Ok(result?)
    }

    /// The whole lines that were read.
    pub(crate) fn whole_lines(&self) -> &[u8] {
        self.bytes.get(..self.whole).unwrap_or_default()
    }

    /// Takes an unfinished last line for a whole one, because nothing follows.
    pub(crate) fn finish(&mut self) {
        self.whole = self.bytes.len();
    }

    /// Returns everything that is left.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Removes the whole lines.
    pub(crate) fn clear_whole_lines(&mut self) {
        self.bytes.drain(..self.whole);
        self.whole = 0;
        if self.bytes.is_empty() && self.bytes.capacity() > KEPT_BYTES {
            self.bytes = Vec::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(buffer: &mut LineBuffer, text: &[u8]) {
        let read = |space: &mut [u8]| {
            space[..text.len()].copy_from_slice(text);
            Ok(text.len())
        };
        assert_eq!(buffer.fill(read).unwrap(), text.len());
    }

    #[test]
    fn lines_are_returned_when_they_are_whole() {
        let mut buffer = LineBuffer::default();
        fill(&mut buffer, b"one\ntw");
        assert_eq!(buffer.whole_lines(), b"one\n");
        buffer.clear_whole_lines();
        assert_eq!(buffer.whole_lines(), b"");
        fill(&mut buffer, b"o");
        assert_eq!(buffer.whole_lines(), b"");
        fill(&mut buffer, b"\nthree\nfo");
        assert_eq!(buffer.whole_lines(), b"two\nthree\n");
        buffer.clear_whole_lines();
        let failed = buffer.fill(|_| Err(rustix::io::Errno::AGAIN));
        assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::WouldBlock);
        fill(&mut buffer, b"ur\n");
        assert_eq!(buffer.whole_lines(), b"four\n");
    }
}
