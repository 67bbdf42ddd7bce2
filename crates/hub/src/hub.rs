//! The hub: its parts, and how it is opened and closed.

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
use crate::review::ReviewBook;
use crate::sessions::Sessions;
use crate::slots::ServerSlots;
use crate::tasks::Tasks;
use crate::telemetry::{Telemetry, new_trace};
use crate::{HubSettings, ToolHandler};

/// The injected dependencies of a hub. Tests can replace each of them.
pub struct HubParts {
    /// Stores the discovered tools.
    pub store: Arc<dyn Store>,
    /// Stores grants, approval requests and activity.
    pub ledger: Arc<dyn Ledger>,
    /// Connects to servers.
    pub connector: Arc<dyn Connect>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Asks for approvals if the client cannot.
    pub approver: Arc<dyn Approver>,
    /// Encodes texts for search by meaning. Without one, tools are searched by words only.
    pub encoder: Option<Arc<dyn Encoder>>,
    /// Receives events, spans and metrics; [`pegboard_model::NoopRecorder`] to discard them.
    pub recorder: Arc<dyn Recorder>,
    /// The user's settings.
    pub settings: HubSettings,
    /// The limits in force.
    pub limits: Limits,
}

/// Owns the catalog and routes calls. Cloning gives another handle to the same hub.
#[derive(Clone)]
pub struct Hub {
    pub(crate) inner: Arc<Inner>,
}

/// The parts of the hub, each with private state, and the dependencies and settings that they share.
pub(crate) struct Inner {
    pub(crate) catalog: CatalogPublisher,
    pub(crate) slots: ServerSlots,
    pub(crate) discovery: DiscoveryScheduler,
    pub(crate) approvals: Approvals,
    pub(crate) sessions: Sessions,
    pub(crate) search: MeaningSearch,
    pub(crate) schemas: SchemaChecks,
    pub(crate) telemetry: Telemetry,
    pub(crate) tasks: Tasks,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) connector: Arc<dyn Connect>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) settings: HubSettings,
    pub(crate) limits: Limits,
}

impl Hub {
    /// Opens a hub with the stored records of the configured servers. No server is started. The second value lists
    /// the stored records that cannot be used.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
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

    /// Opens a hub with records that are already loaded.
    pub fn with_records(
        parts: HubParts,
        records: Vec<ServerRecord>,
        servers: impl IntoIterator<Item = ServerSpec>,
    ) -> Self {
        let hub = Self::with_lazy_records(parts, move || records, servers);
        drop(hub.catalog());
        hub
    }

    /// Opens a hub whose records are read when the catalog is first needed.
    pub fn with_lazy_records(
        parts: HubParts,
        read: impl FnOnce() -> Vec<ServerRecord> + Send + 'static,
        servers: impl IntoIterator<Item = ServerSpec>,
    ) -> Self {
        let servers: Vec<ServerSpec> = servers.into_iter().collect();
        let (clock, limits) = (parts.clock.clone(), parts.limits.clone());
        let reviews = Arc::new(ReviewBook::new(parts.ledger.clone(), parts.settings.review));
        let book = reviews.clone();
        let first = move || {
            let mut known: HashMap<(ServerName, ConfigHash), ServerRecord> = read()
                .into_iter()
                .map(|record| ((record.server.clone(), record.config), record))
                .collect();
            let entries = servers.into_iter().map(|spec| {
                let record = known.remove(&(spec.name.clone(), spec.hash));
                entry_as_of(
                    clock.now(),
                    &limits,
                    &book,
                    Arc::new(spec),
                    record.map(Arc::new),
                )
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
            reviews,
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

    /// Returns the current snapshot, which never changes.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.inner.catalog.load_full()
    }

    /// Returns the recorder, for components that record their own telemetry.
    pub fn recorder(&self) -> &Arc<dyn Recorder> {
        self.inner.telemetry.recorder()
    }

    /// Whether the stored records are loaded, so that reading the catalog does not touch the disk.
    pub fn is_catalog_loaded(&self) -> bool {
        self.inner.catalog.is_loaded()
    }

    /// Returns the snapshot that this hub starts with, for comparing later; the current one if it is already loaded.
    pub fn first_snapshot(&self) -> FirstSnapshot {
        self.inner.catalog.first_snapshot()
    }

    /// Subscribes to events about servers and their tools.
    pub fn subscribe(&self) -> broadcast::Receiver<Event> {
        self.inner.telemetry.subscribe()
    }

    /// Subscribes to finished calls and forwarded requests.
    pub fn subscribe_calls(&self) -> broadcast::Receiver<Event> {
        self.inner.telemetry.subscribe_calls()
    }

    /// Registers a tool of the host program.
    ///
    /// # Errors
    /// Fails if a host tool of the same name exists.
    pub fn register(&self, tool: StaticTool, handler: Arc<dyn ToolHandler>) -> ToolResult<()> {
        self.inner.catalog.register(tool, handler)?;
        self.inner.emit_registry_updated(&new_trace());
        Ok(())
    }

    /// Clears the stored tools of a server; they are discovered again when needed. Returns `false` if nothing was
    /// stored.
    ///
    /// # Errors
    /// Fails if the store cannot be written.
    pub async fn invalidate(&self, server: &ServerName) -> ToolResult<bool> {
        let Some(entry) = self.catalog().server(server).cloned() else {
            return Ok(false);
        };
        let forgotten = self.inner.store.forget(server).await?;
        self.inner.forget(&new_trace(), &entry);
        Ok(forgotten)
    }

    /// Clears the stored records of a server that is no longer configured. Returns `false` if it is configured.
    ///
    /// # Errors
    /// Fails if the store cannot be written.
    pub async fn forget_removed(&self, server: &ServerName) -> ToolResult<bool> {
        if self.catalog().server(server).is_some() {
            return Ok(false);
        }
        self.inner.store.forget(server).await?;
        Ok(true)
    }

    /// Builds a catalog of other servers, for example those of another project, from the store, together with the
    /// host program's tools. No server is started, and this hub does not change.
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

    /// Clears the stored tools of every server. Returns the number of cleared records.
    ///
    /// # Errors
    /// Fails if the store cannot be written.
    pub async fn clear(&self) -> ToolResult<usize> {
        let forgotten = self.inner.store.clear().await?;
        let trace = new_trace();
        for entry in self.catalog().servers() {
            self.inner.forget(&trace, entry);
        }
        Ok(forgotten)
    }

    /// Stops a server in the background. A shutdown waits for it.
    pub fn release(&self, server: &ServerName) {
        let slots = self.inner.slots.of_server(server);
        for running in slots.iter().filter_map(|slot| slot.take()) {
            self.inner.end(running, server, "shutdown", new_trace());
        }
    }

    /// Stops all background work and every server. When it returns, no server process is left.
    pub async fn shutdown(&self) {
        let trace = new_trace();
        self.inner.tasks.close().await;
        let slots = self.inner.slots.all();
        let closing = slots
            .iter()
            .map(|slot| self.inner.stop(slot, &trace, "shutdown"));
        let closing = futures_util::future::join_all(closing);
        futures_util::future::join(closing, self.inner.store.checkpoint()).await;
    }
}
