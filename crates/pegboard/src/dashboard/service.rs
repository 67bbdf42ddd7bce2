//! Assembles the HTTP API and the dashboard.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use pegboard_config::{Environment, Paths};
use pegboard_gateway::Gateway;
use pegboard_hub::SystemClock;
use pegboard_model::Secret;
use pegboard_web::{Logins, ProcessAdmin, WebParts, WebState};

use super::config_admin::FileConfigAdmin;
use super::config_reloader::ConfigReloader;
use super::logins::LoginFile;
use super::projects::Projects;
use crate::Pegboard;

/// The HTTP API and the dashboard of a serving Pegboard.
pub struct Dashboard {
    state: WebState,
    projects: Arc<Projects>,
}

/// Where and how Pegboard is served.
pub struct Endpoint {
    /// The base URL for clients, such as `http://127.0.0.1:7340`.
    pub url: String,
    /// The bound address.
    pub address: SocketAddr,
    /// The command with which a client starts this program.
    pub command: String,
    /// Whether clients must send a token.
    pub needs_token: bool,
    /// The process with the clients of all projects; `None` if this Pegboard serves its own project only.
    pub process: Option<Arc<dyn ProcessAdmin>>,
}

impl Dashboard {
    /// Assembles the API and the dashboard.
    pub fn new(
        pegboard: &Pegboard,
        gateway: &Gateway,
        reloader: &Arc<ConfigReloader>,
        endpoint: Endpoint,
    ) -> Self {
        let configuration = pegboard.configuration();
        let projects = Arc::new(Projects::new(reloader.clone()));
        let config_admin = FileConfigAdmin::new(
            reloader.clone(),
            projects.clone(),
            configuration.logs(),
            endpoint.needs_token,
            &endpoint.command,
            pegboard.logins().clone(),
        );
        let port = endpoint.address.port();
        let stored = Arc::new(LoginFile::new(configuration.state.path().to_owned(), port));
        let state = WebState::new(WebParts {
            gateway: gateway.clone(),
            config_admin: Arc::new(config_admin),
            process: endpoint.process,
            logins: Arc::new(Logins::stored(port, Arc::new(SystemClock), stored)),
            clock: Arc::new(SystemClock),
            limits: configuration.limits.clone(),
            url: endpoint.url,
            command: endpoint.command,
            variables: own_variables(&configuration.environment, &configuration.paths),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        });
        Self { state, projects }
    }

    /// Returns the routes of the API and the dashboard. Serve them only in a [`Site`](pegboard_gateway::http::Site)
    /// whose access uses [`Dashboard::logins`].
    pub fn routes(&self) -> pegboard_gateway::http::Router {
        pegboard_web::routes(self.state.clone())
    }

    /// Returns the browser logins.
    pub fn logins(&self) -> &Arc<Logins> {
        self.state.logins()
    }

    /// Returns a URL that logs in one browser, once.
    pub fn login_url(&self) -> Secret {
        let path = self.state.logins().login_path();
        Secret::new(format!("{}{}", self.state.url(), path.reveal()))
    }

    /// Keeps the catalogs of recent projects up to date, forever.
    pub async fn keep_projects_updated(&self) {
        self.projects.keep_updated().await;
    }
}

/// Returns the environment variables for directories that are not the default ones. A client that starts another
/// Pegboard rarely has the same environment, so they must be in its configuration.
pub fn own_variables(environment: &Environment, paths: &Paths) -> BTreeMap<String, String> {
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
