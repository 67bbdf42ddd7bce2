//! One discovery of one server, from the request to the new snapshot.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use pegboard_catalog::{Delta, ServerEntry};
use pegboard_model::{
    CacheUse, DiscoveryFacts, EventKind, Outcome, Reason, ServerRecord, ServerSpec, SpanContext,
    Timestamp, ToolError, ToolResult, TraceId, Transport,
};
use tokio::time::{Instant, timeout};

use super::fetch::{discovery_timeout, fetch_and_admit};
use super::records::from_summary;
use super::refresh::{DiscoverySource, RefreshOutcome, Refreshed, refused};
use super::start_queue::StartPermit;
use super::{Backoff, FinishedDiscovery};
use crate::hub::Inner;
use crate::publication::{LastDelta, change_summary};
use crate::telemetry::{TraceScope, millis, transport_kind};

/// How much longer than the server's own timeout to wait for a discovery of another process.
const OTHER_PROCESS_MARGIN: Duration = Duration::from_secs(5);

/// Discovers a server and publishes the result. A failure keeps the known tools.
pub(crate) async fn discover(
    inner: Arc<Inner>,
    spec: Arc<ServerSpec>,
    trace: TraceScope,
    backoff: Backoff,
) -> Arc<RefreshOutcome> {
    if backoff == Backoff::Respect
        && let Err(error) = inner.check_pause(&spec)
    {
        return Arc::new(refused(&spec, error));
    }
    if let Some(servers) = trace.take_started() {
        let kind = EventKind::DiscoveryStarted { servers };
        inner.telemetry.emit(&trace, kind);
    }
    let started = Instant::now();
    let span = inner.telemetry.begin(&trace, "discovery");
    let _mark = DiscoveringMark::new(&inner, &spec);
    let attempt = Attempt {
        requested_at: inner.clock.now(),
        known: inner.known_record(&spec),
        inner: &inner,
        spec: &spec,
        trace: &trace,
        backoff,
    };
    let start = inner.wait_for_start_turn(&spec).await;
    let (_permit, has_waited) = inner.discovery.acquire().await;
    let wait = discovery_timeout(&spec, &attempt.known).saturating_add(OTHER_PROCESS_MARGIN);
    // If the lock cannot be taken, discover anyway: two starts are better than none.
    let lock = timeout(wait, inner.store.lock_discovery(&spec.name)).await;
    let may_be_discovered = match &lock {
        // Without a wait, no other process can have discovered the server in between.
        Ok(Ok(lock)) => has_waited || start.has_waited || lock.has_waited(),
        _ => false,
    };
    let mut finished = match attempt.run(&start, may_be_discovered).await {
        Ok(finished) => finished,
        // The server was not tried, so the record of the last attempt stays.
        Err(error) => return Arc::new(refused(&spec, error)),
    };
    drop(start);
    if finished.source != DiscoverySource::Discovered {
        finished.took = started.elapsed();
    }
    let (record, source, took) = (finished.record.clone(), finished.source, finished.took);
    // Publish before storing, so that readers do not wait for the disk. The lock is held until the record is stored.
    let mut outcome = inner.finish_discovery(&spec, finished, &trace);
    inner.watch_reviews();
    inner.record_discovery(span.as_ref(), &spec, &record, &outcome, took);
    if source == DiscoverySource::Discovered {
        let stored = inner.store.save(&record).await;
        inner.record_stored(&spec.name, stored.as_ref().copied(), &trace);
        outcome.not_stored = stored.err();
    }
    drop(lock);
    Arc::new(outcome)
}

/// One attempt to discover a server.
struct Attempt<'a> {
    inner: &'a Arc<Inner>,
    spec: &'a Arc<ServerSpec>,
    known: Arc<ServerRecord>,
    requested_at: Timestamp,
    trace: &'a TraceScope,
    backoff: Backoff,
}

impl Attempt<'_> {
    /// Takes over the record of another process, or contacts the server. Fails only if the server was not tried.
    async fn run(
        &self,
        start: &StartPermit,
        may_be_discovered: bool,
    ) -> ToolResult<FinishedDiscovery> {
        let (inner, known) = (self.inner, &self.known);
        let elsewhere = match may_be_discovered {
            true => inner.found_elsewhere(known, self.requested_at).await,
            false => None,
        };
        // If nothing is known under this definition, changes are reported against the previous one.
        let former = inner.former_record(known);
        if let Some(mut record) = elsewhere {
            record.learnt = record.learnt.and(known.learnt);
            let error = record.last_error.as_ref();
            return Ok(FinishedDiscovery {
                error: error.map(|summary| from_summary(summary, self.spec)),
                record: Arc::new(record),
                former: former.await,
                source: DiscoverySource::Shared,
                took: Duration::ZERO,
            });
        }
        let begun = Instant::now();
        let fetch = fetch_and_admit(inner, self.spec, known, self.backoff, self.trace);
        let (fetched, former) = tokio::join!(paced(start, fetch), former);
        let took = begun.elapsed();
        let (record, error, former) = match fetched {
            Ok(record) => (record, None, former),
            Err(error) if matches!(error.reason, Reason::Cancelled | Reason::ServerBackoff) => {
                return Err(error);
            }
            Err(error) => (inner.failure_record(known, &error), Some(error), None),
        };
        Ok(FinishedDiscovery {
            record: Arc::new(record),
            former,
            error,
            source: DiscoverySource::Discovered,
            took,
        })
    }
}

/// Runs a discovery as a paced start: its duration adjusts the pace of the next ones.
async fn paced(
    start: &StartPermit,
    fetch: impl Future<Output = ToolResult<ServerRecord>>,
) -> ToolResult<ServerRecord> {
    start.begin();
    let fetched = fetch.await;
    let is_measure = |error: &ToolError| error.reason == Reason::DiscoveryTimeout;
    if fetched.as_ref().err().is_none_or(is_measure) {
        start.measure();
    }
    fetched
}

/// Marks a server as being discovered until this is dropped, also if the discovery is cancelled.
struct DiscoveringMark<'a> {
    inner: &'a Inner,
    spec: &'a ServerSpec,
}

impl<'a> DiscoveringMark<'a> {
    fn new(inner: &'a Inner, spec: &'a ServerSpec) -> Self {
        inner
            .catalog
            .mark(spec, |entry| Some(entry.clone().with_discovering(true)));
        Self { inner, spec }
    }
}

impl Drop for DiscoveringMark<'_> {
    fn drop(&mut self) {
        let shown = |entry: &ServerEntry| entry.discovering.then(|| entry.clone());
        self.inner.catalog.mark(self.spec, |entry| {
            shown(entry).map(|entry| entry.with_discovering(false))
        });
    }
}

impl Inner {
    /// Waits until the server may be started for its discovery.
    async fn wait_for_start_turn(&self, spec: &ServerSpec) -> StartPermit {
        let slot = self.slots.get_or_create(&spec.name);
        let is_running = slot.running().is_some();
        if is_running || matches!(spec.transport, Transport::Http { .. }) {
            return self.discovery.starts().enter_unpaced(&spec.name);
        }
        self.discovery
            .starts()
            .enter(&spec.name, slot.prioritized())
            .await
    }

    /// Refuses if the server is not running and in its backoff.
    fn check_pause(&self, spec: &ServerSpec) -> ToolResult<()> {
        match self.slots.get(&spec.name) {
            Some(slot) if slot.running().is_none() => slot.check_pause(&spec.hash),
            _ => Ok(()),
        }
    }

    pub(crate) fn is_paused(&self, spec: &ServerSpec) -> bool {
        self.check_pause(spec).is_err()
    }

    /// Records the telemetry of a discovery.
    pub(crate) fn record_discovery(
        &self,
        span: Option<&SpanContext>,
        spec: &ServerSpec,
        record: &ServerRecord,
        outcome: &RefreshOutcome,
        took: Duration,
    ) {
        let facts = DiscoveryFacts {
            server: &spec.name,
            transport: transport_kind(spec),
            protocol: record.protocol_version.as_deref(),
            tools: &record.tools,
            cache: match outcome.source {
                DiscoverySource::Discovered => CacheUse::Miss,
                DiscoverySource::Shared => CacheUse::Shared,
                DiscoverySource::Fresh => CacheUse::Hit,
            },
            outcome: Outcome::of(&outcome.result),
            took,
        };
        self.telemetry.recorder().discovery(span, &facts);
    }

    pub(crate) fn finish_discovery(
        &self,
        spec: &Arc<ServerSpec>,
        finished: FinishedDiscovery,
        trace: &TraceId,
    ) -> RefreshOutcome {
        let FinishedDiscovery {
            record,
            former,
            error,
            source,
            took,
        } = finished;
        let duration_ms = millis(took);
        let (tools, rejections) = (record.tools.len(), record.rejections.clone());
        let era = record.era;
        let was_known = former.is_some() || self.known_record(spec).is_known();
        let against_former = former.map(|former| Delta::between(&former.tools, &record.tools));
        let published = self.publish(trace, record, false);
        let delta = against_former.unwrap_or(published);
        let slot = self.slots.get_or_create(&spec.name);
        let result = match error {
            None => {
                slot.record_success();
                // Do not record anything for a server that was removed in the meantime.
                if self.catalog.load().server(&spec.name).is_some() {
                    let last = LastDelta {
                        at: self.clock.now(),
                        duration_ms,
                        delta: Arc::new(delta.clone()),
                    };
                    self.catalog.record_delta(&spec.name, last);
                }
                let kind = EventKind::ServerDiscovered {
                    server: spec.name.clone(),
                    tools,
                    duration_ms,
                };
                let changes = was_known.then(|| change_summary(&delta)).flatten();
                self.telemetry.emit_with_changes(trace, kind, changes);
                self.emit_review_needed(&spec.name, trace);
                Ok(Refreshed {
                    tools,
                    delta,
                    era,
                    rejected: rejections.to_vec(),
                })
            }
            Some(error) => {
                let kind = EventKind::ServerFailed {
                    server: spec.name.clone(),
                    reason: error.reason.code().to_owned(),
                    error: error.message.clone(),
                };
                self.telemetry.emit(trace, kind);
                Err(error)
            }
        };
        RefreshOutcome {
            server: spec.name.clone(),
            result,
            not_stored: None,
            source,
            duration_ms,
        }
    }
}
