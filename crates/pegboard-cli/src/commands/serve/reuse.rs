//! `pegboard serve --reuse`: finds a running Pegboard that serves the same configuration.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use hyper::Method;
use pegboard::Configuration;
use pegboard::dashboard::find_running_instance;
use pegboard_gateway::http::stored_token;
use pegboard_model::{Secret, ServerName};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::commands::running::{connectable, request};

/// The time allowed for each response of the running Pegboard.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Deserialize)]
struct Projects {
    projects: Vec<Project>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Project {
    id: String,
    is_running: bool,
}

#[derive(Deserialize)]
struct Served {
    files: Vec<String>,
    servers: Vec<Server>,
}

#[derive(Deserialize)]
struct Server {
    name: String,
}

/// Returns the address of the running Pegboard with this state directory, if it accepts the stored token and serves the
/// same config files and servers.
pub(super) async fn find(configuration: &Configuration) -> Option<SocketAddr> {
    let state: &Path = configuration.state.path();
    let address = find_running_instance(state).ok()?;
    // Without a stored token only a Pegboard that needs none accepts the request.
    let token = stored_token(state).ok()?;
    let token = token.unwrap_or_else(|| Secret::new("none"));
    let projects: Projects = get(address, "/api/v1/projects", &token).await?;
    let served = projects.projects.into_iter().find(|one| one.is_running)?;
    let path = format!("/api/v1/projects/{}/configuration?limit=1", served.id);
    let served: Served = get(address, &path, &token).await?;
    is_same(configuration, &served).then(|| connectable(address))
}

async fn get<T: DeserializeOwned>(address: SocketAddr, path: &str, token: &Secret) -> Option<T> {
    let response = request(address, Method::GET, path, token, RESPONSE_TIMEOUT).await;
    response.ok()
}

/// Compares files and names: environment variables can define servers too.
fn is_same(configuration: &Configuration, served: &Served) -> bool {
    let loaded = &configuration.loaded;
    let files = loaded.files.iter().filter(|file| file.exists);
    let files: BTreeSet<String> = files.map(|file| file.path.display().to_string()).collect();
    let servers: BTreeSet<&str> = loaded.servers.keys().map(ServerName::as_str).collect();
    files == served.files.iter().cloned().collect()
        && servers == served.servers.iter().map(|one| one.name.as_str()).collect()
}
