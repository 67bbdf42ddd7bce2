//! The queue of spans for one collector, limited by number and size.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio::sync::mpsc;

use crate::span::Span;

/// Maximum number of queued spans.
pub(crate) const QUEUE_SPANS: usize = 2048;
/// Maximum size of queued spans in bytes, including content.
pub(crate) const QUEUE_BYTES: usize = 8 * 1024 * 1024;

/// How many spans were delivered.
#[derive(Debug, Default)]
pub(crate) struct DeliveryCounters {
    /// Accepted by the collector.
    pub(crate) sent: AtomicU64,
    /// Dropped: the queue was full, or the collector did not accept them.
    pub(crate) dropped: AtomicU64,
}

/// The sending side of the queue.
pub(crate) struct SpanSender {
    sender: mpsc::Sender<Arc<Span>>,
    bytes: Arc<AtomicUsize>,
    counts: Arc<DeliveryCounters>,
}

/// The receiving side of the queue.
pub(crate) struct SpanReceiver {
    receiver: mpsc::Receiver<Arc<Span>>,
    bytes: Arc<AtomicUsize>,
}

/// Creates a queue.
pub(crate) fn queue(counts: Arc<DeliveryCounters>) -> (SpanSender, SpanReceiver) {
    let (sender, receiver) = mpsc::channel(QUEUE_SPANS);
    let bytes = Arc::new(AtomicUsize::new(0));
    let receiver = SpanReceiver {
        receiver,
        bytes: bytes.clone(),
    };
    let queue = SpanSender {
        sender,
        bytes,
        counts,
    };
    (queue, receiver)
}

impl SpanSender {
    /// Queues a span, or drops and counts it.
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
    /// The next span, or `None` if the queue is closed and empty.
    pub(crate) async fn next(&mut self) -> Option<Arc<Span>> {
        let span = self.receiver.recv().await?;
        self.bytes.fetch_sub(span.weight(), Ordering::Relaxed);
        Some(span)
    }

    /// Closes the queue. Queued spans can still be received.
    pub(crate) fn close(&mut self) {
        self.receiver.close();
    }

    /// The number of queued spans.
    pub(crate) fn len(&self) -> usize {
        self.receiver.len()
    }
}
