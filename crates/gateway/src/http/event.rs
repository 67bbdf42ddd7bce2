//! Formats messages as server-sent events.

use bytes::{BufMut, Bytes, BytesMut};

/// A comment that keeps an idle connection open.
pub(super) const KEEP_ALIVE: Bytes = Bytes::from_static(b":\n\n");

/// How long clients wait before they reconnect.
const RETRY_MILLISECONDS: u32 = 1000;

/// Formats a message as an event. A line break, which JSON only has between values, starts a new `data` line.
pub(super) fn message_event(id: Option<&str>, parts: &[Bytes]) -> Bytes {
    let length: usize = parts.iter().map(Bytes::len).sum();
    let mut event = BytesMut::with_capacity(length + 64);
    event.put_slice(b"event: message\n");
    put_id(&mut event, id);
    event.put_slice(b"data: ");
    for part in parts {
        let mut rest: &[u8] = part;
        while let Some(at) = memchr::memchr2(b'\n', b'\r', rest) {
            event.put_slice(rest.get(..at).unwrap_or_default());
            event.put_slice(b"\ndata: ");
            rest = rest.get(at + 1..).unwrap_or_default();
        }
        event.put_slice(rest);
    }
    event.put_slice(b"\n\n");
    event.freeze()
}

/// The first event of a stream. It has no data, only an id from which the client can resume.
pub(super) fn priming_event(id: &str) -> Bytes {
    Bytes::from(format!("id: {id}\nretry: {RETRY_MILLISECONDS}\ndata: \n\n"))
}

fn put_id(event: &mut BytesMut, id: Option<&str>) {
    if let Some(id) = id {
        event.put_slice(b"id: ");
        event.put_slice(id.as_bytes());
        event.put_u8(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_several_lines_stays_one_event() {
        let parts = [Bytes::from_static(b"{\n\"a\":"), Bytes::from_static(b"1}")];
        assert_eq!(
            message_event(Some("c1-2"), &parts),
            "event: message\nid: c1-2\ndata: {\ndata: \"a\":1}\n\n"
        );
        assert_eq!(
            message_event(None, &[Bytes::from_static(b"{}")]),
            "event: message\ndata: {}\n\n"
        );
        assert_eq!(priming_event("g1-0"), "id: g1-0\nretry: 1000\ndata: \n\n");
    }
}
