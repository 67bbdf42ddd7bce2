//! Opens connections to configured servers.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use pegboard_model::{Limits, LoginState, Reason, SecretLookup, ServerSpec, ToolResult, Transport};
use tokio::sync::watch;

use crate::byte_budget::ByteBudget;
use crate::contract::{Connect, ConnectHint, LogSink, Upstream};
use crate::dialect::ClientInfo;
use crate::era_retries::EraRetries;
use crate::errors::ErrorContext;
use crate::http::HttpOpening;
use crate::http::client::Clients;
use crate::machine_load::MachineLoad;
use crate::oauth::{Keeper, LoginKey, LoginTarget, Logins};
use crate::packages;
use crate::resolve::Resolver;
use crate::sandbox::{SandboxTrial, prepare};
use crate::session::SessionConfig;
use crate::stdio::StdioOpening;

/// The number of logins from which unused ones are dropped.
const KEPT_LOGINS: usize = 1024;

/// Configuration shared by all connections.
pub struct ConnectorConfig {
    /// Limits on what servers send.
    pub limits: Limits,
    /// Resolves stored secrets.
    pub secrets: Arc<dyn SecretLookup>,
    /// The environment of this process. Servers get the allow-listed part of it.
    pub environment: BTreeMap<String, String>,
    /// Additional variable names that every server gets.
    pub env_allow: Vec<String>,
    /// The parent of the private working directories for servers without `cwd`. If `None`, such a server runs in the
    /// working directory of this process, which may contain untrusted code.
    pub work_dirs: Option<PathBuf>,
    /// Pegboard's own folders (configuration, state, sockets), which no confined server reaches.
    pub protected: Vec<PathBuf>,
    /// Records what confined servers use instead of refusing hosts, for a trial of a sandbox.
    pub trial: Option<Arc<SandboxTrial>>,
    /// Receives the stderr lines of servers.
    pub logs: Arc<dyn LogSink>,
    /// The name and version sent to servers.
    pub client: ClientInfo,
}

/// Starts stdio servers and connects to HTTP servers.
pub struct Connector {
    setup: ConnectorConfig,
    clients: Clients,
    era_retries: Arc<EraRetries>,
    /// Budget for the large responses of all servers.
    response_bytes: ByteBudget,
    logins: Option<Logins>,
    /// The logins in use, so that all connections of a server share one.
    keepers: Mutex<HashMap<LoginKey, Arc<Keeper>>>,
}

impl Connector {
    /// Creates a connector for any number of servers.
    pub fn new(setup: ConnectorConfig) -> Self {
        let limits = &setup.limits;
        Self {
            response_bytes: ByteBudget::new(limits.response_bytes, limits.result_bytes),
            setup,
            clients: Clients::default(),
            era_retries: Arc::default(),
            logins: None,
            keepers: Mutex::default(),
        }
    }

    /// Uses these logins for remote servers that have no configured token.
    #[must_use]
    pub fn with_logins(mut self, logins: Logins) -> Self {
        self.logins = Some(logins);
        self
    }

    /// The login of a server; `None` if it has a configured token.
    fn keeper(&self, spec: &ServerSpec) -> ToolResult<Option<Arc<Keeper>>> {
        let Some(logins) = &self.logins else {
            return Ok(None);
        };
        let Some(target) = LoginTarget::of(spec, self.setup.secrets.as_ref())? else {
            return Ok(None);
        };
        let mut keepers = self.keepers.lock().unwrap_or_else(PoisonError::into_inner);
        if keepers.len() >= KEPT_LOGINS {
            keepers.retain(|_, keeper| Arc::strong_count(keeper) > 1);
        }
        let keeper = keepers
            .entry(target.key.clone())
            .or_insert_with(|| Arc::new(Keeper::new(target, logins)));
        Ok(Some(Arc::clone(keeper)))
    }

    fn talk_setup(
        &self,
        spec: &ServerSpec,
        resolver: Resolver<'_>,
        budget: Duration,
    ) -> SessionConfig {
        SessionConfig {
            errors: ErrorContext {
                server: spec.name.clone(),
                redactor: Arc::new(resolver.redactor),
                text_bytes: self.setup.limits.error_text_bytes,
            },
            limits: self.setup.limits.clone(),
            client: self.setup.client.clone(),
            // The first discovery may be given more time than later ones.
            list_time: spec.timeouts.discovery.max(budget),
            hash: spec.hash,
            era_retries: Arc::clone(&self.era_retries),
        }
    }
}

#[async_trait]
impl Connect for Connector {
    async fn connect(
        &self,
        spec: &ServerSpec,
        hint: &ConnectHint,
        budget: Duration,
    ) -> ToolResult<Arc<dyn Upstream>> {
        let nothing = ConnectHint::default();
        let hint = if self.era_retries.take(spec.hash) {
            &nothing
        } else {
            hint
        };
        let mut resolver = Resolver::new(spec, self.setup.secrets.as_ref());
        let logs = Arc::clone(&self.setup.logs);
        match &spec.transport {
            Transport::Stdio {
                command,
                args,
                env,
                cwd,
            } => {
                let parts = (command, args.as_slice(), env, cwd.as_ref());
                let mut launch = resolver.launch(parts, &self.setup)?;
                packages::verify(spec, &launch).await?;
                launch.confinement = prepare(spec, &mut launch, &self.setup).await?;
                let setup = self.talk_setup(spec, resolver, budget);
                StdioOpening {
                    launch,
                    hint,
                    logs,
                    setup,
                    budget,
                }
                .connect()
                .await
            }
            Transport::Http {
                url,
                headers,
                bearer,
                wire,
            } => {
                let target = resolver.target(url, headers, bearer.as_ref())?;
                let client = self.clients.of(&target, spec.timeouts.connect)?;
                let setup = self.talk_setup(spec, resolver, budget);
                let connect_time = spec.timeouts.connect;
                HttpOpening {
                    target,
                    client,
                    hint,
                    logs,
                    setup,
                    budget,
                    connect_time,
                    response_bytes: self.response_bytes.clone(),
                    wire: *wire,
                    login: self.keeper(spec)?,
                }
                .connect()
                .await
            }
        }
    }

    fn login_state(&self, spec: &ServerSpec, failure: Option<Reason>) -> Option<LoginState> {
        self.logins.as_ref()?.state(spec, failure)
    }

    fn login_version(&self, spec: &ServerSpec) -> Option<u64> {
        self.logins.as_ref()?.version(spec)
    }

    fn login_changes(&self) -> Option<watch::Receiver<u64>> {
        self.logins.as_ref()?.store.changes()
    }

    fn load(&self) -> MachineLoad {
        MachineLoad::now()
    }
}
