//! The hub itself: what it owns, and how it is opened and closed.

use std::collections::HashMap;
use std::sync::Arc;

use pegboard_catalog::{Catalog, StaticTool};
use pegboard_model::{
    Clock, ConfigHash, Event, GlobalRules, Limits, Recorder, ServerName, ServerRecord, ServerSpec,
    ToolError, ToolResult,
};
use pegboard_store::{Ledger, Store};
use pegboard_upstream::Connect;
use tokio::sync::broadcast;

use crate::approvals::{Approvals, Approver};
use crate::calls::SchemaChecks;
use crate::discovery::DiscoveryScheduler;
use crate::meaning::{Encoder, MeaningSearch};
use crate::publication::{CatalogPublisher, FirstSnapshot, entry_as_of};
use crate::sessions::Sessions;
use crate::slots::ServerSlots;
use crate::tasks::Tasks;
use crate::telemetry::{Telemetry, new_trace};
use crate::{HubSettings, ToolHandler};

/// What a hub is made of; every part can be replaced in tests.
pub struct HubParts {
    /// What lasts.
    pub store: Arc<dyn Store>,
    /// What people decided, and what was done.
    pub ledger: Arc<dyn Ledger>,
    /// What opens conversations with servers.
    pub connector: Arc<dyn Connect>,
    /// What tells the time.
    pub clock: Arc<dyn Clock>,
    /// Who is asked when a policy says `ask`.
    pub approver: Arc<dyn Approver>,
    /// What knows the meaning of words; without one tools are found by words alone.
    pub encoder: Option<Arc<dyn Encoder>>,
    /// Who is told of events, spans and counts; [`pegboard_model::NoopRecorder`] for nobody.
    pub recorder: Arc<dyn Recorder>,
    /// What the user set.
    pub settings: HubSettings,
    /// The limits in force.
    pub limits: Limits,
}

/// The living centre. Cloning gives another handle to the same hub.
#[derive(Clone)]
pub struct Hub {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) catalog: CatalogPublisher,
    pub(crate) slots: ServerSlots,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) connector: Arc<dyn Connect>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) approvals: Approvals,
    pub(crate) settings: HubSettings,
    pub(crate) limits: Limits,
    pub(crate) telemetry: Telemetry,
    pub(crate) discovery: DiscoveryScheduler,
    pub(crate) schemas: SchemaChecks,
    pub(crate) search: MeaningSearch,
    pub(crate) sessions: Sessions,
    pub(crate) tasks: Tasks,
}

impl Hub {
    /// Opens a hub over what the store knows of the configured servers. Nothing is started. The second
    /// value tells what of the store could not be used.
    pub async fn open(
        parts: HubParts,
        servers: impl IntoIterator<Item = ServerSpec>,
    ) -> ToolResult<(Self, Vec<ToolError>)> {
        let loaded = parts.store.load().await?;
        Ok((
            Self::with_records(parts, loaded.records, servers),
            loaded.notices,
        ))
    }

    /// Opens a hub over records that were loaded before.
    pub fn with_records(
        parts: HubParts,
        records: Vec<ServerRecord>,
        servers: impl IntoIterator<Item = ServerSpec>,
    ) -> Self {
        let hub = Self::with_lazy_records(parts, move || records, servers);
        drop(hub.catalog());
        hub
    }

    /// Opens a hub over records that are read when the catalog is first asked for.
    pub fn with_lazy_records(
        parts: HubParts,
        read: impl FnOnce() -> Vec<ServerRecord> + Send + 'static,
        servers: impl IntoIterator<Item = ServerSpec>,
    ) -> Self {
        let servers: Vec<ServerSpec> = servers.into_iter().collect();
        let (clock, limits) = (parts.clock.clone(), parts.limits.clone());
        let first = move || {
            let mut known: HashMap<(ServerName, ConfigHash), ServerRecord> = read()
                .into_iter()
                .map(|record| ((record.server.clone(), record.config), record))
                .collect();
            let entries = servers.into_iter().map(|spec| {
                let record = known.remove(&(spec.name.clone(), spec.hash));
                entry_as_of(clock.now(), &limits, Arc::new(spec), record.map(Arc::new))
            });
            entries.collect()
        };
        let discovery = DiscoveryScheduler::new(
            parts.connector.clone(),
            parts.settings.concurrent_discoveries,
        );
        let search = MeaningSearch::new(parts.encoder, parts.settings.remember_searches);
        let tasks = Tasks::new();
        let catalog = CatalogPublisher::new(
            first,
            parts.settings.rules.clone(),
            parts.clock.clone(),
            parts.limits.clone(),
        );
        let approvals = Approvals::new(
            parts.ledger.clone(),
            parts.approver,
            parts.settings.asking,
            parts.limits.session_grants,
        );
        let telemetry = Telemetry::new(
            parts.clock.clone(),
            parts.recorder,
            parts.ledger,
            tasks.clone(),
            &parts.limits,
        );
        let inner = Arc::new(Inner {
            catalog,
            slots: ServerSlots::new(parts.limits.clone()),
            store: parts.store,
            connector: parts.connector,
            approvals,
            telemetry,
            clock: parts.clock,
            settings: parts.settings,
            limits: parts.limits,
            discovery,
            schemas: SchemaChecks::default(),
            search,
            sessions: Sessions::default(),
            tasks,
        });
        Self { inner }
    }

    /// The present snapshot; it never changes.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.inner.catalog.load_full()
    }

    /// Who is told of events, spans and counts, for whoever has more to tell.
    pub fn recorder(&self) -> &Arc<dyn Recorder> {
        self.inner.telemetry.recorder()
    }

    /// Whether what lasts was read, so that asking for the present snapshot costs nothing.
    pub fn is_catalog_loaded(&self) -> bool {
        self.inner.catalog.is_loaded()
    }

    /// The snapshot that this hub begins with, for whoever wants to know later what changed since now; the
    /// present one if it was asked for before.
    pub fn first_snapshot(&self) -> FirstSnapshot {
        self.inner.catalog.first_snapshot()
    }

    /// What happens to servers and their tools from now on.
    pub fn subscribe(&self) -> broadcast::Receiver<Event> {
        self.inner.telemetry.subscribe()
    }

    /// Every call and every request that is passed on from now on, when it is over.
    pub fn subscribe_calls(&self) -> broadcast::Receiver<Event> {
        self.inner.telemetry.subscribe_calls()
    }

    /// Registers a tool of the host program.
    pub fn register(&self, tool: StaticTool, handler: Arc<dyn ToolHandler>) -> ToolResult<()> {
        self.inner.catalog.register(tool, handler)?;
        self.inner.emit_registry_updated(&new_trace());
        Ok(())
    }

    /// Forgets what is known of a server; its tools are asked for again when they are needed.
    pub async fn invalidate(&self, server: &ServerName) -> ToolResult<bool> {
        let Some(entry) = self.catalog().server(server).cloned() else {
            return Ok(false);
        };
        let forgotten = self.inner.store.forget(server).await?;
        self.inner.forget(&new_trace(), &entry);
        Ok(forgotten)
    }

    /// Forgets what lasts of a server that is configured no longer; whether it is.
    pub async fn forget_removed(&self, server: &ServerName) -> ToolResult<bool> {
        if self.catalog().server(server).is_some() {
            return Ok(false);
        }
        self.inner.store.forget(server).await?;
        Ok(true)
    }

    /// What is known of other servers than the configured ones, for example those of another project, together with
    /// the host program's tools. Nothing is started, and nothing of this hub changes.
    pub async fn catalog_for(
        &self,
        servers: impl IntoIterator<Item = ServerSpec>,
        rules: &GlobalRules,
    ) -> Catalog {
        let mut catalog = self.catalog().only(|_| false).with_rules(rules);
        for spec in servers {
            let record = self.inner.store.load_server(&spec.name, &spec.hash).await;
            let record = record.ok().flatten().map(Arc::new);
            let entry = self.inner.catalog.entry(Arc::new(spec), record);
            catalog = catalog.with_server(entry).0;
        }
        catalog
    }

    /// Forgets what is known of every server.
    pub async fn clear(&self) -> ToolResult<usize> {
        let forgotten = self.inner.store.clear().await?;
        let trace = new_trace();
        for entry in self.catalog().servers() {
            self.inner.forget(&trace, entry);
        }
        Ok(forgotten)
    }

    /// Begins to end a server that its user needs no more. It goes on beside other work; a shutdown waits for it.
    pub fn release(&self, server: &ServerName) {
        let slot = self.inner.slots.get(server);
        if let Some(running) = slot.and_then(|slot| slot.take()) {
            self.inner.end(running, server, "shutdown", new_trace());
        }
    }

    /// Stops every server and all background work; no process is left when it returns.
    pub async fn shutdown(&self) {
        let trace = new_trace();
        self.inner.tasks.close().await;
        let slots = self.inner.slots.all();
        let closing = slots
            .iter()
            .map(|slot| self.inner.stop(slot, &trace, "shutdown"));
        let closing = futures_util::future::join_all(closing);
        futures_util::future::join(closing, self.inner.store.rest()).await;
    }
}
