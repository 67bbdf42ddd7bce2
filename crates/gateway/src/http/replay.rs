//! Keeps the streams of legacy sessions for clients that reconnect.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use pegboard_model::Limits;

use super::event_stream::EventStream;
use crate::conversation::{Conversation, lock};

/// The streams of all sessions.
pub(super) struct ReplayStore {
    limits: Arc<Limits>,
    sessions: Mutex<HashMap<Arc<str>, Arc<SessionStreams>>>,
}

/// The streams of one session.
pub(super) struct SessionStreams {
    limits: Arc<Limits>,
    /// The stream for messages that belong to no request.
    general: Arc<EventStream>,
    /// The streams of requests, oldest first.
    request_streams: Mutex<VecDeque<Arc<EventStream>>>,
    /// Distinguishes stream names from those of an earlier process.
    run: u32,
    next: AtomicU64,
    session: Weak<Conversation>,
}

/// The last event that a client received.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LastEvent<'a> {
    stream: &'a str,
    number: u64,
}

impl<'a> LastEvent<'a> {
    pub(super) fn parse(id: &'a str) -> Option<Self> {
        let (stream, number) = id.rsplit_once('-')?;
        let number = number.parse().ok()?;
        Some(Self { stream, number })
    }
}

/// A stream to resume.
pub(super) struct ResumedStream {
    pub(super) stream: Arc<EventStream>,
    pub(super) last: Option<u64>,
    /// Whether it is the stream for messages that belong to no request.
    pub(super) is_general: bool,
}

impl ReplayStore {
    pub(super) fn new(limits: Arc<Limits>) -> Self {
        Self {
            limits,
            sessions: Mutex::default(),
        }
    }

    /// Returns the streams of a session, creating them if necessary.
    pub(super) fn get(&self, id: &Arc<str>, session: &Arc<Conversation>) -> Arc<SessionStreams> {
        let mut sessions = lock(&self.sessions);
        if let Some(streams) = sessions.get(id) {
            return streams.clone();
        }
        sessions.retain(|_, streams| streams.session.strong_count() > 0);
        if sessions.len() >= self.limits.replay_sessions
            && let Some(some) = sessions.keys().next().cloned()
        {
            sessions.remove(&some);
        }
        let streams = Arc::new(SessionStreams::new(self.limits.clone(), session));
        sessions.insert(id.clone(), streams.clone());
        streams
    }

    /// Removes the streams of an ended session.
    pub(super) fn forget(&self, id: &str) {
        let mut sessions = lock(&self.sessions);
        if let Some(streams) = sessions.remove(id) {
            streams.general.end();
        }
    }
}

impl SessionStreams {
    fn new(limits: Arc<Limits>, session: &Arc<Conversation>) -> Self {
        let mut random = [0; 4];
        // Without randomness, names may collide with those of an earlier process; at worst a replay fails.
        let _ = getrandom::fill(&mut random);
        let run = u32::from_le_bytes(random);
        let general = Arc::new(EventStream::resumable(&limits));
        general.set_name(format!("g{run:x}"));
        Self {
            limits,
            general,
            request_streams: Mutex::default(),
            run,
            next: AtomicU64::new(0),
            session: Arc::downgrade(session),
        }
    }

    /// Names the stream of a request and keeps it for reconnects. Removes the oldest ended streams beyond the limits.
    pub(super) fn insert(&self, stream: Arc<EventStream>) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        stream.set_name(format!("c{:x}.{number:x}", self.run));
        let mut streams = lock(&self.request_streams);
        streams.push_back(stream);
        let mut ended = streams.iter().filter(|stream| stream.has_ended()).count();
        let mut bytes: usize = streams.iter().map(|stream| stream.bytes()).sum();
        streams.retain(|stream| {
            let too_many = ended > self.limits.replay_streams || bytes > self.limits.replay_bytes;
            if !too_many || !stream.has_ended() {
                return true;
            }
            ended -= 1;
            bytes = bytes.saturating_sub(stream.bytes());
            false
        });
    }

    /// Finds the stream to resume. Returns `None` if it is no longer kept.
    pub(super) fn find(&self, last: Option<LastEvent<'_>>) -> Option<ResumedStream> {
        let general = |last| ResumedStream {
            stream: self.general.clone(),
            last,
            is_general: true,
        };
        let Some(last) = last else {
            return Some(general(None));
        };
        if last.stream == self.general.name() {
            return Some(general(Some(last.number)));
        }
        let streams = lock(&self.request_streams);
        let stream = streams.iter().find(|stream| stream.name() == last.stream);
        match stream {
            Some(stream) => Some(ResumedStream {
                stream: stream.clone(),
                last: Some(last.number),
                is_general: false,
            }),
            // After a restart, the general stream continues under a new name.
            None => last.stream.starts_with('g').then(|| general(None)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_id_contains_its_stream_and_number() {
        let last = LastEvent::parse("c1f.2-17").unwrap();
        assert_eq!((last.stream, last.number), ("c1f.2", 17));
        for bad in ["", "c1", "c1-", "c1--", "c1-x", "-"] {
            assert_eq!(LastEvent::parse(bad), None, "{bad}");
        }
    }
}
