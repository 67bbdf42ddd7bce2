//! The state shared by all handlers.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use pegboard_agent::Toolbox;
use pegboard_gateway::Gateway;
use pegboard_hub::{Hub, SessionId};
use pegboard_model::{Clock, Limits};
use tokio::sync::Semaphore;

use crate::config_admin::ConfigAdmin;
use crate::definitions_cache::DefinitionsCache;
use crate::logins::Logins;
use crate::process_admin::ProcessAdmin;

/// Maximum concurrent event streams; each holds a connection.
const LISTENERS: usize = 128;

/// The parts of a [`WebState`].
pub struct WebParts {
    /// The gateway, whose profiles and sessions are shown.
    pub gateway: Gateway,
    /// Access to the configuration.
    pub config_admin: Arc<dyn ConfigAdmin>,
    /// The process with the clients of all projects; `None` if it serves this project only.
    pub process: Option<Arc<dyn ProcessAdmin>>,
    /// Browser logins.
    pub logins: Arc<Logins>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The limits in force.
    pub limits: Limits,
    /// The base URL, such as `http://127.0.0.1:7340`.
    pub url: String,
    /// The command by which a client starts this program.
    pub command: String,
    /// Environment variables that a client must set so that the program finds the same configuration.
    pub variables: BTreeMap<String, String>,
    /// The program's version.
    pub version: String,
}

/// The state shared by all handlers. Clones share the same state.
#[derive(Clone)]
pub struct WebState {
    parts: Arc<WebParts>,
    listeners: Arc<Semaphore>,
    model_calls: Arc<ModelCalls>,
}

/// What the calls of models need.
#[derive(Default)]
struct ModelCalls {
    definitions: DefinitionsCache,
    toolbox: OnceLock<Toolbox>,
}

impl WebState {
    /// Creates the state from its parts.
    pub fn new(parts: WebParts) -> Self {
        Self {
            parts: Arc::new(parts),
            listeners: Arc::new(Semaphore::new(LISTENERS)),
            model_calls: Arc::default(),
        }
    }

    /// The hub.
    pub fn hub(&self) -> &Hub {
        self.parts.gateway.hub()
    }

    /// The gateway.
    pub fn gateway(&self) -> &Gateway {
        &self.parts.gateway
    }

    /// Access to the configuration.
    pub fn config_admin(&self) -> &dyn ConfigAdmin {
        &*self.parts.config_admin
    }

    /// The process with the clients of all projects.
    pub(crate) fn process(&self) -> Option<&Arc<dyn ProcessAdmin>> {
        self.parts.process.as_ref()
    }

    /// Browser logins.
    pub fn logins(&self) -> &Arc<Logins> {
        &self.parts.logins
    }

    /// The clock.
    pub fn clock(&self) -> &dyn Clock {
        &*self.parts.clock
    }

    /// The limits in force.
    pub fn limits(&self) -> &Limits {
        &self.parts.limits
    }

    /// Limits the number of event streams.
    pub(crate) fn listeners(&self) -> &Arc<Semaphore> {
        &self.listeners
    }

    /// The runner of model calls; it keeps large results aside for reading in parts.
    pub(crate) fn toolbox(&self) -> &Toolbox {
        self.model_calls.toolbox.get_or_init(|| {
            let session = SessionId("api".to_owned());
            let tokens = self.gateway().result_tokens();
            Toolbox::new(self.hub().clone(), session, self.limits(), tokens)
        })
    }

    /// Rendered definitions.
    pub(crate) fn definitions(&self) -> &DefinitionsCache {
        &self.model_calls.definitions
    }

    /// The base URL.
    pub fn url(&self) -> &str {
        &self.parts.url
    }

    /// The command by which a client starts this program.
    pub fn command(&self) -> &str {
        &self.parts.command
    }

    /// Environment variables that a client must set when it starts this program.
    pub fn variables(&self) -> &BTreeMap<String, String> {
        &self.parts.variables
    }

    /// The program's version.
    pub fn version(&self) -> &str {
        &self.parts.version
    }
}
