//! One discovery of one server, from the wish to the new snapshot.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use pegboard_catalog::{Delta, ServerEntry};
use pegboard_guard::admit_with_known;
use pegboard_model::{
    CacheUse, DiscoveryFacts, DiscoveryStatus, Era, ErrorSummary, EventKind, Outcome, Reason,
    ServerRecord, ServerSpec, SpanContext, Timeouts, Timestamp, ToolError, ToolResult, TraceId,
    Transport, TransportKind,
};
use pegboard_upstream::{Handshake, ToolListing};
use tokio::time::{Instant, timeout, timeout_at};

use crate::hub::Inner;
use crate::offers::{RawOffers, ask_for_offers};
use crate::publication::{LastDelta, change_summary};
use crate::refresh::{DiscoverySource, RefreshOutcome, Refreshed, refused};
use crate::session_resources::SessionResources;
use crate::start_queue::StartPermit;
use crate::telemetry::TraceScope;

/// How long the first discovery of a server may take.
const FIRST_DISCOVERY_TIMEOUT: Duration = Duration::from_secs(120);
/// How much longer than its own time-out another process's discovery is waited for.
const OTHER_PROCESS_MARGIN: Duration = Duration::from_secs(5);

/// How a discovery came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backoff {
    /// The server is left alone while it is in its pause after failures.
    Respect,
    /// A person asked: the pause does not count.
    Ignore,
}

/// How a discovery ended.
pub(crate) struct FinishedDiscovery {
    pub(crate) record: Arc<ServerRecord>,
    /// What the server had under its definition before, if nothing was known under the present one.
    pub(crate) former: Option<ServerRecord>,
    pub(crate) error: Option<ToolError>,
    pub(crate) source: DiscoverySource,
    pub(crate) took: Duration,
}

/// All that a server told.
struct DiscoveryResponse {
    handshake: Handshake,
    listing: ToolListing,
    offers: RawOffers,
    session_resources: Arc<SessionResources>,
}

/// Asks a server for its tools and publishes what it says; a failure keeps what was known.
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
    let asked_at = inner.clock.now();
    let started = Instant::now();
    let span = inner.telemetry.begin(&trace, "discovery");
    let known = inner.known_record(&spec);
    let _shown = DiscoveringMark::new(&inner, &spec);

    let start = inner.wait_for_start_turn(&spec).await;
    let place = inner.discoveries.clone().try_acquire_owned().ok();
    let has_waited = place.is_none() || start.has_waited;
    let _place = match place {
        Some(place) => Some(place),
        None => inner.discoveries.clone().acquire_owned().await.ok(),
    };
    let wait = discovery_timeout(&spec, &known).saturating_add(OTHER_PROCESS_MARGIN);
    // Without the store's lock the discovery still runs: two starts are better than none.
    let lead = timeout(wait, inner.store.lock_discovery(&spec.name)).await;
    let elsewhere = match &lead {
        // Who did not have to wait asks first, so nobody can have found anything since.
        Ok(Ok(lead)) if has_waited || lead.has_waited() => {
            inner.found_elsewhere(&known, asked_at).await
        }
        _ => None,
    };
    // Where nothing is known under this definition, what changed is told against the one before.
    let former = inner.former_record(&known);
    let begun = Instant::now();
    let (record, error, source, former) = match elsewhere {
        Some(record) => {
            let error = record
                .last_error
                .as_ref()
                .map(|note| from_note(note, &spec));
            (record, error, DiscoverySource::Shared, former.await)
        }
        None => {
            let asked = paced(&start, told(&inner, &spec, &known, backoff, &trace));
            let (asked, former) = tokio::join!(asked, former);
            match asked {
                Ok(record) => (record, None, DiscoverySource::Asked, former),
                // The server was not really tried, so its last real try stays what is known.
                Err(error) if matches!(error.reason, Reason::Cancelled | Reason::ServerBackoff) => {
                    return Arc::new(refused(&spec, error));
                }
                Err(error) => (
                    inner.failure(&known, &error),
                    Some(error),
                    DiscoverySource::Asked,
                    None,
                ),
            }
        }
    };
    drop(start);
    let record = Arc::new(record);
    // Readers need not wait for the disk; whoever waits for the lead does, and so does who asked.
    let took = match source {
        // Waiting for its turn is not the server's time.
        DiscoverySource::Asked => begun.elapsed(),
        DiscoverySource::Shared | DiscoverySource::Fresh => started.elapsed(),
    };
    let finished = FinishedDiscovery {
        record: record.clone(),
        former,
        error,
        source,
        took,
    };
    let mut outcome = inner.finish_discovery(&spec, finished, &trace);
    inner.record_discovery(span.as_ref(), &spec, &record, &outcome, took);
    if source == DiscoverySource::Asked {
        let stored = inner.store.save(&record).await;
        inner.record_stored(&spec.name, stored.as_ref().copied(), &trace);
        outcome.not_stored = stored.err();
    }
    drop(lead);
    Arc::new(outcome)
}

/// Asks a server as the start that it is; how long it took paces the next starts.
async fn paced(
    start: &StartPermit,
    asked: impl Future<Output = ToolResult<ServerRecord>>,
) -> ToolResult<ServerRecord> {
    start.begin();
    let told = asked.await;
    let is_measure = |error: &ToolError| error.reason == Reason::DiscoveryTimeout;
    if told.as_ref().err().is_none_or(is_measure) {
        start.measure();
    }
    told
}

/// What a server has, after its answer was looked at. That is done beside the clients' requests: many long
/// lists arrive at the same moment after a start.
async fn told(
    inner: &Arc<Inner>,
    spec: &Arc<ServerSpec>,
    known: &Arc<ServerRecord>,
    backoff: Backoff,
    trace: &TraceId,
) -> ToolResult<ServerRecord> {
    let answer = fetch_with_era_retry(inner, spec, known, backoff, trace).await?;
    let _place = inner.admissions.acquire().await;
    let (looking, of, before) = (inner.clone(), spec.clone(), known.clone());
    let looked = tokio::task::spawn_blocking(move || looking.success(&of, &before, answer));
    looked.await.map_err(|_| {
        let message = format!("the tools of server `{}` could not be looked at", spec.name);
        ToolError::new(Reason::Internal, message).at_server(&spec.name)
    })
}

/// Asks, and once more where a remembered era may be why the server went away.
async fn fetch_with_era_retry(
    inner: &Arc<Inner>,
    spec: &Arc<ServerSpec>,
    known: &ServerRecord,
    backoff: Backoff,
    trace: &TraceId,
) -> ToolResult<DiscoveryResponse> {
    let answer = ask(inner, spec, known, backoff, trace).await;
    match &answer {
        // A legacy one was learnt anew by the connection itself.
        Err(error) if error.reason == Reason::ServerExited && known.era == Some(Era::Modern) => {
            let without_era = ServerRecord {
                era: None,
                ..known.clone()
            };
            ask(inner, spec, &without_era, Backoff::Ignore, trace).await
        }
        _ => answer,
    }
}

async fn ask(
    inner: &Arc<Inner>,
    spec: &Arc<ServerSpec>,
    known: &ServerRecord,
    backoff: Backoff,
    trace: &TraceId,
) -> ToolResult<DiscoveryResponse> {
    let budget = discovery_timeout(spec, known);
    let deadline = Instant::now() + budget;
    let (hold, opened) = inner.acquire(spec, known, deadline, backoff, trace).await?;
    let upstream = hold.upstream();
    let changes = upstream.list_changed();
    let list = || async {
        let listing = timeout_at(deadline, upstream.list_tools()).await;
        listing.unwrap_or_else(|_| Err(timed_out(spec, "its list of tools", budget)))
    };
    let mut listing = list().await;
    if opened && listing.is_ok() && changes.has_changed().unwrap_or(false) {
        // It will not be listened to any more, so what it announced is fetched now.
        listing = list().await;
    }
    let answer = match listing {
        Ok(listing) => Ok(DiscoveryResponse {
            offers: ask_for_offers(spec, known, upstream.as_ref(), deadline).await,
            session_resources: hold.running().session_resources.clone(),
            // Read last: an era that was learnt anew on the way is in it.
            handshake: upstream.handshake().clone(),
            listing,
        }),
        Err(error) => Err(error),
    };
    if let Err(error) = &answer {
        inner
            .slots
            .get_or_create(&spec.name)
            .record_failure(&spec.hash, error);
    }
    let failed = answer.is_err();
    inner.release_after_discovery(spec, hold, opened, failed, trace);
    answer
}

/// How long a discovery may take, counted from its own start. A server that was never discovered gets longer: it may
/// have to be downloaded first, and other first starts compete with it. A configured time-out is never stretched.
fn discovery_timeout(spec: &ServerSpec, known: &ServerRecord) -> Duration {
    let own = spec.timeouts.discovery;
    let is_default = own == Timeouts::default().discovery;
    if is_default && !known.is_known() {
        FIRST_DISCOVERY_TIMEOUT
    } else {
        own
    }
}

/// How a server is spoken to.
pub(crate) fn transport_kind(spec: &ServerSpec) -> TransportKind {
    match spec.transport {
        Transport::Stdio { .. } => TransportKind::Stdio,
        Transport::Http { .. } => TransportKind::Http,
    }
}

pub(crate) fn timed_out(spec: &ServerSpec, what: &str, limit: Duration) -> ToolError {
    // Tenths only where they say something.
    let tenths = (limit.as_secs_f32() * 10.0).round() / 10.0;
    let message = format!(
        "server `{}` did not give {what} within {tenths} s",
        spec.name
    );
    ToolError::new(Reason::DiscoveryTimeout, message).at_server(&spec.name)
}

pub(crate) fn from_note(note: &ErrorSummary, spec: &ServerSpec) -> ToolError {
    ToolError::new(note.reason, note.message.clone())
        .at_server(&spec.name)
        .with_remedy(note.remedy.clone())
}

/// Whether a remembered era may be what went wrong: a server can change its era by an update under the same
/// definition, and one that is spoken to in the wrong way refuses, falls silent or ends.
fn may_be_era_mismatch(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::VersionUnsupported
            | Reason::HandshakeFailed
            | Reason::DiscoveryFailed
            | Reason::DiscoveryTimeout
            | Reason::ServerExited
    )
}

/// Shows a server as being discovered until this is dropped, also when the discovery is given up.
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
    /// What is known of a server under exactly this definition.
    pub(crate) fn known_record(&self, spec: &ServerSpec) -> Arc<ServerRecord> {
        let catalog = self.catalog.load();
        let record = catalog.server(&spec.name).map(|entry| entry.record.clone());
        record
            .filter(|record| record.config == spec.hash)
            .unwrap_or_else(|| Arc::new(ServerRecord::undiscovered(spec.name.clone(), spec.hash)))
    }

    /// Waits for the turn of a server that has to be started for its tools.
    async fn wait_for_start_turn(&self, spec: &ServerSpec) -> StartPermit {
        let slot = self.slots.get_or_create(&spec.name);
        let is_running = slot.running().is_some();
        if is_running || matches!(spec.transport, Transport::Http { .. }) {
            return self.starts.enter_unpaced(&spec.name);
        }
        self.starts.enter(&spec.name, slot.prioritized()).await
    }

    /// Refuses while a server that does not run is left alone after failures.
    fn check_pause(&self, spec: &ServerSpec) -> ToolResult<()> {
        match self.slots.get(&spec.name) {
            Some(slot) if slot.running().is_none() => slot.check_pause(&spec.hash),
            _ => Ok(()),
        }
    }

    pub(crate) fn is_paused(&self, spec: &ServerSpec) -> bool {
        self.check_pause(spec).is_err()
    }

    /// What another process found out while this one waited for its turn.
    async fn found_elsewhere(
        &self,
        known: &ServerRecord,
        asked_at: Timestamp,
    ) -> Option<ServerRecord> {
        let record = self
            .store
            .load_server(&known.server, &known.config)
            .await
            .ok()??;
        let is_new = record.attempted_at > known.attempted_at;
        // A try that did not end found nothing out.
        let has_ended = record.status != DiscoveryStatus::Never;
        (has_ended && is_new && record.attempted_at >= Some(asked_at)).then_some(record)
    }

    /// What the server had under its definition before, if nothing is known under the present one.
    async fn former_record(&self, known: &ServerRecord) -> Option<ServerRecord> {
        if known.is_known() {
            return None;
        }
        let former = self.store.load_former(&known.server, &known.config).await;
        // What cannot be read cannot be compared with.
        former.ok().flatten()
    }

    fn success(
        &self,
        spec: &ServerSpec,
        known: &ServerRecord,
        answer: DiscoveryResponse,
    ) -> ServerRecord {
        let DiscoveryResponse {
            handshake,
            listing,
            offers,
            session_resources,
        } = answer;
        let over_http = matches!(spec.transport, Transport::Http { .. });
        let mut admission = admit_with_known(
            &spec.name,
            over_http,
            &listing.tools,
            &known.tools,
            &self.limits,
        );
        let offers = offers.admit(&known.offers, &mut admission.rejections, &self.limits);
        let offers = session_resources.without(offers);
        let now = self.clock.now();
        ServerRecord {
            server: spec.name.clone(),
            config: spec.hash,
            status: DiscoveryStatus::Success,
            discovered_at: Some(now),
            attempted_at: Some(now),
            last_error: None,
            era: Some(handshake.era),
            protocol_version: Some(handshake.protocol_version),
            // A modern server whose era is remembered is asked for its list alone.
            info: handshake.info.or_else(|| known.info.clone()),
            instructions: handshake
                .instructions
                .or_else(|| known.instructions.clone()),
            ttl_hint_ms: listing.ttl_ms,
            private: listing.private,
            tools: admission.tools.into(),
            rejections: admission.rejections.into(),
            capabilities: handshake
                .capabilities
                .or_else(|| known.capabilities.clone()),
            offers,
        }
    }

    pub(crate) fn failure(&self, known: &Arc<ServerRecord>, error: &ToolError) -> ServerRecord {
        // What was known when the asking began may have been forgotten since, on purpose.
        let catalog = self.catalog.load();
        let present = catalog.server(&known.server).map(|entry| &entry.record);
        let known = present
            .filter(|record| record.config == known.config)
            .unwrap_or(known);
        ServerRecord {
            status: DiscoveryStatus::Failed,
            attempted_at: Some(self.clock.now()),
            last_error: Some(ErrorSummary::from(error)),
            era: known.era.filter(|_| !may_be_era_mismatch(error.reason)),
            ..ServerRecord::clone(known)
        }
    }

    /// Tells how a discovery went, whoever did it.
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
                DiscoverySource::Asked => CacheUse::Miss,
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
        let duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
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
                // A server that was removed meanwhile leaves nothing behind.
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

#[cfg(test)]
mod tests {
    use super::*;
    use pegboard_model::Timestamp;
    use pegboard_testkit::stdio_spec;

    #[track_caller]
    fn check(program: &str, configured: Option<u64>, is_known: bool, expected: u64) {
        let mut spec = stdio_spec("s", program, ["package"]);
        if let Some(seconds) = configured {
            spec.timeouts.discovery = Duration::from_secs(seconds);
        }
        let mut known = ServerRecord::undiscovered(spec.name.clone(), spec.hash);
        known.discovered_at = is_known.then_some(Timestamp(1));
        let budget = discovery_timeout(&spec, &known);
        assert_eq!(budget, Duration::from_secs(expected), "{program}");
    }

    #[test]
    fn r_disc_13_the_first_discovery_may_take_longer_unless_a_limit_is_configured() {
        check("npx", None, false, 120);
        check("/usr/local/bin/uvx", None, false, 120);
        check("npx", None, true, 30);
        check("npx", Some(5), false, 5);
        check("npx", Some(300), false, 300);
        check("/usr/bin/server", None, false, 120);
        check("/usr/bin/server", None, true, 30);
        check("/usr/bin/server", Some(5), false, 5);
    }
}
