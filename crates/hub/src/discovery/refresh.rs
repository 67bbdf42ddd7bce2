//! Refreshing servers: on request, and before the first response.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use pegboard_catalog::{Delta, ServerEntry};
use pegboard_model::{
    Era, LookupFacts, Reason, Rejection, ServerName, ServerSpec, SpanContext, ToolError,
    ToolResult, TrustState,
};
use serde::Serialize;
use tokio::time::{Instant, timeout};

use super::Backoff;
use super::discover::discover;
use super::freshness::{Freshness, freshness, is_recent};
use crate::StaleRefresh;
use crate::hub::{Hub, Inner};
use crate::telemetry::TraceScope;

/// Selects the servers of a refresh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefreshScope {
    /// All enabled servers.
    All,
    /// One server.
    One(ServerName),
}

/// The result of refreshing one server.
#[derive(Clone, Debug, Serialize)]
pub struct RefreshOutcome {
    /// The server's name.
    pub server: ServerName,
    /// The refreshed list, or why the refresh failed.
    #[serde(flatten, serialize_with = "flat")]
    pub result: ToolResult<Refreshed>,
    /// Why the list was not stored. It is lost when the program ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_stored: Option<ToolError>,
    /// How the list was obtained.
    pub source: DiscoverySource,
    /// Its duration in milliseconds.
    pub duration_ms: u64,
}

impl RefreshOutcome {
    /// Returns what went wrong: the discovery itself, or storing its result.
    pub fn fault(&self) -> Option<&ToolError> {
        self.result.as_ref().err().or(self.not_stored.as_ref())
    }
}

/// A refreshed list.
#[derive(Clone, Debug, Serialize)]
pub struct Refreshed {
    /// Number of tools.
    pub tools: usize,
    /// What changed.
    pub delta: Delta,
    /// The server's protocol era.
    pub era: Option<Era>,
    /// The tools that were rejected.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rejected: Vec<Rejection>,
}

/// How the result of a refresh was obtained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DiscoverySource {
    /// The server was contacted.
    Discovered,
    /// Another process contacted it at the same time.
    Shared,
    /// The list was fresh; the server was not contacted.
    Fresh,
}

/// The servers that are still being discovered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PendingDiscoveries {
    /// Servers whose discovery was not finished at the deadline.
    pub discovering: Vec<ServerName>,
}

pub(crate) fn flat<S: serde::Serializer>(
    result: &ToolResult<Refreshed>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Failed<'a> {
        status: &'static str,
        error: &'a ToolError,
    }
    #[derive(Serialize)]
    struct Done<'a> {
        status: &'static str,
        #[serde(flatten)]
        refreshed: &'a Refreshed,
    }
    match result {
        Ok(refreshed) => Done {
            status: "success",
            refreshed,
        }
        .serialize(serializer),
        Err(error) => Failed {
            status: "failed",
            error,
        }
        .serialize(serializer),
    }
}

impl Hub {
    /// Refreshes servers concurrently and returns what changed. Fresh lists are skipped unless `force` is set. A
    /// failure affects only its own server.
    ///
    /// # Errors
    /// Fails if the selected server is not configured.
    pub async fn refresh(
        &self,
        which: RefreshScope,
        force: bool,
    ) -> ToolResult<Vec<RefreshOutcome>> {
        let catalog = self.catalog();
        let entries: Vec<_> = match &which {
            RefreshScope::All => catalog
                .servers()
                .filter(|entry| entry.spec.enabled)
                .cloned()
                .collect(),
            RefreshScope::One(name) => vec![self.inner.configured(name)?],
        };
        let slot = match &which {
            RefreshScope::One(name) => Some(self.inner.slots.get_or_create(name)),
            RefreshScope::All => None,
        };
        let _ahead = slot.as_ref().map(|slot| slot.prioritize());
        let asked = entries.iter().filter(|entry| {
            let is_needed = force || !self.inner.is_fresh(entry);
            is_needed && self.inner.starts_discovery(&entry.spec)
        });
        let trace = TraceScope::new().for_batch(asked.count());
        let work = entries
            .iter()
            .map(|entry| self.inner.refresh_one(entry, force, &trace));
        Ok(join_all(work).await)
    }

    /// Discovers the servers that were never tried, concurrently, and waits for at most `answer_deadline`.
    /// Discoveries that take longer continue in the background, and later calls do not wait for them again. Servers
    /// whose last attempt failed are not waited for; [`Hub::refresh_stale_in_background`] retries them.
    pub async fn ensure_known(&self) -> PendingDiscoveries {
        self.ensure_known_in_span(None).await
    }

    /// Like [`Hub::ensure_known`], recorded below a span.
    pub async fn ensure_known_in_span(&self, above: Option<&SpanContext>) -> PendingDiscoveries {
        self.ensure_server_known(None, above).await
    }

    /// Like [`Hub::ensure_known_in_span`], for one server or all.
    pub async fn ensure_server_known(
        &self,
        only: Option<&ServerName>,
        above: Option<&SpanContext>,
    ) -> PendingDiscoveries {
        self.mark_stale();
        self.inner.discovery.mark_needed();
        self.start_deferred_session();
        let started = Instant::now();
        let wanted = self.inner.needed_now(only);
        let (hits, misses) = self.inner.telemetry.count_lookup(&self.catalog(), &wanted);
        let trace = TraceScope::below(above);
        let id = *trace;
        let facts = || LookupFacts {
            trace: id,
            hits,
            misses,
            took: started.elapsed(),
        };
        let recorder = self.inner.telemetry.recorder();
        if wanted.is_empty() {
            let span = match recorder.is_tracing() {
                true => self.inner.telemetry.begin(&trace, "catalog"),
                false => None,
            };
            recorder.lookup(span.as_ref(), &facts());
            return PendingDiscoveries::default();
        }
        let span = self.inner.telemetry.begin(&trace, "catalog");
        let trace = trace.under(span.as_ref());
        let starting = wanted
            .iter()
            .filter(|spec| self.inner.starts_discovery(spec));
        let trace = trace.for_batch(starting.count());
        let names: Vec<_> = wanted.to_vec();
        let deadline = self.inner.settings.answer_deadline;
        let is_late = |spec: &Arc<ServerSpec>| {
            let age = self.inner.discovery.age(spec);
            age.is_some_and(|age| age >= deadline)
        };
        let work = wanted
            .into_iter()
            .filter(|spec| !is_late(spec))
            .map(|spec| {
                let (inner, trace) = (self.inner.clone(), trace.clone());
                async move { inner.discover_once(spec, &trace, Backoff::Respect).await }
            });
        let _ = timeout(deadline, join_all(work)).await;
        recorder.lookup(span.as_ref(), &facts());
        let catalog = self.catalog();
        let discovering = |spec: &Arc<ServerSpec>| {
            let entry = catalog.server(&spec.name);
            entry.is_some_and(|entry| entry.discovering)
        };
        let late = names.into_iter().filter(discovering);
        let late = late.inspect(|spec| self.inner.record_overrun(spec));
        PendingDiscoveries {
            discovering: late.map(|spec| spec.name.clone()).collect(),
        }
    }
}

impl Inner {
    /// Returns the entry of a configured server.
    pub(crate) fn configured(&self, name: &ServerName) -> ToolResult<Arc<ServerEntry>> {
        let catalog = self.catalog.load();
        let Some(entry) = catalog.server(name) else {
            let message = format!("no server `{name}` is configured");
            return Err(ToolError::new(Reason::ServerUnknown, message).at_server(name));
        };
        Ok(entry.clone())
    }

    pub(crate) fn is_fresh(&self, entry: &ServerEntry) -> bool {
        self.freshness(entry) == Freshness::Fresh
    }

    /// Whether a list is also fresh by the configured TTL. A server's own hint can be longer, and a server must not
    /// decide for how long its tools are not compared with what was approved.
    pub(crate) fn is_within_ttl(&self, entry: &ServerEntry) -> bool {
        let age = entry.record.discovered_at;
        let age = age.map(|discovered| self.clock.now().since(discovered));
        self.is_fresh(entry) && age.is_some_and(|age| age < entry.spec.ttl)
    }

    pub(crate) fn freshness(&self, entry: &ServerEntry) -> Freshness {
        freshness(&entry.spec, &entry.record, self.clock.now(), &self.limits)
    }

    async fn refresh_one(
        self: &Arc<Self>,
        entry: &Arc<ServerEntry>,
        force: bool,
        trace: &TraceScope,
    ) -> RefreshOutcome {
        let spec = &entry.spec;
        if let Err(error) = may_start(spec) {
            return refused(spec, error);
        }
        if !force && self.is_fresh(entry) {
            let refreshed = Refreshed {
                tools: entry.record.tools.len(),
                delta: Delta {
                    unchanged: entry.record.tools.len(),
                    ..Delta::default()
                },
                era: entry.record.era,
                rejected: entry.record.rejections.to_vec(),
            };
            let outcome = RefreshOutcome {
                server: spec.name.clone(),
                result: Ok(refreshed),
                not_stored: None,
                source: DiscoverySource::Fresh,
                duration_ms: 0,
            };
            let span = self.telemetry.begin(trace, "refresh");
            self.record_discovery(span.as_ref(), spec, &entry.record, &outcome, Duration::ZERO);
            return outcome;
        }
        let mut outcome = self
            .discover_once(spec.clone(), trace, Backoff::Ignore)
            .await;
        let is_left_alone = |outcome: &Arc<RefreshOutcome>| {
            let error = outcome.result.as_ref().err();
            error.is_some_and(|error| error.reason == Reason::ServerBackoff)
        };
        if outcome.as_ref().is_some_and(is_left_alone) {
            // It joined a discovery that respected the backoff: discover again without it.
            outcome = self
                .discover_once(spec.clone(), trace, Backoff::Ignore)
                .await;
        }
        match outcome {
            Some(outcome) => RefreshOutcome::clone(&outcome),
            None => refused(spec, shutting_down()),
        }
    }

    /// Joins the discovery of this server that is in progress, or starts one.
    pub(crate) async fn discover_once(
        self: &Arc<Self>,
        spec: Arc<ServerSpec>,
        trace: &TraceScope,
        backoff: Backoff,
    ) -> Option<Arc<RefreshOutcome>> {
        let (inner, of, trace) = (self.clone(), spec.clone(), trace.clone());
        let work = || {
            let (hub, id) = (inner.clone(), *trace);
            hub.catch_discovery_panic(of.clone(), id, discover(inner, of, trace, backoff))
        };
        self.discovery.join(&self.tasks, &spec, work).await
    }

    /// Whether a refresh would start a discovery of this server, rather than join one in progress.
    pub(crate) fn starts_discovery(&self, spec: &ServerSpec) -> bool {
        may_start(spec).is_ok() && self.discovery.age(spec).is_none()
    }

    /// Servers that the next response waits for: those never tried and, with `stale_refresh = "always"`, stale
    /// ones. A server whose last attempt failed, or took too long in another process, is not waited for.
    fn needed_now(&self, only: Option<&ServerName>) -> Vec<Arc<ServerSpec>> {
        let strict = self.settings.stale_refresh == StaleRefresh::Always;
        let catalog = self.catalog.load();
        let entries = catalog
            .servers()
            .filter(|entry| only.is_none_or(|only| entry.spec.name == *only))
            .filter(|entry| may_start(&entry.spec).is_ok());
        let wanted = entries.filter(|entry| match self.freshness(entry) {
            Freshness::Unknown => entry.record.attempted_at.is_none(),
            Freshness::Fresh => false,
            Freshness::Stale | Freshness::Expired => strict && entry.record.last_error.is_none(),
        });
        wanted.map(|entry| entry.spec.clone()).collect()
    }

    /// Whether the last attempt failed within the TTL, so that it is not repeated for every request.
    pub(crate) fn failed_recently(&self, entry: &ServerEntry) -> bool {
        let failed_at = entry
            .record
            .last_error
            .as_ref()
            .and(entry.record.attempted_at);
        failed_at.is_some_and(|at| is_recent(at, self.clock.now(), entry.spec.ttl))
    }
}

/// Checks that a server is enabled and trusted.
pub(crate) fn may_start(spec: &ServerSpec) -> ToolResult<()> {
    let (reason, message) = match (spec.enabled, spec.trust_state) {
        (false, _) => return Err(spec.disabled_error()),
        (true, TrustState::Pending) => (
            Reason::ServerPending,
            "comes from a project file and is not trusted",
        ),
        (true, TrustState::Changed) => (Reason::ConfigChanged, "has changed since it was trusted"),
        (true, TrustState::Granted) => return Ok(()),
    };
    Err(ToolError::new(reason, format!("server `{}` {message}", spec.name)).at_server(&spec.name))
}

pub(crate) fn shutting_down() -> ToolError {
    ToolError::new(Reason::Cancelled, "Pegboard is shutting down")
}

pub(crate) fn refused(spec: &ServerSpec, error: ToolError) -> RefreshOutcome {
    let server = spec.name.clone();
    RefreshOutcome {
        server,
        result: Err(error),
        not_stored: None,
        source: DiscoverySource::Discovered,
        duration_ms: 0,
    }
}
