//! Lines of stdio servers.

use tokio::io::AsyncReadExt;

use crate::block_on;

#[allow(dead_code, unreachable_pub, missing_docs)]
#[path = "../../crates/upstream/src/frame.rs"]
mod frame;

use frame::{LineFault, LineReader};

/// Small, so that inputs reach it.
const LIMIT: usize = 512;

async fn read(first: &[u8], second: &[u8]) -> (Vec<Vec<u8>>, Option<LineFault>) {
    let mut reader = LineReader::new(first.chain(second));
    let mut lines = Vec::new();
    loop {
        match reader.advance(|| LIMIT).await {
            Ok(true) => lines.push(reader.line().to_vec()),
            Ok(false) => return (lines, None),
            Err(fault) => return (lines, Some(fault)),
        }
    }
}

/// Lines of a server: they equal a naive split of the input, none exceeds the limit, and chunks of the stream are
/// insignificant. Passes if a line is a JSON-RPC message.
pub(crate) fn server_lines(input: &[u8]) -> bool {
    let mut expected: Vec<&[u8]> = input.split(|byte| *byte == b'\n').collect();
    if expected.last().is_some_and(|last| last.is_empty()) {
        expected.pop();
    }
    let expected: Vec<&[u8]> = expected
        .into_iter()
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .collect();
    let mut passed = false;
    for cut in [input.len(), input.len() / 2, input.len().min(7)] {
        let (first, second) = input.split_at(cut);
        let (lines, fault) = block_on(read(first, second));
        assert!(lines.len() <= expected.len());
        for (line, expected) in lines.iter().zip(&expected) {
            assert_eq!(line, expected);
            assert!(line.len() <= LIMIT);
        }
        match fault {
            None => assert_eq!(lines.len(), expected.len()),
            Some(LineFault::TooLong(limit)) => {
                assert_eq!(limit, LIMIT);
                assert!(expected[lines.len()].len() > LIMIT);
            }
            Some(LineFault::CarriageReturns) => {
                let line = expected[lines.len()];
                assert!(line.windows(3).any(|bytes| bytes == b"}\r{"));
            }
            Some(LineFault::Io) => panic!("reading from memory failed"),
        }
        passed |= lines.iter().any(|line| {
            let text = std::str::from_utf8(line).unwrap_or_default();
            pegboard_jsonrpc::parse(text, 128).is_ok()
        });
    }
    passed
}
