//! One discovery of one server, from the wish to the new snapshot.

use std::sync::Arc;
use std::time::Duration;

use pegboard_guard::admit;
use pegboard_model::{
    DiscoveryStatus, ErrorNote, EventKind, Reason, ServerRecord, ServerSpec, Timeouts, Timestamp,
    ToolError, ToolResult, TraceId, Transport,
};
use pegboard_upstream::{ConnectHint, Handshake, ToolListing};
use tokio::time::{Instant, timeout, timeout_at};

use crate::events::new_trace;
use crate::hub::Inner;
use crate::refresh::{RefreshOutcome, Refreshed, Source};
use crate::seat::{Hold, Running};

/// How long a package runner may take for its first start.
const FIRST_DOWNLOAD: Duration = Duration::from_secs(120);
/// How much longer than its own time-out another process's discovery is waited for.
const OTHER_PROCESS_MARGIN: Duration = Duration::from_secs(5);

/// How a discovery came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Insistence {
    /// The server is left alone while it is in its pause after failures.
    Patient,
    /// A person asked: the pause does not count.
    AtOnce,
}

/// Asks a server for its tools and publishes what it says; a failure keeps what was known.
pub(crate) async fn discover(
    inner: Arc<Inner>,
    spec: Arc<ServerSpec>,
    trace: TraceId,
    insistence: Insistence,
) -> Arc<RefreshOutcome> {
    let asked_at = inner.clock.now();
    let started = Instant::now();
    let known = inner.known_record(&spec);
    inner.mark_discovering(&spec, &known, &trace);

    let _permit = inner.discoveries.clone().acquire_owned().await;
    let wait = spec.timeouts.discovery.saturating_add(OTHER_PROCESS_MARGIN);
    // Without the store's lock the discovery still runs: two starts are better than none.
    let lead = timeout(wait, inner.store.lead(&spec.name)).await;
    let elsewhere = match &lead {
        Ok(Ok(_)) => inner.found_elsewhere(&known, asked_at).await,
        _ => None,
    };
    let (record, error, source) = match elsewhere {
        Some(record) => {
            let error = record
                .last_error
                .as_ref()
                .map(|note| from_note(note, &spec));
            (record, error, Source::Shared)
        }
        None => match ask_anew(&inner, &spec, &known, insistence).await {
            Ok((handshake, listing)) => (
                inner.success(&spec, &known, handshake, listing),
                None,
                Source::Asked,
            ),
            Err(error) => (inner.failure(&known, &error), Some(error), Source::Asked),
        },
    };
    if source == Source::Asked
        && let Err(error) = inner.store.save(&record).await
    {
        tracing::warn!(target: "pegboard", server = %spec.name, "not kept: {error}");
    }
    drop(lead);
    let outcome = inner.settle(&spec, record, error, source, started.elapsed(), &trace);
    Arc::new(outcome)
}

/// Asks, and once more where a remembered era may be why the server went away.
async fn ask_anew(
    inner: &Arc<Inner>,
    spec: &Arc<ServerSpec>,
    known: &ServerRecord,
    insistence: Insistence,
) -> ToolResult<(Handshake, ToolListing)> {
    let answer = ask(inner, spec, known, insistence).await;
    match &answer {
        Err(error) if error.reason == Reason::ServerExited && known.era.is_some() => {
            let without_era = ServerRecord {
                era: None,
                ..known.clone()
            };
            ask(inner, spec, &without_era, insistence).await
        }
        _ => answer,
    }
}

async fn ask(
    inner: &Arc<Inner>,
    spec: &Arc<ServerSpec>,
    known: &ServerRecord,
    insistence: Insistence,
) -> ToolResult<(Handshake, ToolListing)> {
    let deadline = Instant::now() + first_budget(spec, known);
    let (hold, opened) = inner.acquire(spec, known, deadline, insistence).await?;
    let listing = timeout_at(deadline, hold.upstream().list_tools()).await;
    let listing = listing.unwrap_or_else(|_| Err(timed_out(spec, "its list of tools")));
    let handshake = hold.upstream().handshake().clone();
    if let Err(error) = &listing {
        inner.seat(&spec.name).note_failure(error);
    }
    let failed = listing.is_err();
    inner.release_after_discovery(spec, hold, opened, failed);
    listing.map(|listing| (handshake, listing))
}

/// How long a discovery may take. A package runner that was never seen to work gets longer: it may have
/// to download the server first. A time-out that the user set is never stretched.
fn first_budget(spec: &ServerSpec, known: &ServerRecord) -> Duration {
    let own = spec.timeouts.discovery;
    let is_default = own == Timeouts::default().discovery;
    let may_download = !known.is_known() && spec.transport.package_runner().is_some();
    if is_default && may_download {
        FIRST_DOWNLOAD
    } else {
        own
    }
}

fn timed_out(spec: &ServerSpec, what: &str) -> ToolError {
    let message = format!(
        "server `{}` did not give {what} within {:.1} s",
        spec.name,
        spec.timeouts.discovery.as_secs_f32()
    );
    ToolError::new(Reason::DiscoveryTimeout, message).at_server(&spec.name)
}

fn from_note(note: &ErrorNote, spec: &ServerSpec) -> ToolError {
    ToolError::new(note.reason, note.message.clone())
        .at_server(&spec.name)
        .with_remedy(note.remedy.clone())
}

impl Inner {
    /// What is known of a server under exactly this definition.
    pub(crate) fn known_record(&self, spec: &ServerSpec) -> Arc<ServerRecord> {
        let catalog = self.catalog.load();
        let record = catalog.server(&spec.name).map(|entry| entry.record.clone());
        record
            .filter(|record| record.config == spec.hash)
            .unwrap_or_else(|| Arc::new(ServerRecord::never(spec.name.clone(), spec.hash)))
    }

    fn mark_discovering(&self, spec: &Arc<ServerSpec>, known: &Arc<ServerRecord>, trace: &TraceId) {
        let entry = self
            .entry(spec.clone(), Some(known.clone()))
            .with_discovering(true);
        self.publish(trace, entry);
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
        (is_new && record.attempted_at >= Some(asked_at)).then_some(record)
    }

    /// Holds the server's connection, opening it when there is none. The flag tells whether it was
    /// opened just now.
    pub(crate) async fn acquire(
        self: &Arc<Self>,
        spec: &Arc<ServerSpec>,
        known: &ServerRecord,
        deadline: Instant,
        insistence: Insistence,
    ) -> ToolResult<(Hold, bool)> {
        let seat = self.seat(&spec.name);
        if let Some(hold) = seat.hold(&spec.hash) {
            return Ok((hold, false));
        }
        let starting = timeout_at(deadline, seat.starting.lock()).await;
        let Ok(_starting) = starting else {
            return Err(timed_out(spec, "a sign of life"));
        };
        if let Some(hold) = seat.hold(&spec.hash) {
            return Ok((hold, false));
        }
        if insistence == Insistence::Patient {
            seat.check_pause()?;
        }
        if self.tasks.is_closing() {
            return Err(ToolError::new(
                Reason::Cancelled,
                "Pegboard is shutting down",
            ));
        }
        let hint = ConnectHint {
            era: known.era,
            protocol_version: known.protocol_version.clone(),
        };
        let budget = deadline.saturating_duration_since(Instant::now());
        let upstream = match self.connector.connect(spec, &hint, budget).await {
            Ok(upstream) => upstream,
            Err(error) => {
                seat.note_failure(&error);
                return Err(error);
            }
        };
        let running = Arc::new(Running::new(upstream, spec.hash));
        let (hold, replaced) = seat.install(running);
        let trace = new_trace();
        self.events.tell(
            &trace,
            EventKind::ServerStarted {
                server: spec.name.clone(),
            },
        );
        if let Some(replaced) = replaced {
            self.end(replaced, &spec.name, "replaced");
        }
        self.watch(seat.clone(), hold.running().clone(), spec.clone());
        Ok((hold, true))
    }

    /// A server that was started just for its list is stopped again; one reached by HTTP costs nothing
    /// and stays to tell of changes until it is idle. A server that failed is never kept.
    fn release_after_discovery(
        self: &Arc<Self>,
        spec: &ServerSpec,
        hold: Hold,
        opened: bool,
        failed: bool,
    ) {
        let seat = self.seat(&spec.name);
        let running = hold.running().clone();
        drop(hold);
        let is_stdio = matches!(spec.transport, Transport::Stdio { .. });
        if opened && (is_stdio || failed) && seat.retire_if_uncalled(&running) {
            // The list is there; nobody waits for a process that is slow to go.
            self.end(running, &spec.name, "discovered");
        }
    }

    fn success(
        &self,
        spec: &ServerSpec,
        known: &ServerRecord,
        handshake: Handshake,
        listing: ToolListing,
    ) -> ServerRecord {
        let over_http = matches!(spec.transport, Transport::Http { .. });
        let admission = admit(&spec.name, over_http, &listing.tools, &self.limits);
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
        }
    }

    fn failure(&self, known: &ServerRecord, error: &ToolError) -> ServerRecord {
        ServerRecord {
            status: DiscoveryStatus::Failed,
            attempted_at: Some(self.clock.now()),
            last_error: Some(ErrorNote::from(error)),
            // A remembered era may be what went wrong: a modern server can turn into a legacy one by an
            // update under the same definition.
            era: known
                .era
                .filter(|_| error.reason != Reason::VersionUnsupported),
            ..known.clone()
        }
    }

    fn settle(
        &self,
        spec: &Arc<ServerSpec>,
        record: ServerRecord,
        error: Option<ToolError>,
        source: Source,
        took: Duration,
        trace: &TraceId,
    ) -> RefreshOutcome {
        let duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let (tools, rejections) = (record.tools.len(), record.rejections.clone());
        let era = record.era;
        let delta = self.publish(trace, self.entry(spec.clone(), Some(Arc::new(record))));
        let seat = self.seat(&spec.name);
        let result = match error {
            None => {
                seat.note_success();
                let kind = EventKind::ServerDiscovered {
                    server: spec.name.clone(),
                    tools,
                    duration_ms,
                };
                self.events.tell(trace, kind);
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
                self.events.tell(trace, kind);
                Err(error)
            }
        };
        RefreshOutcome {
            server: spec.name.clone(),
            result,
            source,
            duration_ms,
        }
    }
}
