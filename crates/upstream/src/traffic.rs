//! What a server sends beside answers: counted, and acted on where it means something.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::watch;

use crate::contract::{Health, LogSink};
use crate::envelope::{RpcError, present, string};
use crate::wording::Wording;

/// Log messages of a server by protocol that are passed on, over the life of a conversation.
const LOG_MESSAGES: u64 = 10_000;

/// The counters of one conversation, and its `list_changed`.
pub(crate) struct Traffic {
    noise: AtomicU64,
    invalid: AtomicU64,
    dropped: AtomicU64,
    refused: AtomicU64,
    logged: AtomicU64,
    changes: watch::Sender<u64>,
    wording: Wording,
    logs: Arc<dyn LogSink>,
}

impl Traffic {
    pub(crate) fn new(wording: Wording, logs: Arc<dyn LogSink>) -> Self {
        Self {
            noise: AtomicU64::new(0),
            invalid: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            logged: AtomicU64::new(0),
            changes: watch::channel(0).0,
            wording,
            logs,
        }
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    pub(crate) fn count_noise(&self) {
        self.noise.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_invalid(&self) {
        self.invalid.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_dropped(&self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn noise(&self) -> u64 {
        self.noise.load(Ordering::Relaxed)
    }

    /// Lines that were good for nothing.
    pub(crate) fn useless_lines(&self) -> u64 {
        self.noise()
            .saturating_add(self.invalid.load(Ordering::Relaxed))
    }

    /// A notification came in.
    pub(crate) fn notified(&self, method: &str, params: Option<&RawValue>) {
        match method {
            "notifications/tools/list_changed" => self
                .changes
                .send_modify(|count| *count = count.wrapping_add(1)),
            "notifications/message" => self.log(params),
            _ => {}
        }
    }

    /// An error came in that belongs to no request.
    pub(crate) fn complained(&self, error: &RpcError) {
        self.count_dropped();
        if self.logged.fetch_add(1, Ordering::Relaxed) < LOG_MESSAGES {
            self.logs.append(
                &self.wording.server,
                &format!("(protocol) {}", self.wording.rpc(error)),
            );
        }
    }

    /// A request came in; the answer is a result, or `None` for "no such method".
    pub(crate) fn asked(&self, method: &str, modern: bool) -> Option<&'static str> {
        if method == "ping" && !modern {
            return Some("{}");
        }
        self.refused.fetch_add(1, Ordering::Relaxed);
        None
    }

    /// The counters as they are shown.
    pub(crate) fn health(&self) -> Health {
        Health {
            noise_lines: self.noise(),
            invalid_frames: self.invalid.load(Ordering::Relaxed),
            dropped_frames: self.dropped.load(Ordering::Relaxed),
            refused_requests: self.refused.load(Ordering::Relaxed),
            ..Health::default()
        }
    }

    fn log(&self, params: Option<&RawValue>) {
        #[derive(Deserialize)]
        struct LogMessage<'a> {
            #[serde(borrow, default, deserialize_with = "present")]
            data: Option<&'a RawValue>,
        }
        if self.logged.fetch_add(1, Ordering::Relaxed) >= LOG_MESSAGES {
            return;
        }
        let message =
            params.and_then(|params| serde_json::from_str::<LogMessage<'_>>(params.get()).ok());
        if let Some(data) = message.and_then(|message| message.data) {
            let text = string(data).unwrap_or_else(|| data.get().into());
            self.logs
                .append(&self.wording.server, &self.wording.quote(&text));
        }
    }
}
