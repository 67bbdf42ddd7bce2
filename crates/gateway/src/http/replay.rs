//! The streams of legacy sessions, kept for clients that come back.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use pegboard_model::Limits;

use super::event_stream::EventStream;
use crate::conversation::Conversation;

/// The streams of all sessions.
pub(super) struct ReplayStore {
    limits: Arc<Limits>,
    sessions: Mutex<HashMap<Arc<str>, Arc<SessionStreams>>>,
}

/// The streams of one session.
pub(super) struct SessionStreams {
    limits: Arc<Limits>,
    /// What belongs to no request.
    general: Arc<EventStream>,
    /// SessionStreams that answer a request, oldest first.
    answers: Mutex<VecDeque<Arc<EventStream>>>,
    /// Makes names differ from those that an earlier run of the program gave.
    run: u32,
    next: AtomicU64,
    session: Weak<Conversation>,
}

/// Which event a client saw last.
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

/// A stream to go on with.
pub(super) struct ResumedStream {
    pub(super) stream: Arc<EventStream>,
    pub(super) last: Option<u64>,
    /// Whether it is the one for what belongs to no request.
    pub(super) is_general: bool,
}

impl ReplayStore {
    pub(super) fn new(limits: Arc<Limits>) -> Self {
        Self {
            limits,
            sessions: Mutex::default(),
        }
    }

    /// The streams of a session.
    pub(super) fn of(&self, id: &Arc<str>, session: &Arc<Conversation>) -> Arc<SessionStreams> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// Ends the streams of a session that is over.
    pub(super) fn forget(&self, id: &str) {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(streams) = sessions.remove(id) {
            streams.general.end();
        }
    }
}

impl SessionStreams {
    fn new(limits: Arc<Limits>, session: &Arc<Conversation>) -> Self {
        let mut random = [0; 4];
        // Without random bytes names may repeat those of an earlier run, which costs a replay at most.
        let _ = getrandom::fill(&mut random);
        let run = u32::from_le_bytes(random);
        let general = Arc::new(EventStream::resumable(&limits));
        general.set_name(format!("g{run:x}"));
        Self {
            limits,
            general,
            answers: Mutex::default(),
            run,
            next: AtomicU64::new(0),
            session: Arc::downgrade(session),
        }
    }

    /// Names the stream of an answer and keeps it for a client that comes back; the oldest that have
    /// ended are forgotten.
    pub(super) fn keep(&self, stream: Arc<EventStream>) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        stream.set_name(format!("c{:x}.{number:x}", self.run));
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.push_back(stream);
        let mut ended = answers.iter().filter(|stream| stream.has_ended()).count();
        let mut bytes: usize = answers.iter().map(|stream| stream.bytes()).sum();
        answers.retain(|stream| {
            let too_many = ended > self.limits.replay_streams || bytes > self.limits.replay_bytes;
            if !too_many || !stream.has_ended() {
                return true;
            }
            ended -= 1;
            bytes = bytes.saturating_sub(stream.bytes());
            false
        });
    }

    /// The stream that a client wants to go on with; `None` when its answer is no longer kept.
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
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = answers.iter().find(|stream| stream.name() == last.stream);
        match answer {
            Some(stream) => Some(ResumedStream {
                stream: stream.clone(),
                last: Some(last.number),
                is_general: false,
            }),
            // What belongs to no request goes on under a new name after a restart.
            None => last.stream.starts_with('g').then(|| general(None)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_tells_its_stream_and_its_number() {
        let last = LastEvent::parse("c1f.2-17").unwrap();
        assert_eq!((last.stream, last.number), ("c1f.2", 17));
        for bad in ["", "c1", "c1-", "c1--", "c1-x", "-"] {
            assert_eq!(LastEvent::parse(bad), None, "{bad}");
        }
    }
}
