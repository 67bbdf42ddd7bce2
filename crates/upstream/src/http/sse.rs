//! Parses server-sent events from a byte stream, with a size limit for each.

use std::time::Duration;

/// An event, reduced to what is used.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) name: EventName,
    pub(crate) data: String,
}

/// The name of an event, as far as it matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum EventName {
    /// `message`, or no name.
    #[default]
    Message,
    /// `endpoint`, with which a server of the HTTP+SSE transport begins.
    Endpoint,
    Other,
}

/// An event is larger than the limit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLarge;

/// The longest event id that is kept for resuming.
const ID_BYTES: usize = 1024;

/// Collects bytes until events are complete.
pub(crate) struct Parser {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    name: EventName,
    /// The id of the event that is being read.
    id: Option<String>,
    /// The id of the last complete event that had one.
    last_id: Option<String>,
    /// How long the server wants clients to wait before reconnecting.
    retry: Option<Duration>,
    /// A `\r` ended the last line, so a following `\n` belongs to it.
    after_return: bool,
    is_first_line: bool,
    limit: usize,
}

impl Parser {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            line: Vec::new(),
            data: Vec::new(),
            has_data: false,
            name: EventName::Message,
            id: None,
            last_id: None,
            retry: None,
            after_return: false,
            is_first_line: true,
            limit,
        }
    }

    /// The maximum size of an event.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// Changes the maximum size of an event.
    pub(crate) fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// The id after which the stream can be resumed.
    pub(crate) fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// Bytes of the incomplete event.
    pub(crate) fn held_bytes(&self) -> usize {
        self.line.len() + self.data.len()
    }

    /// How long to wait before reconnecting, if the server said so.
    pub(crate) fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// Takes bytes and returns the events that they complete.
    pub(crate) fn push(&mut self, mut bytes: &[u8]) -> Result<Vec<Event>, TooLarge> {
        let mut events = Vec::new();
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_return) && bytes.first() == Some(&b'\n') {
                bytes = bytes.get(1..).unwrap_or_default();
                continue;
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', bytes) else {
                self.grow(bytes)?;
                break;
            };
            self.grow(bytes.get(..end).unwrap_or_default())?;
            self.after_return = bytes.get(end) == Some(&b'\r');
            bytes = bytes.get(end + 1..).unwrap_or_default();
            events.extend(self.end_line());
        }
        Ok(events)
    }

    fn grow(&mut self, bytes: &[u8]) -> Result<(), TooLarge> {
        if self.line.len() + self.data.len() + bytes.len() > self.limit {
            return Err(TooLarge);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) -> Option<Event> {
        let mut line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.is_first_line) && line.starts_with(b"\xef\xbb\xbf") {
            line.drain(..3);
        }
        if line.is_empty() {
            let data = std::mem::take(&mut self.data);
            let complete = std::mem::take(&mut self.has_data);
            let name = std::mem::take(&mut self.name);
            if let Some(id) = self.id.take() {
                self.last_id = Some(id);
            }
            return complete.then(|| Event {
                name,
                data: String::from_utf8(data)
                    .unwrap_or_else(|bad| String::from_utf8_lossy(bad.as_bytes()).into_owned()),
            });
        }
        let (field, value) = match memchr::memchr(b':', &line) {
            Some(colon) => line.split_at(colon),
            None => (line.as_slice(), &b""[..]),
        };
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push(b'\n');
                }
                if self.data.is_empty() {
                    // Most events have one line, which is kept without copying.
                    let start = line.len() - value.len();
                    line.drain(..start);
                    self.data = line;
                } else {
                    self.data.extend_from_slice(value);
                }
            }
            b"event" => {
                self.name = match value {
                    b"" | b"message" => EventName::Message,
                    b"endpoint" => EventName::Endpoint,
                    _ => EventName::Other,
                };
            }
            b"id" if value.len() <= ID_BYTES && !value.contains(&0) => {
                self.id = Some(String::from_utf8_lossy(value).into_owned());
            }
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                let millis = std::str::from_utf8(value)
                    .ok()
                    .and_then(|digits| digits.parse().ok());
                self.retry = Some(Duration::from_millis(millis.unwrap_or(u64::MAX)));
            }
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(input: &str, expected: &[&str]) {
        // As a whole and byte by byte: chunk boundaries are insignificant.
        for size in [input.len(), 1] {
            let mut parser = Parser::new(100);
            let mut found = Vec::new();
            for chunk in input.as_bytes().chunks(size) {
                found.extend(
                    parser
                        .push(chunk)
                        .unwrap()
                        .into_iter()
                        .map(|event| event.data),
                );
            }
            assert_eq!(found, expected, "{input:?} in chunks of {size}");
        }
    }

    #[test]
    fn events_are_cut_at_every_kind_of_line_end() {
        check("data: a\n\ndata:b\r\n\r\ndata:  c\r\r", &["a", "b", " c"]);
        check(
            ": comment\nevent: message\nid: 1\ndata: one\ndata: two\n\n",
            &["one\ntwo"],
        );
        check("event: ping\n\nretry: 5\n\ndata\n\n", &[""]);
        check("\u{feff}data: x\n\ndata: unfinished\n", &["x"]);
    }

    #[test]
    fn the_name_of_an_event_ends_with_it() {
        let mut parser = Parser::new(100);
        let text = b"event: endpoint\r\ndata: /m\r\n\r\ndata: 1\n\nevent: ping\ndata: 2\n\nevent: message\ndata: 3\n\nevent: endpoint\n\ndata: 4\n\n";
        let events = parser.push(text).unwrap();
        let names: Vec<_> = events.iter().map(|event| event.name).collect();
        use EventName::{Endpoint, Message, Other};
        assert_eq!(names, [Endpoint, Message, Other, Message, Message]);
    }

    #[test]
    fn event_ids_and_retry_times_are_kept_for_resuming() {
        let mut parser = Parser::new(100);
        let events = parser.push(b"id: 7\nretry: 500\ndata:\n\nid: 8\n").unwrap();
        assert_eq!(events, [Event::default()]);
        assert_eq!(parser.last_id(), Some("7"), "8 is not a whole event yet");
        assert_eq!(parser.retry(), Some(Duration::from_millis(500)));
        assert_eq!(parser.push(b"\nretry: soon\n\n"), Ok(vec![]));
        assert_eq!(parser.last_id(), Some("8"));
        assert_eq!(parser.retry(), Some(Duration::from_millis(500)));
    }

    #[test]
    fn r_sec_01_an_endless_event_is_stopped_at_the_limit() {
        let mut parser = Parser::new(100);
        assert_eq!(parser.push(&[b'x'; 100]), Ok(vec![]));
        assert_eq!(parser.push(b"x"), Err(TooLarge));
        let mut parser = Parser::new(100);
        let many = "data: 123456789\n".repeat(20);
        assert_eq!(parser.push(many.as_bytes()), Err(TooLarge));
    }
}
