//! The interface to the process that serves the API: its clients and server instances, of all projects.

use async_trait::async_trait;
use pegboard_background::{ClientStatus, InstanceStatus, LeaseStatus, ProcessKind, ProcessStatus};

use crate::state::WebState;

/// The process that serves the API, if it also serves clients of other projects.
#[async_trait]
pub trait ProcessAdmin: Send + Sync {
    /// The clients and instances of the process. Reads the memory of servers from the system.
    fn status(&self) -> ProcessStatus;

    /// Ends an instance of a server; its open calls fail. Returns the server's name, or `None` if no running instance
    /// has this id.
    async fn stop_instance(&self, id: u64) -> Option<String>;
}

impl WebState {
    /// The clients and instances of the process; those of one project if it serves no other.
    pub(crate) async fn process_status(&self) -> ProcessStatus {
        let Some(process) = self.process().cloned() else {
            return own_status(self);
        };
        // Files of the system are read for each instance.
        let status = tokio::task::spawn_blocking(move || process.status());
        status.await.unwrap_or_default()
    }
}

/// What is known without a [`ProcessAdmin`]: the sessions and servers of one project. Its instances have no id.
fn own_status(state: &WebState) -> ProcessStatus {
    let mut projects = state.config_admin().projects().into_iter();
    let running = projects.find(|project| project.is_running);
    let project = running.and_then(|project| project.folder);
    let project = project.unwrap_or_default();
    let view = project.display().to_string();
    let sessions = state.hub().sessions();
    let client = |session: &pegboard_hub::SessionInfo| ClientStatus {
        session: Some(session.id.0.clone()),
        transport: session.transport.as_str().to_owned(),
        name: session.client.as_deref().map(str::to_owned),
        view: view.clone(),
        project: project.clone(),
        profile: session.profile.clone(),
        since: session.since.0,
        last_seen: Some(session.last_seen.0),
        calls: session.calls,
        ..ClientStatus::default()
    };
    let catalog = state.hub().catalog();
    let instance = |entry: &std::sync::Arc<pegboard_catalog::ServerEntry>| {
        let connection = state.hub().health_of(entry).connection?;
        let sharing = entry.sharing();
        Some(InstanceStatus {
            server: entry.name().to_string(),
            pid: connection.pid,
            scope: sharing.scope.as_str().to_owned(),
            reason: sharing.reason.to_string(),
            leases: vec![LeaseStatus {
                view: view.clone(),
                session: None,
            }],
            started: connection.started.0,
            in_flight: connection.in_flight,
            ..InstanceStatus::default()
        })
    };
    ProcessStatus {
        pid: std::process::id(),
        build: state.version().to_owned(),
        kind: ProcessKind::Foreground,
        url: Some(format!("{}/", state.url())),
        clients: sessions.iter().map(client).collect(),
        instances: catalog.servers().filter_map(instance).collect(),
        ..ProcessStatus::default()
    }
}
