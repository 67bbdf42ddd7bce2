//! A bounded queue of server-sent events, which can be read from any position.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use pegboard_model::Limits;

use super::event::{message_event, priming_event};
use crate::conversation::{MessageSink, lock};

/// A queue of events for one reader at a time. A resumable stream keeps events that were read, for clients that
/// reconnect; an ephemeral one drops them.
pub(super) struct EventStream {
    name: OnceLock<String>,
    unread_max: usize,
    /// Maximum bytes of read events to keep. 0 for an ephemeral stream.
    kept_max: usize,
    state: Mutex<StreamState>,
}

/// An event before it is formatted. Its number is only known when it is read.
#[derive(Clone)]
enum StreamEvent {
    Priming,
    Message(Vec<Bytes>),
}

/// Overhead per event, so that many small events are limited too.
const EVENT_OVERHEAD_BYTES: usize = 64;

impl StreamEvent {
    fn size(&self) -> usize {
        match self {
            Self::Priming => EVENT_OVERHEAD_BYTES,
            Self::Message(parts) => {
                EVENT_OVERHEAD_BYTES + parts.iter().map(Bytes::len).sum::<usize>()
            }
        }
    }
}

#[derive(Default)]
struct StreamState {
    /// Consecutive events, starting at number `first`.
    events: VecDeque<StreamEvent>,
    first: u64,
    /// The number of the first unread event.
    unread: u64,
    kept_bytes: usize,
    unread_bytes: usize,
    ended: bool,
    /// The number of the current reader. A new reader replaces the previous one.
    reader: u64,
    connected: bool,
    waker: Option<Waker>,
}

impl StreamState {
    fn next(&self) -> u64 {
        self.first + self.events.len() as u64
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    fn push(&mut self, event: StreamEvent) {
        self.unread_bytes += event.size();
        self.events.push_back(event);
        self.wake();
    }

    /// Removes the oldest read events beyond the limit.
    fn trim(&mut self, kept_max: usize) {
        while self.first < self.unread && (self.kept_bytes > kept_max || kept_max == 0) {
            if let Some(event) = self.events.pop_front() {
                self.kept_bytes = self.kept_bytes.saturating_sub(event.size());
            }
            self.first += 1;
        }
    }
}

impl EventStream {
    /// A stream that ends with its connection.
    pub(super) fn ephemeral(limits: &Limits) -> Self {
        Self {
            name: OnceLock::new(),
            unread_max: limits.unread_bytes,
            kept_max: 0,
            state: Mutex::default(),
        }
    }

    /// A stream that a client can resume.
    pub(super) fn resumable(limits: &Limits) -> Self {
        Self {
            kept_max: limits.replay_bytes.max(1),
            ..Self::ephemeral(limits)
        }
    }

    /// Names the stream. Must be called before it is read.
    pub(super) fn set_name(&self, name: String) {
        let _ = self.name.set(name);
    }

    /// The name of the stream. Empty if it has none.
    pub(super) fn name(&self) -> &str {
        self.name.get().map(String::as_str).unwrap_or_default()
    }

    fn state(&self) -> MutexGuard<'_, StreamState> {
        lock(&self.state)
    }

    fn format(&self, event: &StreamEvent, number: u64) -> Bytes {
        let id = self.name.get().map(|name| format!("{name}-{number}"));
        match event {
            StreamEvent::Priming => priming_event(id.as_deref().unwrap_or_default()),
            StreamEvent::Message(parts) => message_event(id.as_deref(), parts),
        }
    }

    /// Inserts a priming event before the first unread event.
    pub(super) fn prime(&self) {
        let mut state = self.state();
        let at = usize::try_from(state.unread - state.first).unwrap_or(usize::MAX);
        let at = at.min(state.events.len());
        state.events.insert(at, StreamEvent::Priming);
        state.unread_bytes += EVENT_OVERHEAD_BYTES;
        state.wake();
    }

    /// Adds the last message, which is never dropped, and ends the stream.
    pub(super) fn finish(&self, parts: Vec<Bytes>) {
        let mut state = self.state();
        state.push(StreamEvent::Message(parts));
        state.ended = true;
        state.wake();
    }

    /// Ends the stream without a last message.
    pub(super) fn end(&self) {
        let mut state = self.state();
        state.ended = true;
        state.wake();
    }

    /// Ready if there are unread events. Otherwise wakes the task when there are.
    pub(super) fn poll_waiting(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.state();
        if state.unread < state.next() || state.ended {
            return Poll::Ready(());
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }

    pub(super) fn has_unread(&self) -> bool {
        let state = self.state();
        state.unread < state.next()
    }

    pub(super) fn has_ended(&self) -> bool {
        self.state().ended
    }

    /// Whether a client is reading the stream.
    pub(super) fn is_read(&self) -> bool {
        self.state().connected
    }

    /// The size of all events in bytes.
    pub(super) fn bytes(&self) -> usize {
        let state = self.state();
        state.kept_bytes + state.unread_bytes
    }

    /// Starts reading after the event `last`, or at the first unread event. Replaces the previous reader.
    pub(super) fn reader(self: &Arc<Self>, last: Option<u64>) -> StreamReader {
        let mut state = self.state();
        state.wake();
        state.reader += 1;
        state.connected = true;
        let next = last.map_or(state.unread, |last| last.saturating_add(1));
        StreamReader {
            stream: self.clone(),
            number: state.reader,
            next: next.min(state.next()),
        }
    }

    /// Disconnects a reader, unless another one has replaced it.
    pub(super) fn disconnect(&self, reader: u64) {
        let mut state = self.state();
        if state.reader == reader {
            state.reader += 1;
            state.connected = false;
            state.wake();
        }
    }
}

impl MessageSink for EventStream {
    fn send(&self, message: String) -> bool {
        let mut state = self.state();
        let room = match state.connected || state.reader == 0 {
            true => self.unread_max,
            // The client may reconnect.
            false => self.kept_max,
        };
        if state.ended || state.unread_bytes + message.len() > room {
            return false;
        }
        state.push(StreamEvent::Message(vec![Bytes::from(message)]));
        true
    }
}

/// A reader of a stream.
pub(super) struct StreamReader {
    stream: Arc<EventStream>,
    number: u64,
    next: u64,
}

impl StreamReader {
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The next event. `None` at the end, or if another reader has taken over.
    pub(super) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut state = self.stream.state();
        if state.reader != self.number {
            return Poll::Ready(None);
        }
        self.next = self.next.max(state.first);
        let at = usize::try_from(self.next - state.first).unwrap_or(usize::MAX);
        if let Some(event) = state.events.get(at).cloned() {
            if self.next >= state.unread {
                state.unread = self.next + 1;
                state.unread_bytes = state.unread_bytes.saturating_sub(event.size());
                state.kept_bytes += event.size();
                state.trim(self.stream.kept_max);
            }
            let event = self.stream.format(&event, self.next);
            self.next += 1;
            return Poll::Ready(Some(event));
        }
        if state.ended {
            return Poll::Ready(None);
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Drop for StreamReader {
    fn drop(&mut self) {
        self.stream.disconnect(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Arc<EventStream> {
        let stream = EventStream::resumable(&limits());
        stream.set_name(name.to_owned());
        Arc::new(stream)
    }

    fn limits() -> Limits {
        Limits {
            unread_bytes: 1000,
            replay_bytes: 1000,
            ..Limits::default()
        }
    }

    /// All available events, followed by `None` if the stream has ended.
    fn read(reader: &mut StreamReader) -> Vec<Option<String>> {
        let mut context = Context::from_waker(Waker::noop());
        let mut events = Vec::new();
        while let Poll::Ready(event) = reader.poll_next(&mut context) {
            let over = event.is_none();
            events.push(event.map(|event| {
                let text = String::from_utf8(event.to_vec()).unwrap();
                let data = text.lines().rev().find_map(|l| l.strip_prefix("data: "));
                data.unwrap_or_default().to_owned()
            }));
            if over {
                break;
            }
        }
        events
    }

    fn some(texts: &[&str]) -> Vec<Option<String>> {
        texts.iter().map(|text| Some((*text).to_owned())).collect()
    }

    #[test]
    fn r_gate_01_events_are_read_again_after_the_last_one_that_was_seen() {
        let stream = named("c1");
        assert!(stream.send("a".to_owned()) && stream.send("b".to_owned()));
        let mut first = stream.reader(None);
        assert_eq!(read(&mut first), some(&["a", "b"]));
        drop(first);
        assert!(
            stream.send("c".to_owned()),
            "kept for a client that comes back"
        );
        stream.finish(vec![Bytes::from_static(b"d")]);
        let mut again = stream.reader(Some(0));
        assert_eq!(
            read(&mut again),
            [some(&["b", "c", "d"]), vec![None]].concat()
        );
        let mut again = stream.reader(Some(99));
        assert_eq!(read(&mut again), vec![None]);
    }

    #[test]
    fn r_gate_01_the_priming_event_comes_first_and_every_event_has_its_number() {
        let stream = named("c");
        assert!(stream.send("a".to_owned()));
        stream.prime();
        let mut reader = stream.reader(None);
        let mut context = Context::from_waker(Waker::noop());
        let mut ids = Vec::new();
        while let Poll::Ready(Some(event)) = reader.poll_next(&mut context) {
            let text = String::from_utf8(event.to_vec()).unwrap();
            let id = text.lines().find_map(|line| line.strip_prefix("id: "));
            ids.push((id.unwrap().to_owned(), text.contains("data: a")));
        }
        assert_eq!(ids, [("c-0".to_owned(), false), ("c-1".to_owned(), true)]);
    }

    #[test]
    fn r_gate_01_a_new_reader_replaces_the_previous_one() {
        let stream = named("g");
        let mut first = stream.reader(None);
        assert_eq!(read(&mut first), vec![]);
        let mut second = stream.reader(None);
        assert!(stream.send("a".to_owned()));
        assert_eq!(read(&mut first), vec![None]);
        drop(first);
        assert_eq!(read(&mut second), some(&["a"]));
        let number = second.number();
        stream.disconnect(number);
        assert_eq!(read(&mut second), vec![None]);
    }

    #[test]
    fn r_gate_01_read_and_unread_events_are_bounded() {
        let stream = named("c");
        let mut reader = stream.reader(None);
        for _ in 0..50 {
            assert!(stream.send("x".to_owned()));
            read(&mut reader);
        }
        assert!(stream.bytes() <= 1000, "{}", stream.bytes());
        let mut taken = 0;
        while stream.send("y".to_owned()) {
            taken += 1;
        }
        assert!((1..20).contains(&taken), "{taken}");
        stream.finish(vec![Bytes::from(vec![b'z'; 5000])]);
        let events = read(&mut reader);
        assert_eq!(events.len(), taken + 2, "the last message always has room");
    }

    #[test]
    fn an_ephemeral_stream_keeps_nothing_and_ends_with_its_reader() {
        let stream = Arc::new(EventStream::ephemeral(&limits()));
        assert!(stream.send("a".to_owned()), "before the reader is there");
        let mut reader = stream.reader(None);
        assert_eq!(read(&mut reader), some(&["a"]));
        assert_eq!(stream.bytes(), 0);
        drop(reader);
        assert!(!stream.send("b".to_owned()));
    }
}
