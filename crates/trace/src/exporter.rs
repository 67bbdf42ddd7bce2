//! Exports spans to one collector in batches, with retries, without ever blocking a caller.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use reqwest::Client;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout_at};

use crate::ids::random;
use crate::otlp::SpanEncoder;
use crate::otlp_http::{SendOutcome, client, send};
use crate::plan::Destination;
use crate::queue::{DeliveryCounters, SpanReceiver, SpanSender, queue};
use crate::redactor::Redactor;
use crate::span::Span;

/// Maximum number of spans in a request.
const BATCH_SPANS: usize = 256;
/// Maximum estimated size of a request's spans.
const BATCH_BYTES: usize = 1024 * 1024;
/// How long the first span of a batch waits for more.
const BATCH_DELAY: Duration = Duration::from_secs(1);
/// Maximum number of attempts to send a batch.
const MAX_ATTEMPTS: u32 = 5;
/// The delay after the first failure. It doubles with each further one.
const FIRST_DELAY: Duration = Duration::from_millis(500);
/// Time beyond the deadline in which the task may count the spans it drops.
const GRACE: Duration = Duration::from_millis(100);

/// How many spans were delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeliveryCounts {
    /// Spans accepted by collectors.
    pub sent: u64,
    /// Spans dropped.
    pub dropped: u64,
}

/// The exporter of one collector: a queue and the task that empties it.
pub(crate) struct Exporter {
    queue: SpanSender,
    pub(crate) counts: Arc<DeliveryCounters>,
    deadline_tx: watch::Sender<Option<Instant>>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Exporter {
    /// Starts the export task on a runtime.
    pub(crate) fn start(
        destination: Destination,
        encoder: SpanEncoder,
        redactor: Arc<Redactor>,
        runtime: &tokio::runtime::Handle,
    ) -> Self {
        let counts = Arc::new(DeliveryCounters::default());
        let (queue, spans) = queue(counts.clone());
        let (deadline_tx, deadline_rx) = watch::channel(None);
        let task = ExportTask {
            spans,
            deadline_rx,
            counts: counts.clone(),
            destination: Arc::new(destination),
            encoder: Arc::new(encoder),
            redactor,
            client: None,
            is_failing: false,
            is_closed: false,
        };
        Self {
            queue,
            counts,
            deadline_tx,
            task: Mutex::new(Some(runtime.spawn(task.run()))),
        }
    }

    /// Queues a span, or drops and counts it. Never blocks.
    pub(crate) fn put(&self, span: Arc<Span>) {
        self.queue.put(span);
    }

    /// Stops accepting spans, and sets the deadline for sending the remaining ones.
    pub(crate) fn begin_closing(&self, deadline: Instant) {
        let _ = self.deadline_tx.send(Some(deadline));
    }

    /// Waits until all spans are sent or dropped, at most until shortly after the deadline.
    pub(crate) async fn closed(&self, deadline: Instant) {
        let task = self
            .task
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(mut task) = task
            && timeout_at(deadline + GRACE, &mut task).await.is_err()
        {
            task.abort();
        }
    }
}

struct ExportTask {
    spans: SpanReceiver,
    deadline_rx: watch::Receiver<Option<Instant>>,
    counts: Arc<DeliveryCounters>,
    destination: Arc<Destination>,
    encoder: Arc<SpanEncoder>,
    redactor: Arc<Redactor>,
    /// Created for the first batch, so that a process without spans loads no certificates.
    client: Option<Client>,
    is_failing: bool,
    /// Whether the task has noticed the deadline.
    is_closed: bool,
}

impl ExportTask {
    async fn run(mut self) {
        while let Some(batch) = self.next_batch().await {
            self.deliver(batch).await;
            if self.is_late() {
                self.drop_spans(self.spans.len(), None);
                return;
            }
        }
    }

    /// Waits for a first span, then briefly for more. Returns `None` when the queue is closed and empty.
    async fn next_batch(&mut self) -> Option<Vec<Arc<Span>>> {
        let first = loop {
            tokio::select! {
                span = self.spans.next() => break span?,
                () = deadline_set(&mut self.deadline_rx), if !self.is_closed => self.close_queue(),
            }
        };
        let mut bytes = first.weight();
        let mut batch = vec![first];
        let until = Instant::now() + BATCH_DELAY;
        while batch.len() < BATCH_SPANS && bytes < BATCH_BYTES {
            let next = tokio::select! {
                next = timeout_at(until, self.spans.next()) => next,
                () = deadline_set(&mut self.deadline_rx), if !self.is_closed => {
                    self.close_queue();
                    continue;
                }
            };
            let Ok(Some(span)) = next else { break };
            bytes += span.weight();
            batch.push(span);
        }
        Some(batch)
    }

    /// Sends a batch, with retries, or drops it.
    async fn deliver(&mut self, batch: Vec<Arc<Span>>) {
        let count = batch.len();
        let Some((client, body)) = self.encode(batch).await else {
            self.drop_spans(count, Some("cannot create an HTTP client"));
            return;
        };
        for attempt in 1.. {
            let sending = send(&client, &self.destination, body.clone());
            let outcome = within(self.deadline_rx.clone(), sending).await;
            let outcome = outcome.unwrap_or_else(|| SendOutcome::Rejected {
                why: "it did not respond before the deadline".to_owned(),
            });
            match self.apply(outcome, count, attempt) {
                ControlFlow::Break(()) => return,
                // When closing, the last attempt is made immediately.
                ControlFlow::Continue(pause) => tokio::select! {
                    () = sleep(pause) => {}
                    () = deadline_set(&mut self.deadline_rx), if !self.is_closed => self.close_queue(),
                },
            }
        }
    }

    /// Handles the outcome of a request: done, or another attempt after a delay.
    fn apply(
        &mut self,
        sent: SendOutcome,
        count: usize,
        attempt: u32,
    ) -> ControlFlow<(), Duration> {
        match sent {
            SendOutcome::Accepted { rejected } => {
                let rejected = rejected.min(count as u64);
                self.counts
                    .sent
                    .fetch_add(count as u64 - rejected, Ordering::Relaxed);
                self.counts.dropped.fetch_add(rejected, Ordering::Relaxed);
                if self.is_failing {
                    self.is_failing = false;
                    tracing::info!(target: "pegboard_trace", "sending traces to {} works again", self.destination.display_url());
                }
                ControlFlow::Break(())
            }
            SendOutcome::Retry { pause, why } => {
                let is_last = attempt >= MAX_ATTEMPTS || self.deadline().is_some();
                if is_last {
                    self.drop_spans(count, Some(&why));
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(pause.unwrap_or_default().max(backoff(attempt)))
            }
            SendOutcome::Rejected { why } => {
                self.drop_spans(count, Some(&why));
                ControlFlow::Break(())
            }
        }
    }

    /// Encodes the request body on a blocking thread, because redacting content takes a while.
    async fn encode(&mut self, batch: Vec<Arc<Span>>) -> Option<(Client, Bytes)> {
        let (encoder, redactor) = (self.encoder.clone(), self.redactor.clone());
        let (known, destination) = (self.client.clone(), self.destination.clone());
        let encoded = tokio::task::spawn_blocking(move || {
            let client = match known {
                Some(client) => Ok(client),
                None => client(&destination),
            };
            let body = encoder.encode(batch.iter().map(AsRef::as_ref), &redactor);
            client.map(|client| (client, Bytes::from(body)))
        });
        let (client, body) = encoded.await.ok()?.ok()?;
        self.client = Some(client.clone());
        Some((client, body))
    }

    fn drop_spans(&mut self, count: usize, why: Option<&str>) {
        self.counts
            .dropped
            .fetch_add(count as u64, Ordering::Relaxed);
        let Some(why) = why else { return };
        // Reported once, until it works again.
        if !self.is_failing {
            self.is_failing = true;
            let place = self.destination.display_url();
            tracing::warn!(target: "pegboard_trace", "cannot send traces to {place}: {why}; they are dropped and counted");
        }
    }

    fn close_queue(&mut self) {
        self.is_closed = true;
        self.spans.close();
    }

    fn deadline(&self) -> Option<Instant> {
        *self.deadline_rx.borrow()
    }

    fn is_late(&self) -> bool {
        self.deadline()
            .is_some_and(|deadline| Instant::now() >= deadline)
    }
}

/// Completes when a deadline is set, or the exporter is dropped.
async fn deadline_set(deadline_rx: &mut watch::Receiver<Option<Instant>>) {
    let _ = deadline_rx.wait_for(Option::is_some).await;
}

/// Runs `work` until the deadline, which may be set in the meantime.
async fn within<T>(
    mut deadline_rx: watch::Receiver<Option<Instant>>,
    work: impl Future<Output = T>,
) -> Option<T> {
    let over = async {
        match deadline_rx
            .wait_for(Option::is_some)
            .await
            .map(|deadline| *deadline)
        {
            Ok(Some(deadline)) => tokio::time::sleep_until(deadline).await,
            // The exporter is gone, so there is no deadline.
            _ => std::future::pending().await,
        }
    };
    tokio::select! {
        done = work => Some(done),
        () = over => None,
    }
}

/// The delay after a number of attempts, with jitter so that many processes do not retry at once.
fn backoff(attempt: u32) -> Duration {
    let pause = FIRST_DELAY.saturating_mul(1 << attempt.saturating_sub(1).min(6));
    let spread = u32::try_from(random() % 1000).unwrap_or(0);
    pause + pause.saturating_mul(spread) / 2000
}
