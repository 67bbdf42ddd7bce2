//! Server-sent events of HTTP servers.

#[allow(dead_code, unreachable_pub, missing_docs)]
#[path = "../../crates/upstream/src/http/sse.rs"]
mod parser;

use parser::{Parser, TooLarge};

/// Small, so that inputs reach it.
const LIMIT: usize = 512;

/// Parses the stream in chunks of this size.
fn parse(input: &[u8], size: usize, limit: usize) -> (Vec<String>, Option<String>, bool) {
    let mut parser = Parser::new(limit);
    let mut events = Vec::new();
    for chunk in input.chunks(size.max(1)) {
        match parser.push(chunk) {
            Ok(found) => events.extend(found.into_iter().map(|event| event.data)),
            Err(TooLarge) => return (events, None, true),
        }
        // The line break that joins two lines of data is not counted before it is added.
        assert!(parser.held_bytes() <= limit + 1);
    }
    (events, parser.last_id().map(str::to_owned), false)
}

/// Chunks are insignificant, the buffer is limited, and written events are read back unchanged. Passes if there is a
/// complete event.
pub(crate) fn events(input: &[u8]) -> bool {
    let (events, id, too_large) = parse(input, input.len(), LIMIT);
    for size in [1, 7] {
        let (by_chunks, id_by_chunks, too_large_by_chunks) = parse(input, size, LIMIT);
        assert_eq!(too_large_by_chunks, too_large);
        // A call that fails returns no events, so only the smaller chunks deliver those before the failure.
        if !too_large {
            assert_eq!((&by_chunks, &id_by_chunks), (&events, &id));
        }
    }
    let mut written = String::new();
    for event in &events {
        assert!(event.len() <= 3 * LIMIT && !event.contains('\r'));
        for line in event.split('\n') {
            written.push_str(&format!("data: {line}\n"));
        }
        written.push('\n');
    }
    assert_eq!(parse(written.as_bytes(), 64, usize::MAX / 2).0, events);
    !events.is_empty()
}
