//! Spans on their way to one collector: bounded in number and in bytes, and never waited for.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio::sync::mpsc;

use crate::span::Span;

/// Most spans that wait.
pub(crate) const QUEUE_SPANS: usize = 2048;
/// Most bytes of spans that wait, contents included.
pub(crate) const QUEUE_BYTES: usize = 8 * 1024 * 1024;

/// What became of spans.
#[derive(Debug, Default)]
pub(crate) struct DeliveryCounters {
    /// Taken by the collector.
    pub(crate) sent: AtomicU64,
    /// Given up: the queue was full, or the collector did not take them.
    pub(crate) dropped: AtomicU64,
}

/// The end that spans are put into.
pub(crate) struct SpanSender {
    sender: mpsc::Sender<Arc<Span>>,
    bytes: Arc<AtomicUsize>,
    counts: Arc<DeliveryCounters>,
}

/// The end that the exporter takes from.
pub(crate) struct SpanReceiver {
    receiver: mpsc::Receiver<Arc<Span>>,
    bytes: Arc<AtomicUsize>,
}

/// A queue with both its ends.
pub(crate) fn queue(counts: Arc<DeliveryCounters>) -> (SpanSender, SpanReceiver) {
    let (sender, receiver) = mpsc::channel(QUEUE_SPANS);
    let bytes = Arc::new(AtomicUsize::new(0));
    let waiting = SpanReceiver {
        receiver,
        bytes: bytes.clone(),
    };
    let queue = SpanSender {
        sender,
        bytes,
        counts,
    };
    (queue, waiting)
}

impl SpanSender {
    /// Puts a span in, or drops and counts it.
    pub(crate) fn put(&self, span: Arc<Span>) {
        let weight = span.weight();
        let before = self.bytes.fetch_add(weight, Ordering::Relaxed);
        let is_room = before.saturating_add(weight) <= QUEUE_BYTES;
        if !is_room || self.sender.try_send(span).is_err() {
            self.bytes.fetch_sub(weight, Ordering::Relaxed);
            self.counts.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl SpanReceiver {
    /// The next span; `None` when the queue was closed and is empty.
    pub(crate) async fn next(&mut self) -> Option<Arc<Span>> {
        let span = self.receiver.recv().await?;
        self.bytes.fetch_sub(span.weight(), Ordering::Relaxed);
        Some(span)
    }

    /// Takes no more; what is there can still be had.
    pub(crate) fn close(&mut self) {
        self.receiver.close();
    }

    /// How many are there.
    pub(crate) fn len(&self) -> usize {
        self.receiver.len()
    }
}
