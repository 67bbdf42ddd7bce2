//! Lines of stdio clients.

use tokio::io::AsyncReadExt;

use crate::block_on;

#[allow(dead_code, unreachable_pub, missing_docs)]
#[path = "../../crates/gateway/src/stdio/lines.rs"]
mod lines;

use lines::{Line, Lines};

/// Small, so that inputs reach it.
const LIMIT: usize = 512;

/// Returns the lines, with `None` for each that is too long.
async fn read(first: &[u8], second: &[u8]) -> Vec<Option<Vec<u8>>> {
    let mut lines = Lines::new(first.chain(second), LIMIT);
    let mut found = Vec::new();
    while let Some(line) = lines.next().await.unwrap() {
        found.push(match line {
            Line::Whole(text) => Some(text.to_vec()),
            Line::TooLong(max) => {
                assert_eq!(max, LIMIT);
                None
            }
        });
    }
    found
}

/// Lines of a client: a line that is too long does not affect the next one, and chunks are insignificant. Passes if a
/// line is a message.
pub(crate) fn client_lines(input: &[u8]) -> bool {
    let expected: Vec<Option<Vec<u8>>> = input
        .split(|byte| *byte == b'\n')
        .filter_map(|line| {
            if line.len() > LIMIT {
                return Some(None);
            }
            let end = line.iter().rposition(|byte| !byte.is_ascii_whitespace())?;
            Some(Some(line[..=end].to_vec()))
        })
        .collect();
    for cut in [input.len(), input.len() / 2, input.len().min(7)] {
        let (first, second) = input.split_at(cut);
        assert_eq!(block_on(read(first, second)), expected);
    }
    expected.into_iter().flatten().any(|line| {
        let message = pegboard_gateway::Message::parse(line.into());
        message.is_ok()
    })
}
