//! Opening Pegboard: configuration, state folder, store and hub put together.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use pegboard_config::{Environment, LoadOptions, LoadedConfig, Paths, SecretStore, Settings};
use pegboard_hub::{
    ApprovalSettings, Approver, Hub, HubParts, HubSettings, NoApprover, SystemClock,
};
use pegboard_model::{
    ConfigHash, HashKey, Limits, Reason, Recorder, ServerName, ServerSpec, ToolError, ToolRef,
    ToolResult, UntrustedText,
};
use pegboard_store::{LoadedRecords as Kept, ServerLogs, SqliteLedger, SqliteStore, StateDir};
use pegboard_trace::Redactor;
use pegboard_upstream::{ClientInfo, Connector, ConnectorConfig, LogSink};

use crate::telemetry::Telemetry;

/// How Pegboard is to be opened.
#[derive(Default)]
pub struct Options {
    /// A file that replaces the user's and the project's.
    pub config_file: Option<PathBuf>,
    /// The project's folder; found upwards from the working folder without one.
    pub project: Option<PathBuf>,
    /// Whether doubtful config files are refused.
    pub strict: bool,
    /// What stands in the environment; the process's own without one.
    pub environment: Option<Environment>,
    /// Who is asked when a policy says `ask`; nobody without one.
    pub approver: Option<Arc<dyn Approver>>,
    /// The one tool that matters, as somebody wrote it: when its server is known to have it, nothing else that is
    /// known is read.
    pub only_tool: Option<String>,
    /// Servers beside the configured ones, for this run only.
    pub extra_servers: Vec<ServerSpec>,
    /// What keeps secrets out of the host program's own logs: it learns every secret that Pegboard comes to know.
    pub redactor: Option<Arc<Redactor>>,
    /// Whether calls, searches and discoveries are counted, for [`Pegboard::metrics_route`].
    pub metrics: bool,
}

/// What is configured, read but not yet acted on.
pub struct Configured {
    /// Where files are.
    pub paths: Paths,
    /// The environment it was read with.
    pub environment: Environment,
    /// What the files and variables say.
    pub loaded: LoadedConfig,
    /// The folder of all that lasts.
    pub state: StateDir,
    /// The key of config hashes.
    pub key: HashKey,
    /// How it was asked for.
    pub load: LoadOptions,
    /// The limits in force.
    pub limits: Limits,
}

impl Configured {
    /// Reads the configuration.
    pub fn read(options: &Options) -> ToolResult<Self> {
        let environment = options
            .environment
            .clone()
            .unwrap_or_else(Environment::from_process);
        let paths = Paths::from_env(&environment);
        let state = StateDir::open(&paths.state_dir)?;
        let key = state.hash_key()?;
        let load = LoadOptions {
            config_file: options.config_file.clone(),
            project: options.project.clone(),
            strict: options.strict,
        };
        let limits = Limits::default();
        let loaded = pegboard_config::load(&load, &environment, &paths, &key, &limits);
        Ok(Self {
            paths,
            environment,
            loaded,
            state,
            key,
            load,
            limits,
        })
    }

    /// Reads the files again, as they are now.
    pub fn read_again(&self) -> LoadedConfig {
        pegboard_config::load(
            &self.load,
            &self.environment,
            &self.paths,
            &self.key,
            &self.limits,
        )
    }

    /// What servers wrote to stderr.
    pub fn logs(&self) -> ServerLogs {
        ServerLogs::open(&self.state)
    }

    /// The kept secrets.
    pub fn secrets(&self) -> SecretStore {
        SecretStore::open(&self.paths.state_dir)
    }
}

/// An open Pegboard: the catalog of every configured server, and the way to call its tools.
///
/// ```no_run
/// # async fn example() -> pegboard::ToolResult<()> {
/// let pegboard = pegboard::Pegboard::open(pegboard::Options::default()).await?;
/// for tool in pegboard.hub().catalog().tools() {
///     println!("{}: {}", tool.exposed(), tool.summary());
/// }
/// pegboard.close().await;
/// # Ok(())
/// # }
/// ```
pub struct Pegboard {
    hub: Hub,
    configured: Configured,
    notices: Vec<ToolError>,
    telemetry: Arc<Telemetry>,
    /// Made when a model's first call is run.
    pub(crate) tools: OnceLock<pegboard_agent::Toolbox>,
}

impl Pegboard {
    /// Opens Pegboard. No server is started.
    pub async fn open(options: Options) -> ToolResult<Self> {
        let configured = Configured::read(&options)?;
        Self::over(configured, options).await
    }

    /// Opens Pegboard over a configuration that was read before.
    pub async fn over(configured: Configured, options: Options) -> ToolResult<Self> {
        let (store, mut notices) = SqliteStore::open_in_background(&configured.state)?;
        // On this thread: memory of another one would cost more than the reading.
        let loaded = load(&store, &configured, &options)?;
        notices.extend(loaded.notices);
        note_unwritable(&configured.state, &mut notices);
        let (telemetry, problems) = Telemetry::start(&configured, &options);
        notices.extend(problems);
        let parts = parts(&configured, &options, &telemetry, Arc::new(store));
        let hub = Hub::with_records(parts, loaded.records, servers(&configured, options));
        Ok(Self {
            hub,
            configured,
            notices,
            telemetry: Arc::new(telemetry),
            tools: OnceLock::new(),
        })
    }

    /// The same, but what is known is read when somebody first asks for the catalog: a gateway answers before
    /// that. `tell` hears what of the store could not be used.
    pub fn with_lazy_records(
        configured: Configured,
        options: Options,
        on_notice: impl Fn(&ToolError) + Send + 'static,
    ) -> ToolResult<Self> {
        let store = Arc::new(SqliteStore::open_lazily(&configured.state)?);
        let is_new = store.is_new();
        let (telemetry, mut notices) = Telemetry::start(&configured, &options);
        note_unwritable(&configured.state, &mut notices);
        let parts = parts(&configured, &options, &telemetry, store.clone());
        let wanted: Vec<(ServerName, ConfigHash)> = wanted(&configured, &options)
            .map(|(name, hash)| (name.clone(), *hash))
            .collect();
        let read = move || {
            let loaded = store.load_matching(wanted.iter().map(|(name, hash)| (name, hash)));
            // A gateway that cannot read what it knew asks the servers again.
            let loaded = loaded.unwrap_or_else(|error| Kept {
                records: Vec::new(),
                notices: vec![error],
            });
            loaded.notices.iter().for_each(on_notice);
            loaded.records
        };
        let hub = Hub::with_lazy_records(parts, read, servers(&configured, options));
        if is_new {
            // There is nothing to read.
            drop(hub.catalog());
        }
        Ok(Self {
            hub,
            configured,
            notices,
            telemetry: Arc::new(telemetry),
            tools: OnceLock::new(),
        })
    }

    /// The living centre.
    pub fn hub(&self) -> &Hub {
        &self.hub
    }

    /// What tools there are, in less than 500 tokens for a system prompt; nothing is started.
    pub fn context_summary(&self) -> String {
        pegboard_metatools::context_summary(&self.hub.catalog(), &self.essential_patterns())
    }

    /// The patterns of the tools that the summary names; none means the built-in ones.
    pub(crate) fn essential_patterns(&self) -> Vec<String> {
        self.configured.loaded.settings.essential.clone()
    }

    /// The configuration it was opened with.
    pub fn configured(&self) -> &Configured {
        &self.configured
    }

    /// What of the store could not be used.
    pub fn notices(&self) -> &[ToolError] {
        &self.notices
    }

    /// Who is told of events, spans and counts, for whoever has more to tell, such as an agent.
    pub fn recorder(&self) -> &Arc<dyn Recorder> {
        self.telemetry.recorder()
    }

    pub(crate) fn telemetry(&self) -> &Arc<Telemetry> {
        &self.telemetry
    }

    /// Stops every server that was started, and sends what is left of traces, for two seconds at the most; no
    /// process is left when it returns.
    pub async fn close(self) {
        self.finish().await;
    }

    /// The same for a program that ends at once and has no time to give memory back.
    pub(crate) async fn finish(&self) {
        self.hub.shutdown().await;
        self.telemetry.close().await;
    }
}

/// Adds why the state folder cannot be written, unless another notice says the same of the store in it.
fn note_unwritable(state: &StateDir, notices: &mut Vec<ToolError>) {
    if notices.iter().all(|known| known.reason != Reason::StoreIo) {
        notices.extend(state.unwritable().cloned());
    }
}

/// What is known of the servers, or of the one whose tool is sought.
fn load(store: &SqliteStore, configured: &Configured, options: &Options) -> ToolResult<Kept> {
    let Some(ToolRef::Qualified { server, tool }) =
        options.only_tool.as_deref().and_then(ToolRef::parse)
    else {
        return store.load_matching(wanted(configured, options));
    };
    let is_sought = |name: &ServerName| *name == server;
    let mut loaded =
        store.load_matching(wanted(configured, options).filter(|(name, _)| is_sought(name)))?;
    let mut tools = loaded.records.iter().flat_map(|record| record.tools.iter());
    if !tools.any(|known| known.name == tool) {
        let others = wanted(configured, options).filter(|(name, _)| !is_sought(name));
        let others = store.load_matching(others)?;
        loaded.records.extend(others.records);
        loaded.notices.extend(others.notices);
    }
    Ok(loaded)
}

/// The servers and definitions whose records are to be read.
fn wanted<'a>(
    configured: &'a Configured,
    options: &'a Options,
) -> impl Iterator<Item = (&'a ServerName, &'a ConfigHash)> {
    let servers = configured.loaded.servers.values();
    let servers = servers.chain(&options.extra_servers);
    servers.map(|spec| (&spec.name, &spec.hash))
}

fn servers(configured: &Configured, options: Options) -> impl Iterator<Item = ServerSpec> {
    let more = options.extra_servers.into_iter().map(|mut spec| {
        spec.rules.global = configured.loaded.rules.clone();
        spec
    });
    configured.loaded.servers.values().cloned().chain(more)
}

fn parts(
    configured: &Configured,
    options: &Options,
    telemetry: &Telemetry,
    store: Arc<SqliteStore>,
) -> HubParts {
    let connector = Connector::new(ConnectorConfig {
        limits: configured.limits.clone(),
        secrets: telemetry.secrets(configured.secrets()),
        environment: configured.environment.vars.clone(),
        env_allow: configured.loaded.settings.env_allow.clone(),
        work_dirs: Some(configured.state.path().join("work")),
        logs: Arc::new(Logs(configured.logs())),
        client: ClientInfo {
            name: "pegboard".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        },
    });
    HubParts {
        ledger: Arc::new(SqliteLedger::new(&configured.state)),
        store,
        connector: Arc::new(connector),
        clock: Arc::new(SystemClock),
        encoder: match configured.loaded.settings.search_by_meaning {
            true => crate::meaning::encoder(),
            false => None,
        },
        recorder: telemetry.recorder().clone(),
        approver: options
            .approver
            .clone()
            .unwrap_or_else(|| Arc::new(NoApprover)),
        settings: hub_settings(&configured.loaded),
        limits: configured.limits.clone(),
    }
}

struct Logs(ServerLogs);

impl LogSink for Logs {
    fn append(&self, server: &ServerName, text: &str) {
        // The file may be read on a terminal by other programs than this one.
        self.0
            .append(server, &format!("{}\n", UntrustedText::block(text)));
    }
}

/// How people are asked, as the configuration says.
pub(crate) fn asking(settings: &Settings) -> ApprovalSettings {
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
        asking: asking(settings),
        rules: loaded.rules.clone(),
        // A server that calls its own tools through a Pegboard it started must not raise its own rank.
        remember_searches: settings.remember_searches && !pegboard_upstream::runs_under_a_server(),
    }
}
