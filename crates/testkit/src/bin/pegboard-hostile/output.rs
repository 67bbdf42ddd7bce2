//! Output: frames and noise.

use std::io::{self, Write};

use pegboard_testkit::script::{Moment, NoiseKind};

use crate::server::Server;

/// Writes one frame, including its line break, to stdout. Errors are ignored, because scripts may ignore a
/// closed pipe.
pub(crate) fn to_stdout(bytes: &[u8]) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(bytes).and_then(|()| out.flush());
}

/// Writes to stderr.
pub(crate) fn to_stderr(bytes: &[u8]) {
    let _ = io::stderr().lock().write_all(bytes);
}

/// Writes this many bytes without a line break; stops when the pipe is closed.
pub(crate) fn flood(bytes: u64, out: &mut dyn Write) {
    let chunk = [b'x'; 64 * 1024];
    let mut left = bytes;
    while left > 0 {
        let size = usize::try_from(left).unwrap_or(usize::MAX).min(chunk.len());
        if out
            .write_all(chunk.get(..size).unwrap_or_default())
            .is_err()
        {
            return;
        }
        left -= size as u64;
    }
    let _ = out.flush();
}

/// Writes the noise of the start.
pub(crate) fn noise_at_start(server: &Server) {
    for noise in server
        .script
        .noise
        .iter()
        .filter(|noise| noise.when == Moment::Start)
    {
        (0..noise.times).for_each(|time| write_noise(noise.kind, time));
    }
}

/// Writes the noise before the response to a message.
pub(crate) fn noise_before(server: &Server, method: &str, number: u32) {
    for noise in server
        .script
        .noise
        .iter()
        .filter(|noise| noise.when.is_met_by(method, number))
    {
        (0..noise.times).for_each(|time| write_noise(noise.kind, time));
    }
}

fn write_noise(kind: NoiseKind, time: u32) {
    match kind {
        NoiseKind::Text => to_stdout(b"Welcome to the server! Ready.\n"),
        NoiseKind::Binary => to_stdout(b"\xff\xfe\x00\x1b[2J\x80{\"jsonrpc\"\n"),
        NoiseKind::PartialJson => to_stdout(b"{\"jsonrpc\":\"2.0\",\"id\":\n"),
        NoiseKind::Blank => to_stdout(b"\n"),
        NoiseKind::OtherJson => to_stdout(b"{\"level\":\"info\",\"msg\":\"started\"}\n"),
        NoiseKind::UnknownResponse => {
            to_stdout(b"{\"jsonrpc\":\"2.0\",\"id\":987654321,\"result\":{\"tools\":[]}}\n");
        }
        NoiseKind::Flood(bytes) => flood(bytes, &mut io::stdout().lock()),
        NoiseKind::Random(seed) => to_stdout(&random_line(seed, time)),
        NoiseKind::Deep(levels) => to_stdout(format!("{}\n", nested(levels)).as_bytes()),
    }
}

/// Nested arrays as text; as a value they would overflow the stack.
pub(crate) fn nested(levels: u32) -> String {
    let levels = levels as usize;
    format!("{}{}", "[".repeat(levels), "]".repeat(levels))
}

/// A line of up to 400 random bytes, the same for the same seed and number.
fn random_line(seed: u64, number: u32) -> Vec<u8> {
    let mut state = (seed << 32 | u64::from(number)).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    let length = usize::from(next()) + usize::from(next() / 2);
    let mut line: Vec<u8> = (0..length)
        .map(|_| next())
        .filter(|byte| *byte != b'\n')
        .collect();
    if number.is_multiple_of(2) {
        line.splice(..0, *b"{\"jsonrpc\":\"2.0\",\"id\":");
    }
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_lines_differ_and_are_lines() {
        let lines: std::collections::BTreeSet<_> =
            (0..100).map(|time| random_line(7, time)).collect();
        assert!(lines.len() > 95);
        for line in &lines {
            assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        }
        assert_eq!(random_line(7, 3), random_line(7, 3));
    }
}
