//! Brings spans to one collector: in batches, with patience when it is overloaded, and never waited for.

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

/// Most spans in one request.
const BATCH_SPANS: usize = 256;
/// Most bytes of spans in one request, as far as their weight tells.
const BATCH_BYTES: usize = 1024 * 1024;
/// How long the first span of a batch waits for others.
const BATCH_DELAY: Duration = Duration::from_secs(1);
/// How often a batch is tried before it is given up.
const TRIES: u32 = 5;
/// The pause after the first failure; it doubles with each.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// What the task may take to count what it gives up at the end.
const GRACE: Duration = Duration::from_millis(100);

/// What became of the spans of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeliveryCounts {
    /// Accepted by collectors.
    pub sent: u64,
    /// Given up.
    pub dropped: u64,
}

/// One collector's exporter: the queue, and the task that empties it.
pub(crate) struct Exporter {
    queue: SpanSender,
    pub(crate) counts: Arc<DeliveryCounters>,
    closing: watch::Sender<Option<Instant>>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Exporter {
    /// Starts it on the present runtime.
    pub(crate) fn start(
        destination: Destination,
        encoder: SpanEncoder,
        redactor: Arc<Redactor>,
        runtime: &tokio::runtime::Handle,
    ) -> Self {
        let counts = Arc::new(DeliveryCounters::default());
        let (queue, waiting) = queue(counts.clone());
        let (closing, told) = watch::channel(None);
        let work = ExportTask {
            waiting,
            told,
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
            closing,
            task: Mutex::new(Some(runtime.spawn(work.run()))),
        }
    }

    /// Takes a span, or drops and counts it. Never waits.
    pub(crate) fn put(&self, span: Arc<Span>) {
        self.queue.put(span);
    }

    /// Says until when what is left may be sent. Nothing is taken any more.
    pub(crate) fn begin_closing(&self, deadline: Instant) {
        let _ = self.closing.send(Some(deadline));
    }

    /// Waits until everything was sent or given up, a moment beyond the deadline at the most.
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
    waiting: SpanReceiver,
    told: watch::Receiver<Option<Instant>>,
    counts: Arc<DeliveryCounters>,
    destination: Arc<Destination>,
    encoder: Arc<SpanEncoder>,
    redactor: Arc<Redactor>,
    /// Made for the first batch: a process that never traces anything loads no certificates.
    client: Option<Client>,
    is_failing: bool,
    /// Whether the end was noticed.
    is_closed: bool,
}

impl ExportTask {
    async fn run(mut self) {
        while let Some(batch) = self.gather().await {
            self.deliver(batch).await;
            if self.is_late() {
                self.give_up(self.waiting.len(), None);
                return;
            }
        }
    }

    /// Waits for a first span and a moment for others; at the end, what is left.
    async fn gather(&mut self) -> Option<Vec<Arc<Span>>> {
        let first = loop {
            tokio::select! {
                span = self.waiting.next() => break span?,
                () = closing(&mut self.told), if !self.is_closed => self.stop_taking(),
            }
        };
        let mut bytes = first.weight();
        let mut batch = vec![first];
        let until = Instant::now() + BATCH_DELAY;
        while batch.len() < BATCH_SPANS && bytes < BATCH_BYTES {
            let next = tokio::select! {
                next = timeout_at(until, self.waiting.next()) => next,
                () = closing(&mut self.told), if !self.is_closed => {
                    self.stop_taking();
                    continue;
                }
            };
            let Ok(Some(span)) = next else { break };
            bytes += span.weight();
            batch.push(span);
        }
        Some(batch)
    }

    /// Brings a batch to the collector, or gives it up after some tries.
    async fn deliver(&mut self, batch: Vec<Arc<Span>>) {
        let count = batch.len();
        let Some((client, body)) = self.prepare(batch).await else {
            self.give_up(count, Some("no HTTP client could be made"));
            return;
        };
        for tried in 1.. {
            let sending = send(&client, &self.destination, body.clone());
            let sent =
                within(self.told.clone(), sending)
                    .await
                    .unwrap_or_else(|| SendOutcome::Rejected {
                        why: "it did not answer before the end".to_owned(),
                    });
            match self.judge(sent, count, tried) {
                ControlFlow::Break(()) => return,
                // A collector that is asked at the end gets one more try at once.
                ControlFlow::Continue(pause) => tokio::select! {
                    () = sleep(pause) => {}
                    () = closing(&mut self.told), if !self.is_closed => self.stop_taking(),
                },
            }
        }
    }

    /// What follows from an answer: nothing more, or another try after a pause.
    fn judge(&mut self, sent: SendOutcome, count: usize, tried: u32) -> ControlFlow<(), Duration> {
        match sent {
            SendOutcome::Accepted { rejected } => {
                let rejected = rejected.min(count as u64);
                self.counts
                    .sent
                    .fetch_add(count as u64 - rejected, Ordering::Relaxed);
                self.counts.dropped.fetch_add(rejected, Ordering::Relaxed);
                if self.is_failing {
                    self.is_failing = false;
                    tracing::info!(target: "pegboard_trace", "traces reach {} again", self.destination.display_url());
                }
                ControlFlow::Break(())
            }
            SendOutcome::Retry { pause, why } => {
                let is_last = tried >= TRIES || self.deadline().is_some();
                if is_last {
                    self.give_up(count, Some(&why));
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(pause.unwrap_or_default().max(backoff(tried)))
            }
            SendOutcome::Rejected { why } => {
                self.give_up(count, Some(&why));
                ControlFlow::Break(())
            }
        }
    }

    /// Writes the request's body away from the runtime's threads: contents are looked through for secrets, which
    /// takes a while.
    async fn prepare(&mut self, batch: Vec<Arc<Span>>) -> Option<(Client, Bytes)> {
        let (encoder, redactor) = (self.encoder.clone(), self.redactor.clone());
        let (known, destination) = (self.client.clone(), self.destination.clone());
        let prepared = tokio::task::spawn_blocking(move || {
            let client = match known {
                Some(client) => Ok(client),
                None => client(&destination),
            };
            let body = encoder.encode(batch.iter().map(AsRef::as_ref), &redactor);
            client.map(|client| (client, Bytes::from(body)))
        });
        let (client, body) = prepared.await.ok()?.ok()?;
        self.client = Some(client.clone());
        Some((client, body))
    }

    fn give_up(&mut self, count: usize, why: Option<&str>) {
        self.counts
            .dropped
            .fetch_add(count as u64, Ordering::Relaxed);
        let Some(why) = why else { return };
        // Told once, until it works again.
        if !self.is_failing {
            self.is_failing = true;
            let place = self.destination.display_url();
            tracing::warn!(target: "pegboard_trace", "traces do not reach {place}: {why}; they are dropped and counted");
        }
    }

    fn stop_taking(&mut self) {
        self.is_closed = true;
        self.waiting.close();
    }

    fn deadline(&self) -> Option<Instant> {
        *self.told.borrow()
    }

    fn is_late(&self) -> bool {
        self.deadline()
            .is_some_and(|deadline| Instant::now() >= deadline)
    }
}

/// Waits until the end is near. Also true when whoever could tell is gone.
async fn closing(told: &mut watch::Receiver<Option<Instant>>) {
    let _ = told.wait_for(Option::is_some).await;
}

/// Waits for something until the deadline, which may be set meanwhile.
async fn within<T>(
    mut told: watch::Receiver<Option<Instant>>,
    work: impl Future<Output = T>,
) -> Option<T> {
    let over = async {
        match told
            .wait_for(Option::is_some)
            .await
            .map(|deadline| *deadline)
        {
            Ok(Some(deadline)) => tokio::time::sleep_until(deadline).await,
            // Nobody can set one any more.
            _ => std::future::pending().await,
        }
    };
    tokio::select! {
        done = work => Some(done),
        () = over => None,
    }
}

/// The pause after so many tries, spread so that many processes do not come back at once.
fn backoff(tried: u32) -> Duration {
    let pause = FIRST_PAUSE.saturating_mul(1 << tried.saturating_sub(1).min(6));
    let spread = u32::try_from(random() % 1000).unwrap_or(0);
    pause + pause.saturating_mul(spread) / 2000
}
