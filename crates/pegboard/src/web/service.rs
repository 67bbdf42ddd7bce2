//! Assembles the HTTP API and the dashboard.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use pegboard_config::{Environment, Paths};
use pegboard_gateway::Gateway;
use pegboard_hub::SystemClock;
use pegboard_model::Secret;
use pegboard_web::{Logins, WebParts, WebState};

use super::config_admin::FileConfigAdmin;
use super::config_reloader::ConfigReloader;
use super::logins::LoginFile;
use super::projects::Projects;
use crate::Pegboard;

/// The HTTP API and the dashboard of a serving Pegboard.
pub(crate) struct WebService {
    pub(crate) state: WebState,
    pub(crate) projects: Arc<Projects>,
}

/// Where and how Pegboard is served.
pub(crate) struct Endpoint {
    /// The base URL for clients, such as `http://127.0.0.1:7340`.
    pub(crate) url: String,
    /// The bound address.
    pub(crate) address: SocketAddr,
    /// The command with which a client starts this program.
    pub(crate) command: String,
    /// Whether clients must send a token.
    pub(crate) needs_token: bool,
}

/// Assembles the API and the dashboard.
pub(crate) fn open(
    pegboard: &Pegboard,
    gateway: &Gateway,
    reload: &Arc<ConfigReloader>,
    endpoint: Endpoint,
) -> WebService {
    let projects = Arc::new(Projects::new(reload.clone()));
    let logs = pegboard.configured().logs();
    let file_config =
        FileConfigAdmin::new(reload.clone(), projects.clone(), logs, endpoint.needs_token);
    let configured = pegboard.configured();
    let port = endpoint.address.port();
    let folder = configured.state.path().to_owned();
    let stored = Arc::new(LoginFile::new(folder, port));
    let state = WebState::new(WebParts {
        gateway: gateway.clone(),
        config_admin: Arc::new(file_config),
        logins: Arc::new(Logins::stored(port, Arc::new(SystemClock), stored)),
        clock: Arc::new(SystemClock),
        limits: pegboard.configured().limits.clone(),
        url: endpoint.url,
        command: endpoint.command,
        variables: own_variables(&configured.environment, &configured.paths),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    });
    WebService { state, projects }
}

/// Returns the environment variables for directories that are not the default ones. A client that starts another
/// Pegboard rarely has the same environment, so they must be in its configuration.
pub(crate) fn own_variables(environment: &Environment, paths: &Paths) -> BTreeMap<String, String> {
    let usual = Paths::from_env(&Environment {
        vars: BTreeMap::new(),
        ..environment.clone()
    });
    let folders = [
        ("PEGBOARD_CONFIG_DIR", &paths.config_dir, &usual.config_dir),
        ("PEGBOARD_STATE_DIR", &paths.state_dir, &usual.state_dir),
    ];
    let other = folders.iter().filter(|(_, own, usual)| own != usual);
    other
        .map(|(name, own, _)| ((*name).to_owned(), own.display().to_string()))
        .collect()
}

impl WebService {
    /// Returns a URL that logs in one browser, once.
    pub(crate) fn login(&self) -> Secret {
        let path = self.state.logins().login_path();
        Secret::new(format!("{}{}", self.state.url(), path.reveal()))
    }
}
