//! An open Pegboard: configuration, store, telemetry and hub assembled.

use std::path::PathBuf;
use std::sync::Arc;
#[cfg(feature = "agent")]
use std::sync::OnceLock;

use pegboard_config::{LoadedConfig, Settings};
use pegboard_hub::{
    ApprovalSettings, Hub, HubParts, HubSettings, NoApprover, ServerPool, SystemClock, ViewContext,
};
use pegboard_model::{
    ConfigHash, Reason, Recorder, Secret, ServerName, ServerSpec, ToolError, ToolRef, ToolResult,
    UntrustedText,
};
use pegboard_store::{LoadedRecords, ServerLogs, SqliteLedger, SqliteStore, StateDir};
use pegboard_upstream::{ClientInfo, Connect, Connector, ConnectorConfig, LogSink, Logins};

use crate::telemetry::Telemetry;
use crate::{Builder, Configuration};

/// The catalog of all configured servers, and the way to call their tools. Cheap parts are shared: [`Pegboard::hub`]
/// can be cloned.
///
/// ```no_run
/// # async fn example() -> pegboard::ToolResult<()> {
/// let pegboard = pegboard::Pegboard::builder().open().await?;
/// for tool in pegboard.hub().catalog().tools() {
///     println!("{}: {}", tool.exposed(), tool.summary());
/// }
/// pegboard.close().await;
/// # Ok(())
/// # }
/// ```
pub struct Pegboard {
    hub: Hub,
    configuration: Configuration,
    notices: Vec<ToolError>,
    telemetry: Arc<Telemetry>,
    logins: Logins,
    /// Created by the first call of a model.
    #[cfg(feature = "agent")]
    pub(crate) toolbox: OnceLock<pegboard_agent::Toolbox>,
}

impl Pegboard {
    /// Returns a builder with the default options.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Opens Pegboard with the user's configuration. Starts no server.
    ///
    /// # Errors
    /// Fails if the state directory or the store cannot be used.
    pub async fn open() -> ToolResult<Self> {
        Self::builder().open().await
    }

    pub(crate) async fn open_with(
        builder: Builder,
        configuration: Configuration,
    ) -> ToolResult<Self> {
        let servers = servers(&configuration, &builder)?;
        let (store, mut notices) = SqliteStore::open_in_background(&configuration.state)?;
        // On this thread: allocating on another one would cost more than the read.
        let loaded = load_records(&store, &servers, builder.only_tool.as_deref())?;
        notices.extend(loaded.notices);
        note_unwritable(&configuration.state, &mut notices);
        let (telemetry, problems) = Telemetry::start(&configuration, &builder, &servers);
        notices.extend(problems);
        let telemetry = Arc::new(telemetry);
        let logins = logins(&configuration, &telemetry);
        let store = Arc::new(store);
        let parts = hub_parts(&configuration, builder, &telemetry, store, &logins);
        let hub = Hub::with_records(parts, loaded.records, servers);
        Ok(Self::assemble(
            hub,
            configuration,
            notices,
            telemetry,
            logins,
        ))
    }

    pub(crate) fn open_lazily(
        builder: Builder,
        configuration: Configuration,
        on_notice: impl Fn(&ToolError) + Send + 'static,
    ) -> ToolResult<Self> {
        let servers = servers(&configuration, &builder)?;
        let store = Arc::new(SqliteStore::open_lazily(&configuration.state)?);
        let is_new = store.is_new();
        let (telemetry, mut notices) = Telemetry::start(&configuration, &builder, &servers);
        note_unwritable(&configuration.state, &mut notices);
        let telemetry = Arc::new(telemetry);
        let logins = logins(&configuration, &telemetry);
        let parts = hub_parts(&configuration, builder, &telemetry, store.clone(), &logins);
        let keys: Vec<(ServerName, ConfigHash)> = servers
            .iter()
            .map(|spec| (spec.name.clone(), spec.hash))
            .collect();
        let read = move || {
            let loaded = store.load_matching(keys.iter().map(|(name, hash)| (name, hash)));
            // If the store cannot be read, the servers are discovered again.
            let loaded = loaded.unwrap_or_else(|error| LoadedRecords {
                records: Vec::new(),
                notices: vec![error],
            });
            loaded.notices.iter().for_each(on_notice);
            loaded.records
        };
        let hub = Hub::with_lazy_records(parts, read, servers);
        if is_new {
            // There is nothing to read.
            drop(hub.catalog());
        }
        Ok(Self::assemble(
            hub,
            configuration,
            notices,
            telemetry,
            logins,
        ))
    }

    fn assemble(
        hub: Hub,
        configuration: Configuration,
        notices: Vec<ToolError>,
        telemetry: Arc<Telemetry>,
        logins: Logins,
    ) -> Self {
        Self {
            hub,
            configuration,
            notices,
            telemetry,
            logins,
            #[cfg(feature = "agent")]
            toolbox: OnceLock::new(),
        }
    }

    /// Returns the hub, which owns the catalog and routes calls.
    pub fn hub(&self) -> &Hub {
        &self.hub
    }

    /// Returns the logins to remote servers: their state, and how a person logs in and out.
    pub fn logins(&self) -> &Logins {
        &self.logins
    }

    /// Returns a summary of all tools for a system prompt, with fewer than 500 tokens. Starts no server.
    pub fn context_summary(&self) -> String {
        let essential = &self.configuration.loaded.settings.essential;
        pegboard_metatools::context_summary(&self.hub.catalog(), essential)
    }

    /// Returns the configuration that this Pegboard was opened with.
    pub fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    /// Returns the problems found while opening: unusable parts of the store, invalid telemetry settings.
    pub fn notices(&self) -> &[ToolError] {
        &self.notices
    }

    /// Returns the recorder of events, spans and metrics, for programs that report their own.
    pub fn recorder(&self) -> &Arc<dyn Recorder> {
        self.telemetry.recorder()
    }

    /// Redacts this secret from logs and traces.
    pub fn redact(&self, secret: &Secret) {
        self.telemetry.learn_secret(secret);
    }

    #[cfg(any(feature = "dashboard", all(feature = "gateway", feature = "otlp")))]
    pub(crate) fn telemetry(&self) -> &Arc<Telemetry> {
        &self.telemetry
    }

    /// Stops every started server, then exports the remaining traces for at most two seconds. No child process is left
    /// when it returns.
    pub async fn close(self) {
        self.shut_down().await;
    }

    /// Like [`Pegboard::close`], for a program that exits next and need not free the catalog.
    pub async fn shut_down(&self) {
        self.hub.shutdown().await;
        self.telemetry.close().await;
    }
}

fn logins(configuration: &Configuration, telemetry: &Arc<Telemetry>) -> Logins {
    let secrets = telemetry.secrets(configuration.secrets());
    crate::logins::open(&configuration.state, secrets, Some(telemetry.clone()))
}

/// Adds a notice that the state directory cannot be written, unless the store already reported it.
fn note_unwritable(state: &StateDir, notices: &mut Vec<ToolError>) {
    if notices.iter().all(|known| known.reason != Reason::StoreIo) {
        notices.extend(state.unwritable().cloned());
    }
}

/// Reads the stored tool lists. With `only_tool`, reads the other lists only if its own server's list does not contain
/// it.
fn load_records(
    store: &SqliteStore,
    servers: &[ServerSpec],
    only_tool: Option<&str>,
) -> ToolResult<LoadedRecords> {
    let keys = || servers.iter().map(|spec| (&spec.name, &spec.hash));
    let Some(ToolRef::Qualified { server, tool }) = only_tool.and_then(ToolRef::parse) else {
        return store.load_matching(keys());
    };
    let mut loaded = store.load_matching(keys().filter(|(name, _)| **name == server))?;
    let mut tools = loaded.records.iter().flat_map(|record| record.tools.iter());
    if !tools.any(|known| known.name == tool) {
        let others = store.load_matching(keys().filter(|(name, _)| **name != server))?;
        loaded.records.extend(others.records);
        loaded.notices.extend(others.notices);
    }
    Ok(loaded)
}

/// Returns the configured servers and those added in code, which replace configured ones of the same name.
fn servers(configuration: &Configuration, builder: &Builder) -> ToolResult<Vec<ServerSpec>> {
    let loaded = &configuration.loaded;
    let mut servers: Vec<ServerSpec> = loaded.servers.values().cloned().collect();
    for server in builder.servers.iter().cloned() {
        let mut spec = server.into_spec(&loaded.settings, &configuration.key)?;
        spec.rules.global = loaded.rules.clone();
        servers.retain(|known| known.name != spec.name);
        servers.push(spec);
    }
    Ok(servers)
}

fn hub_parts(
    configuration: &Configuration,
    builder: Builder,
    telemetry: &Telemetry,
    store: Arc<SqliteStore>,
    logins: &Logins,
) -> HubParts {
    let connector = Connector::new(ConnectorConfig {
        limits: configuration.limits.clone(),
        secrets: telemetry.secrets(configuration.secrets()),
        environment: configuration.environment.vars.clone(),
        env_allow: configuration.loaded.settings.env_allow.clone(),
        work_dirs: Some(configuration.state.path().join("work")),
        protected: protected_folders(configuration),
        trial: builder.sandbox_trial.clone(),
        logs: Arc::new(EscapedLogs(configuration.logs())),
        client: ClientInfo {
            name: "pegboard".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        },
    })
    .with_logins(logins.clone());
    let connector: Arc<dyn Connect> = Arc::new(connector);
    let connector = match &builder.pool {
        Some(pool) => pooled(pool, connector, configuration),
        None => connector,
    };
    HubParts {
        ledger: Arc::new(SqliteLedger::new(&configuration.state)),
        store,
        connector,
        clock: Arc::new(SystemClock),
        encoder: match configuration.loaded.settings.search_by_meaning {
            true => crate::meaning::encoder(),
            false => None,
        },
        recorder: telemetry.recorder().clone(),
        approver: builder.approver.unwrap_or_else(|| Arc::new(NoApprover)),
        settings: hub_settings(&configuration.loaded),
        limits: configuration.limits.clone(),
    }
}

/// Returns a connector that shares running servers through a pool.
fn pooled(
    pool: &ServerPool,
    connector: Arc<dyn Connect>,
    configuration: &Configuration,
) -> Arc<dyn Connect> {
    let project = configuration.project();
    let context = ViewContext {
        name: project.display().to_string(),
        project: Some(project.to_owned()),
        environment: configuration.environment.vars.clone(),
        env_allow: configuration.loaded.settings.env_allow.clone(),
        // Servers without a written working directory run in private folders.
        working_dir: None,
    };
    pool.view(connector, context)
}

/// Returns the folders that confined servers never reach: configuration, state, and the socket's.
fn protected_folders(configuration: &Configuration) -> Vec<PathBuf> {
    let paths = &configuration.paths;
    let runtime = configuration.environment.vars.get("XDG_RUNTIME_DIR");
    let runtime = runtime.map(|folder| PathBuf::from(folder).join("pegboard"));
    let mut folders = vec![
        paths.config_dir.clone(),
        paths.state_dir.clone(),
        configuration.state.path().to_path_buf(),
    ];
    folders.extend(runtime);
    folders
}

/// Writes servers' logs with control characters escaped, because the files may be printed on a terminal.
struct EscapedLogs(ServerLogs);

impl LogSink for EscapedLogs {
    fn append(&self, server: &ServerName, text: &str) {
        self.0
            .append(server, &format!("{}\n", UntrustedText::block(text)));
    }
}

/// Returns the settings for approval requests.
pub(crate) fn approval_settings(settings: &Settings) -> ApprovalSettings {
    ApprovalSettings {
        timeout: settings.approval_timeout,
        via: settings.ask_via,
        client: settings.client_approval,
    }
}

fn hub_settings(loaded: &LoadedConfig) -> HubSettings {
    let settings = &loaded.settings;
    HubSettings {
        refresh_on_start: settings.refresh_on_start,
        stale_refresh: settings.stale_refresh,
        concurrent_discoveries: settings.concurrent_discoveries,
        answer_deadline: settings.answer_deadline,
        asking: approval_settings(settings),
        rules: loaded.rules.clone(),
        review: loaded.review.mode,
        result_scan: loaded.review.results,
        // A server that calls its own tools through a Pegboard it started must not raise its own rank.
        remember_searches: settings.remember_searches && !pegboard_upstream::runs_under_a_server(),
    }
}
