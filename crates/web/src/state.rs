//! What every handler works on.

use std::collections::BTreeMap;
use std::sync::Arc;

use pegboard_gateway::Gateway;
use pegboard_hub::Hub;
use pegboard_model::{Clock, Limits};
use tokio::sync::Semaphore;

use crate::config_admin::ConfigAdmin;
use crate::logins::Logins;

/// Those who may listen to events at once; each holds a connection.
const LISTENERS: usize = 128;

/// What the state is made of.
pub struct WebParts {
    /// The MCP face, whose profiles and sessions are shown.
    pub gateway: Gateway,
    /// Whoever knows the files.
    pub config_admin: Arc<dyn ConfigAdmin>,
    /// The browsers that are logged in.
    pub logins: Arc<Logins>,
    /// What tells the time.
    pub clock: Arc<dyn Clock>,
    /// The limits in force.
    pub limits: Limits,
    /// Where we listen, as `http://127.0.0.1:7340`.
    pub url: String,
    /// How a client starts this program.
    pub command: String,
    /// Variables that a client must set, so that the program finds the same configuration.
    pub variables: BTreeMap<String, String>,
    /// The program's version.
    pub version: String,
}

/// What every handler works on. Cloning gives another handle to the same.
#[derive(Clone)]
pub struct WebState {
    parts: Arc<WebParts>,
    listeners: Arc<Semaphore>,
}

impl WebState {
    /// A state over its parts.
    pub fn new(parts: WebParts) -> Self {
        Self {
            parts: Arc::new(parts),
            listeners: Arc::new(Semaphore::new(LISTENERS)),
        }
    }

    /// The living centre.
    pub fn hub(&self) -> &Hub {
        self.parts.gateway.hub()
    }

    /// The MCP face.
    pub fn gateway(&self) -> &Gateway {
        &self.parts.gateway
    }

    /// Whoever knows the files.
    pub fn config_admin(&self) -> &dyn ConfigAdmin {
        &*self.parts.config_admin
    }

    /// The browsers that are logged in.
    pub fn logins(&self) -> &Arc<Logins> {
        &self.parts.logins
    }

    /// What tells the time.
    pub fn clock(&self) -> &dyn Clock {
        &*self.parts.clock
    }

    /// The limits in force.
    pub fn limits(&self) -> &Limits {
        &self.parts.limits
    }

    /// Places for those who listen to events.
    pub(crate) fn listeners(&self) -> &Arc<Semaphore> {
        &self.listeners
    }

    /// Where we listen.
    pub fn url(&self) -> &str {
        &self.parts.url
    }

    /// How a client starts this program.
    pub fn command(&self) -> &str {
        &self.parts.command
    }

    /// Variables that a client must set when it starts this program.
    pub fn variables(&self) -> &BTreeMap<String, String> {
        &self.parts.variables
    }

    /// The program's version.
    pub fn version(&self) -> &str {
        &self.parts.version
    }
}
