//! Background work: idle servers are stopped, changed lists are fetched, and old lists are renewed.

use std::sync::Arc;

use pegboard_catalog::{Catalog, ServerEntry};
use pegboard_model::{ServerSpec, Transport};
use pegboard_upstream::Announcement;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};

use super::Backoff;
use super::freshness::Freshness;
use super::refresh::may_start;
use crate::hub::{Hub, Inner};
use crate::publication::PendingNotices;
use crate::slots::{ServerConnection, ServerSlot};
use crate::telemetry::TraceScope;
use crate::telemetry::new_trace;
use crate::{RefreshOnStart, StaleRefresh};

impl Hub {
    /// A session began: refreshes, in the background, the servers that `refresh_on_start` selects.
    pub fn session_started(&self) {
        self.inner.watch_reviews();
        self.inner.discovery.mark_needed();
        self.inner.discovery.take_deferred_session();
        self.watch_logins();
        let setting = self.inner.settings.refresh_on_start;
        self.inner
            .refresh_matching_in_background(&self.catalog(), |entry| {
                match self.inner.freshness(entry) {
                    Freshness::Unknown => self.inner.is_retry_due(entry),
                    Freshness::Stale | Freshness::Expired => setting != RefreshOnStart::Unknown,
                    Freshness::Fresh => setting == RefreshOnStart::All,
                }
            });
    }

    /// The catalog is being read: renews, in the background, stale lists that can be fetched without starting a
    /// process. Lists older than `max_age` are renewed in any case. Servers whose first discovery failed are retried
    /// after their backoff if tools were needed before. Never blocks.
    pub fn refresh_stale_in_background(&self) {
        self.mark_stale();
        self.watch_logins();
        let is_needed = self.inner.discovery.is_needed();
        self.inner
            .refresh_matching_in_background(&self.catalog(), |entry| {
                let by_http = matches!(entry.spec.transport, Transport::Http { .. });
                let running = || {
                    let running = self.inner.slots.get(&entry.spec.name);
                    let running = running.and_then(|slot| slot.running());
                    let idle = entry.spec.timeouts.idle;
                    running.is_some_and(|running| !running.is_past_idle(idle))
                };
                let strict = self.inner.settings.stale_refresh == StaleRefresh::Always;
                match self.inner.freshness(entry) {
                    Freshness::Unknown => {
                        let was_tried = entry.record.attempted_at.is_some();
                        is_needed && was_tried && self.inner.is_retry_due(entry)
                    }
                    Freshness::Fresh => false,
                    Freshness::Stale => strict || by_http || running(),
                    Freshness::Expired => true,
                }
            });
    }

    /// Updates the stale marks as time passes. Returns the number of entries that changed.
    pub fn mark_stale(&self) -> usize {
        let mut changed = 0;
        for entry in self.catalog().servers() {
            if self.inner.freshness(entry).is_stale() == entry.stale {
                continue;
            }
            let is_changed = self.inner.catalog.mark(&entry.spec, |entry| {
                let stale = self.inner.freshness(entry).is_stale();
                (stale != entry.stale).then(|| entry.clone().with_stale(stale))
            });
            changed += usize::from(is_changed);
        }
        changed
    }
}

impl Inner {
    /// Starts background discoveries of the servers that `wanted` selects. One event reports all of them.
    fn refresh_matching_in_background(
        self: &Arc<Self>,
        catalog: &Catalog,
        wanted: impl Fn(&ServerEntry) -> bool,
    ) {
        let specs = catalog
            .servers()
            .filter(|entry| wanted(entry) && !self.waits_for_login(entry))
            .map(|entry| &entry.spec)
            .filter(|spec| self.starts_discovery(spec) && !self.is_paused(spec));
        let specs: Vec<_> = specs.cloned().collect();
        let trace = TraceScope::new().for_batch(specs.len());
        for spec in specs {
            self.refresh_in_background(spec, &trace);
        }
    }

    /// Starts a background discovery, unless the server may not start or is in its backoff.
    pub(crate) fn refresh_in_background(
        self: &Arc<Self>,
        spec: Arc<ServerSpec>,
        trace: &TraceScope,
    ) {
        if may_start(&spec).is_err() || self.is_paused(&spec) {
            return;
        }
        let (inner, trace) = (self.clone(), trace.clone());
        self.tasks.spawn(async move {
            inner.discover_once(spec, &trace, Backoff::Respect).await;
        });
    }

    /// Supervises a connection until it ends, becomes idle or is replaced.
    pub(crate) fn watch(
        self: &Arc<Self>,
        slot: Arc<ServerSlot>,
        running: Arc<ServerConnection>,
        spec: Arc<ServerSpec>,
    ) {
        let inner = self.clone();
        // Subscribe before other tasks run, so that no notification is missed.
        let changes = running.upstream.list_changed();
        let announcements = running.upstream.announcements();
        self.tasks.spawn(async move {
            let watched = (&slot, &running, &spec);
            inner.supervise(watched, changes, announcements).await;
            drop(running);
            inner.slots.give_up(slot);
        });
    }

    async fn supervise(
        self: &Arc<Self>,
        (slot, running, spec): (&Arc<ServerSlot>, &Arc<ServerConnection>, &Arc<ServerSpec>),
        mut changes: watch::Receiver<u64>,
        mut announcements: broadcast::Receiver<Announcement>,
    ) {
        let idle = spec.timeouts.idle;
        let (mut may_change, mut may_announce) = (true, true);
        loop {
            let present = slot.running().is_some_and(|r| Arc::ptr_eq(&r, running));
            if !present {
                return;
            }
            tokio::select! {
                error = running.upstream.ended() => {
                    self.connection_lost(slot, running, &error);
                    return;
                }
                () = tokio::time::sleep_until(running.idle_at(idle)) => {
                    if slot.retire_if_idle(running, idle) {
                        self.end(running.clone(), &spec.name, "idle", new_trace());
                        return;
                    }
                }
                changed = changes.changed(), if may_change => match changed {
                    Ok(()) => self.refresh_after_list_changed(slot, running, spec, PendingNotices::default()),
                    // The connection is closing; `ended` or the idle timer reports how.
                    Err(_) => may_change = false,
                },
                notice = announcements.recv(), if may_announce => {
                    let changes = match notice {
                        Ok(Announcement::PromptsChanged) => PendingNotices { prompts: true, resources: false },
                        Ok(Announcement::ResourcesChanged) => PendingNotices { prompts: false, resources: true },
                        Ok(updated) => {
                            self.announce(&spec.name, updated);
                            continue;
                        }
                        // Notifications were lost; fetching all lists covers them.
                        Err(RecvError::Lagged(_)) => PendingNotices { prompts: true, resources: true },
                        Err(RecvError::Closed) => {
                            may_announce = false;
                            continue;
                        }
                    };
                    self.refresh_after_list_changed(slot, running, spec, changes);
                }
            }
        }
    }

    /// Fetches the lists again after a `list_changed` notification: the first few at once, then at most one per
    /// pause, however many notifications arrive. A server that stopped in the meantime is not started for it.
    fn refresh_after_list_changed(
        self: &Arc<Self>,
        slot: &Arc<ServerSlot>,
        running: &Arc<ServerConnection>,
        spec: &Arc<ServerSpec>,
        changes: PendingNotices,
    ) {
        let interval = self.limits.list_changed_interval;
        let Some(at) = slot.list_changes().schedule(changes, interval) else {
            return;
        };
        self.slots.mark_announced(slot);
        let is_by_call = self.may_be_changed_by_call(running);
        let (inner, slot, spec) = (self.clone(), slot.clone(), spec.clone());
        let running = running.clone();
        self.tasks.spawn(async move {
            tokio::time::sleep_until(at).await;
            // A discovery in progress may have read the list before the change.
            inner.discovery.wait(&spec).await;
            slot.list_changes().begin_fetch(interval);
            // Hold the connection, so that it is not stopped as idle and then started again only for its list.
            let held = slot.hold(&spec.hash);
            let held = held.filter(|held| Arc::ptr_eq(held.running(), &running));
            let held = held.filter(|_| !running.is_past_idle(spec.timeouts.idle));
            if held.is_some() {
                let outcome = inner
                    .discover_once(spec.clone(), &TraceScope::new(), Backoff::Respect)
                    .await;
                if let Some(outcome) = outcome.filter(|_| is_by_call) {
                    inner.learn_from_change(&spec, &outcome);
                }
                inner.announce_pending(&slot);
            }
        });
    }
}
