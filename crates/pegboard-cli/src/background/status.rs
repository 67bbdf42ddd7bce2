//! What the process reports about its clients and instances.

use pegboard_background::{ClientStatus, InstanceStatus, LeaseStatus, ProcessStatus};
use pegboard_hub::{InstanceInfo, SessionInfo};

use super::build;
use super::clients::{Client, ClientKind};
use super::process::Process;
use super::views::View;

/// The name of commands in the list of clients and in the activity log.
pub(super) const COMMAND_NAME: &str = "cli";

impl Process {
    /// Returns all connected clients, over stdio and HTTP, and all running instances. Reads the memory of servers from
    /// the system.
    pub(crate) fn status(&self) -> ProcessStatus {
        let bridges = self.clients.all();
        let mut clients: Vec<ClientStatus> = Vec::new();
        for view in self.views.all() {
            let sessions = view.pegboard.hub().sessions();
            let of_view =
                |client: &&std::sync::Arc<Client>| std::sync::Arc::ptr_eq(&client.view, &view);
            for client in bridges.iter().filter(of_view) {
                let id = client.session.get();
                let session = sessions.iter().find(|session| Some(&session.id) == id);
                clients.push(of_socket(client, session));
            }
            let is_other = |session: &&SessionInfo| {
                let mut sockets = bridges.iter().filter_map(|client| client.session.get());
                !sockets.any(|id| *id == session.id)
            };
            let others = sessions.iter().filter(is_other);
            clients.extend(others.map(|session| of_session(session, &view)));
        }
        clients.sort_by_key(|client| client.since);
        ProcessStatus {
            pid: std::process::id(),
            build: build(),
            started: self.started.0,
            kind: self.kind,
            url: self.url.get().cloned(),
            phase: self.phase(),
            is_replaced: self.is_replaced(),
            clients,
            instances: self.pool().instances().into_iter().map(instance).collect(),
        }
    }
}

/// A client of the socket, with its session if it has begun one.
fn of_socket(client: &Client, session: Option<&SessionInfo>) -> ClientStatus {
    let is_command = client.kind == ClientKind::Command;
    let own = ClientStatus {
        session: client.session.get().map(|id| id.0.clone()),
        transport: if is_command { "command" } else { "stdio" }.to_owned(),
        name: is_command.then(|| COMMAND_NAME.to_owned()),
        profile: client.profile.clone(),
        since: client.since.0,
        ..of_view(&client.view)
    };
    let with_session = match session {
        Some(session) => ClientStatus {
            since: own.since,
            ..of_session(session, &client.view)
        },
        None => own,
    };
    ClientStatus {
        pid: Some(client.pid),
        ..with_session
    }
}

/// A client of which only the session is known: one that is connected over HTTP.
fn of_session(session: &SessionInfo, view: &View) -> ClientStatus {
    ClientStatus {
        session: Some(session.id.0.clone()),
        transport: session.transport.as_str().to_owned(),
        name: session.client.as_deref().map(str::to_owned),
        profile: session.profile.clone(),
        since: session.since.0,
        last_seen: Some(session.last_seen.0),
        requests: session.requests,
        calls: session.calls,
        ..of_view(view)
    }
}

fn of_view(view: &View) -> ClientStatus {
    let project = view.pegboard.configuration().project();
    ClientStatus {
        view: project.display().to_string(),
        project: project.to_owned(),
        ..ClientStatus::default()
    }
}

fn instance(info: InstanceInfo) -> InstanceStatus {
    let leases = info.leases.into_iter().map(|lease| LeaseStatus {
        view: lease.view,
        session: lease.session,
    });
    InstanceStatus {
        id: Some(info.id),
        server: info.server.to_string(),
        pid: info.pid,
        scope: info.scope.as_str().to_owned(),
        reason: info.reason,
        leases: leases.collect(),
        started: info.started.0,
        idle_ms: info.idle_ms,
        in_flight: info.in_flight,
        takes_turns: info.takes_turns,
        memory_bytes: info.memory_bytes,
    }
}
