//! Publication of the catalog: the current snapshot, and every change of it.

mod announcements;
mod deltas;
mod snapshots;
mod unstored;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use arc_swap::{ArcSwap, Guard};
use pegboard_catalog::{Catalog, Delta, ServerEntry, StaticTool};
use pegboard_model::{
    Clock, EventKind, ExposedName, GlobalRules, Limits, ServerName, ServerRecord, ServerSpec,
    Timestamp, ToolResult, TraceId,
};
use pegboard_upstream::Announcement;
use tokio::sync::broadcast;

pub(crate) use self::announcements::PendingNotices;
use self::announcements::SUBSCRIBER_BACKLOG;
use self::deltas::Deltas;
pub use self::deltas::LastDelta;
pub(crate) use self::deltas::change_summary;
use self::snapshots::CatalogSnapshots;
pub use self::snapshots::FirstSnapshot;
use self::unstored::Unstored;
use crate::ToolHandler;
use crate::discovery::freshness;
use crate::hub::Inner;
use crate::review::ReviewBook;
use crate::sync::lock;

/// Owns the current snapshot. All changes go through it, one at a time; reading never waits for them.
pub(crate) struct CatalogPublisher {
    snapshots: CatalogSnapshots,
    /// Serializes changes of the snapshot.
    writing: Mutex<()>,
    rules: ArcSwap<GlobalRules>,
    reviews: Arc<ReviewBook>,
    handlers: Mutex<BTreeMap<ExposedName, Arc<dyn ToolHandler>>>,
    deltas: Deltas,
    unstored: Unstored,
    announcements: broadcast::Sender<(ServerName, Announcement)>,
    clock: Arc<dyn Clock>,
    limits: Limits,
}

/// A replaced entry of the snapshot.
struct Update {
    before: Option<Arc<ServerEntry>>,
    after: ServerEntry,
    delta: Delta,
}

impl CatalogPublisher {
    /// Creates a publisher whose first snapshot is built by `first`, when it is first needed.
    pub(crate) fn new(
        first: impl FnOnce() -> Catalog + Send + 'static,
        rules: Arc<GlobalRules>,
        reviews: Arc<ReviewBook>,
        clock: Arc<dyn Clock>,
        limits: Limits,
    ) -> Self {
        Self {
            snapshots: CatalogSnapshots::deferred(first),
            writing: Mutex::new(()),
            rules: ArcSwap::new(rules),
            reviews,
            handlers: Mutex::default(),
            deltas: Deltas::default(),
            unstored: Unstored::default(),
            announcements: broadcast::Sender::new(SUBSCRIBER_BACKLOG),
            clock,
            limits,
        }
    }

    pub(crate) fn load(&self) -> Guard<Arc<Catalog>> {
        self.snapshots.load()
    }

    pub(crate) fn load_full(&self) -> Arc<Catalog> {
        self.snapshots.load_full()
    }

    /// Whether reading the snapshot does not touch the disk.
    pub(crate) fn is_loaded(&self) -> bool {
        self.snapshots.is_made()
    }

    pub(crate) fn first_snapshot(&self) -> FirstSnapshot {
        self.snapshots.first()
    }

    pub(crate) fn reviews(&self) -> &Arc<ReviewBook> {
        &self.reviews
    }

    pub(crate) fn rules(&self) -> Arc<GlobalRules> {
        self.rules.load_full()
    }

    /// Replaces the global rules. Returns whether they changed.
    pub(crate) fn set_rules(&self, rules: Arc<GlobalRules>) -> bool {
        if **self.rules.load() == *rules {
            return false;
        }
        self.rules.store(rules.clone());
        let _writing = lock(&self.writing);
        let next = self.load().with_rules(&rules);
        self.snapshots.store(Arc::new(next));
        true
    }

    /// Adds a tool of the host program.
    pub(crate) fn register(
        &self,
        tool: StaticTool,
        handler: Arc<dyn ToolHandler>,
    ) -> ToolResult<()> {
        let name = tool.name.clone();
        let _writing = lock(&self.writing);
        let next = self.load().with_static(tool)?;
        let next = next.with_rules(&self.rules.load());
        // The handler first, so that a tool in the catalog can always be called.
        lock(&self.handlers).insert(name, handler);
        self.snapshots.store(Arc::new(next));
        Ok(())
    }

    pub(crate) fn handler(&self, tool: &str) -> Option<Arc<dyn ToolHandler>> {
        lock(&self.handlers).get(tool).cloned()
    }

    #[cfg(test)]
    pub(crate) fn remove_handler(&self, tool: &str) {
        lock(&self.handlers).remove(tool);
    }

    /// Builds an entry with its current stale mark.
    pub(crate) fn entry(
        &self,
        spec: Arc<ServerSpec>,
        record: Option<Arc<ServerRecord>>,
    ) -> ServerEntry {
        entry_as_of(self.clock.now(), &self.limits, &self.reviews, spec, record)
    }

    /// Changes the marks of a server's entry and nothing else, so that a record that arrived in the meantime stays.
    /// `None` from `change` leaves it unchanged. Returns whether it changed.
    pub(crate) fn mark(
        &self,
        spec: &ServerSpec,
        change: impl FnOnce(&ServerEntry) -> Option<ServerEntry>,
    ) -> bool {
        let update = self.update(&spec.name, |before| {
            let before = before.filter(|entry| entry.spec.hash == spec.hash)?;
            change(before)
        });
        update.is_some()
    }

    /// Replaces a server's entry, atomically. `None` from `make` leaves it unchanged.
    fn update(
        &self,
        server: &ServerName,
        make: impl FnOnce(Option<&Arc<ServerEntry>>) -> Option<ServerEntry>,
    ) -> Option<Update> {
        let _writing = lock(&self.writing);
        let current = self.load();
        let before = current.server(server);
        let after = make(before)?;
        let before = before.cloned();
        let (next, delta) = current.with_server(after.clone());
        self.snapshots.store(Arc::new(next));
        Some(Update {
            before,
            after,
            delta,
        })
    }

    /// Removes a server. Returns its entry and the number of removed tools.
    fn remove(&self, server: &ServerName) -> (Option<Arc<ServerEntry>>, usize) {
        let _writing = lock(&self.writing);
        let current = self.load();
        let (next, removed) = current.without_server(server);
        self.snapshots.store(Arc::new(next));
        self.deltas.forget(server);
        self.unstored.forget(server);
        (current.server(server).cloned(), removed)
    }
}

impl Inner {
    /// Publishes the record of a server. A record of a server that was removed or redefined in the meantime is dropped, so
    /// that a late discovery does not bring it back. The entry keeps the current settings for the same reason.
    pub(crate) fn publish(
        &self,
        trace: &TraceId,
        record: Arc<ServerRecord>,
        discovering: bool,
    ) -> Delta {
        let server = record.server.clone();
        let update = self.catalog.update(&server, |before| {
            let before = before.filter(|entry| entry.spec.hash == record.config)?;
            let entry = self.catalog.entry(before.spec.clone(), Some(record));
            Some(entry.with_discovering(discovering))
        });
        let Some(update) = update else {
            return Delta::default();
        };
        self.announce_update(&update);
        if !update.delta.is_empty() {
            self.emit_registry_updated(trace);
        }
        update.delta
    }

    /// Clears the known tools of a server.
    pub(crate) fn forget(&self, trace: &TraceId, entry: &ServerEntry) {
        let cleared = ServerRecord::undiscovered(entry.spec.name.clone(), entry.spec.hash);
        self.publish(trace, Arc::new(cleared), entry.discovering);
    }

    /// Replaces a server's record with a changed copy, atomically. `None` from `change` leaves it unchanged.
    pub(crate) fn revise(
        &self,
        server: &ServerName,
        change: impl FnOnce(&ServerRecord) -> Option<ServerRecord>,
    ) -> Option<Arc<ServerRecord>> {
        let update = self.catalog.update(server, |before| {
            let before = before?;
            let record = Arc::new(change(&before.record)?);
            let entry = self.catalog.entry(before.spec.clone(), Some(record));
            Some(entry.with_discovering(before.discovering))
        })?;
        self.announce_update(&update);
        Some(update.after.record)
    }

    /// Replaces the settings of a server with an unchanged definition.
    pub(crate) fn adjust(&self, spec: Arc<ServerSpec>) {
        let name = spec.name.clone();
        let update = self.catalog.update(&name, |before| {
            let before = before.filter(|entry| entry.spec.hash == spec.hash)?;
            let entry = self.catalog.entry(spec, Some(before.record.clone()));
            Some(entry.with_discovering(before.discovering))
        });
        if let Some(update) = update {
            self.announce_update(&update);
        }
    }

    /// Adds a server or replaces its definition.
    pub(crate) fn insert_server(&self, entry: ServerEntry) {
        let name = entry.name().clone();
        if let Some(update) = self.catalog.update(&name, |_| Some(entry)) {
            self.announce_update(&update);
        }
    }

    /// Removes a server and returns the number of its tools.
    pub(crate) fn remove_server(&self, server: &ServerName) -> usize {
        let (before, removed) = self.catalog.remove(server);
        self.announce_list_changes(server, before.as_deref(), None);
        removed
    }

    pub(crate) fn emit_registry_updated(&self, trace: &TraceId) {
        let offered = self.catalog.load().offered_counts();
        self.telemetry.emit(
            trace,
            EventKind::RegistryUpdated {
                static_tools: offered.static_tools,
                mcp_tools: offered.mcp_tools,
            },
        );
    }

    fn announce_update(&self, update: &Update) {
        let server = update.after.name();
        self.announce_list_changes(server, update.before.as_deref(), Some(&update.after));
    }
}

/// Builds an entry with its stale mark at a moment, and with its reviews.
pub(crate) fn entry_as_of(
    now: Timestamp,
    limits: &Limits,
    reviews: &ReviewBook,
    spec: Arc<ServerSpec>,
    record: Option<Arc<ServerRecord>>,
) -> ServerEntry {
    let record = record
        .unwrap_or_else(|| Arc::new(ServerRecord::undiscovered(spec.name.clone(), spec.hash)));
    let stale = freshness(&spec, &record, now, limits).is_stale();
    let marks = reviews.marks(&record);
    ServerEntry::new(spec, record)
        .with_stale(stale)
        .with_reviews(marks)
}
