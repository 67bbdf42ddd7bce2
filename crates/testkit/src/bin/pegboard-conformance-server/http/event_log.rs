//! A resumable event stream (SEP-1699).

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Bytes;
use futures_util::stream::{self, Stream};
use serde_json::Value;
use tokio::sync::watch;

use crate::http::reply;

/// Reconnection delay for clients, in milliseconds.
const RETRY_MS: u32 = 100;

/// All messages of one stream.
pub(crate) struct EventLog {
    /// The stream's number, the first part of its event ids.
    number: u64,
    log: watch::Sender<Log>,
}

#[derive(Default)]
struct Log {
    messages: Vec<Value>,
    ended: bool,
    /// How often the readers were disconnected.
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

    /// Disconnects the readers; later messages wait until they reconnect.
    pub(crate) fn cut(&self) {
        self.log.send_modify(|log| log.cuts += 1);
    }

    /// The number of messages so far.
    pub(crate) fn len(&self) -> usize {
        self.log.borrow().messages.len()
    }

    /// The event that contains only the position for reconnecting.
    pub(crate) fn priming(&self) -> Bytes {
        Bytes::from(format!(
            "id: {}-0\nretry: {RETRY_MS}\ndata: \n\n",
            self.number
        ))
    }

    /// The events after the first `seen`, until the log ends or the readers are disconnected.
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
