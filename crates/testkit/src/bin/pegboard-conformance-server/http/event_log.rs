//! A stream of events that a client can leave and come back to (SEP-1699).

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Bytes;
use futures_util::stream::{self, Stream};
use serde_json::Value;
use tokio::sync::watch;

use crate::http::reply;

/// How soon a client whose stream was closed should come back, in milliseconds.
const RETRY_MS: u32 = 100;

/// Everything that was ever sent on one stream.
pub(crate) struct EventLog {
    /// The stream's number, the first half of its events' ids.
    number: u64,
    log: watch::Sender<Log>,
}

#[derive(Default)]
struct Log {
    messages: Vec<Value>,
    ended: bool,
    /// How often the readers were sent away.
    cuts: u32,
}

impl EventLog {
    pub(crate) fn new(number: u64) -> Self {
        Self {
            number,
            log: watch::Sender::default(),
        }
    }

    pub(crate) fn push(&self, message: Value) {
        self.log.send_modify(|log| log.messages.push(message));
    }

    pub(crate) fn end(&self) {
        self.log.send_modify(|log| log.ended = true);
    }

    /// Sends the readers away; what is pushed from now on waits for them to come back.
    pub(crate) fn cut(&self) {
        self.log.send_modify(|log| log.cuts += 1);
    }

    /// How many messages were sent so far.
    pub(crate) fn len(&self) -> usize {
        self.log.borrow().messages.len()
    }

    /// The event that only tells the client where to come back to.
    pub(crate) fn priming(&self) -> Bytes {
        Bytes::from(format!(
            "id: {}-0\nretry: {RETRY_MS}\ndata: \n\n",
            self.number
        ))
    }

    /// The events after the first `seen`, until the end of the log or until the readers are sent away.
    pub(crate) fn read(
        self: &Arc<Self>,
        seen: usize,
        first: Option<Bytes>,
    ) -> impl Stream<Item = Result<Bytes, Infallible>> + use<> {
        let reader = Reader {
            number: self.number,
            cuts: self.log.borrow().cuts,
            log: self.log.subscribe(),
            seen,
        };
        stream::unfold((reader, first), |(mut reader, first)| async move {
            let event = match first {
                Some(event) => event,
                None => reader.next().await?,
            };
            Some((Ok(event), (reader, None)))
        })
    }
}

struct Reader {
    number: u64,
    cuts: u32,
    log: watch::Receiver<Log>,
    seen: usize,
}

impl Reader {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            {
                let log = self.log.borrow_and_update();
                if let Some(message) = log.messages.get(self.seen) {
                    self.seen += 1;
                    let id = format!("{}-{}", self.number, self.seen);
                    return Some(reply::event(Some(&id), message));
                }
                if log.ended || log.cuts != self.cuts {
                    return None;
                }
            }
            self.log.changed().await.ok()?;
        }
    }
}
