//! The process: its clients and server instances.

use axum::extract::State;
use pegboard_background::{
    ClientStatus, InstanceStatus, LeaseStatus, ProcessKind, ProcessPhase, ProcessStatus,
};
use pegboard_model::{Activity, ActivityKind, Reason, ServerName, UntrustedText};
use serde::Serialize;
use utoipa::ToSchema;

use crate::error::{ApiError, ApiResult, ErrorBody};
use crate::extract::PathParam;
use crate::response::NoStore;
use crate::role::{Admin, Authorized};
use crate::state::WebState;

/// The process that serves this API, with everything that it serves.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ProcessView {
    /// Its process id.
    pid: u32,
    /// The version of its program.
    version: String,
    /// When it started, in milliseconds since 1970; absent if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<u64>,
    /// `background` if clients started it on demand, `foreground` if a user did.
    kind: &'static str,
    /// `serving`, `retiring` while its clients move to another process, or `stopping`.
    phase: &'static str,
    /// Whether the file of its program was replaced by another version.
    is_replaced: bool,
    /// The connected clients of all projects, oldest first.
    clients: Vec<ProcessClient>,
    /// The running server instances, sorted by server and start.
    instances: Vec<Instance>,
}

/// A connected client.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ProcessClient {
    /// The id of its session, as in the activity log; absent before its first request.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// How it is connected: `stdio`, `http-legacy`, `http-modern`, `embedder` or `command`.
    transport: String,
    /// The client's own name; untrusted text.
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<String>,
    /// The process of its bridge or command; absent for HTTP clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
    /// Its project, or the directory that it was started in; absent if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<String>,
    /// The profile; absent for the unnamed one.
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<String>,
    /// When it connected, in milliseconds since 1970.
    since: u64,
    /// When it last sent a request.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_seen: Option<u64>,
    /// The number of tool calls.
    calls: u64,
}

/// A running instance of a server.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Instance {
    /// The id by which it can be stopped; absent if it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    /// The server's name.
    server: String,
    /// Its process; absent for a remote server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
    /// Which clients share it: `user`, `project` or `session`.
    scope: String,
    /// Why it has this scope.
    reason: String,
    /// The number of connected clients that share it.
    clients: usize,
    /// The projects that use it.
    users: Vec<InstanceUser>,
    /// When it was started, in milliseconds since 1970.
    since: u64,
    /// For how many milliseconds no request has been running; absent while one is, or if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    idle_ms: Option<u64>,
    /// The number of requests that are running.
    running_requests: usize,
    /// Whether its sessions take turns, because it requested input from a client.
    takes_turns: bool,
    /// Resident memory of its processes in bytes, if the system reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_bytes: Option<u64>,
}

/// The use of an instance by a project.
#[derive(Serialize, ToSchema)]
pub(super) struct InstanceUser {
    /// The project, or the directory that its clients were started in.
    project: String,
    /// The session, if the instance is for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
}

impl From<&ProcessStatus> for ProcessView {
    fn from(status: &ProcessStatus) -> Self {
        Self {
            pid: status.pid,
            version: status.build.clone(),
            since: Some(status.started).filter(|at| *at > 0),
            kind: match status.kind {
                ProcessKind::Background => "background",
                ProcessKind::Foreground => "foreground",
            },
            phase: match status.phase {
                ProcessPhase::Serving => "serving",
                ProcessPhase::Retiring => "retiring",
                ProcessPhase::Stopping => "stopping",
            },
            is_replaced: status.is_replaced,
            clients: status.clients.iter().map(ProcessClient::from).collect(),
            instances: status
                .instances
                .iter()
                .map(|instance| Instance::of(instance, status))
                .collect(),
        }
    }
}

impl From<&ClientStatus> for ProcessClient {
    fn from(client: &ClientStatus) -> Self {
        let named = |text: String| Some(text).filter(|text| !text.is_empty());
        Self {
            session: client.session.clone(),
            transport: client.transport.clone(),
            client: client.name.clone(),
            pid: client.pid,
            project: named(client.project.display().to_string()),
            profile: named(client.profile.clone()),
            since: client.since,
            last_seen: client.last_seen,
            calls: client.calls,
        }
    }
}

impl Instance {
    fn of(instance: &InstanceStatus, status: &ProcessStatus) -> Self {
        let user = |lease: &LeaseStatus| InstanceUser {
            project: lease.view.clone(),
            session: lease.session.clone(),
        };
        Self {
            id: instance.id,
            server: instance.server.clone(),
            pid: instance.pid,
            scope: instance.scope.clone(),
            reason: instance.reason.clone(),
            clients: status.clients_of(instance).count(),
            users: instance.leases.iter().map(user).collect(),
            since: instance.started,
            idle_ms: instance.idle_ms,
            running_requests: instance.in_flight,
            takes_turns: instance.takes_turns,
            memory_bytes: instance.memory_bytes,
        }
    }
}

/// Returns the clients and server instances of the process, of all projects. Nothing is started.
#[utoipa::path(
    get,
    operation_id = "getProcess",
    path = "/process",
    tag = "process",
    responses(
        (status = 200, description = "The process", body = ProcessView),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
    )
)]
pub(super) async fn show(_: Authorized, State(state): State<WebState>) -> NoStore<ProcessView> {
    NoStore(ProcessView::from(&state.process_status().await))
}

/// The instance that was stopped.
#[derive(Serialize, ToSchema)]
pub(super) struct StoppedInstance {
    /// The server's name.
    server: String,
}

/// Stops a running instance of a server. Its open calls fail; the next call starts another one.
#[utoipa::path(
    post,
    operation_id = "stopInstance",
    path = "/instances/{id}/stop",
    tag = "process",
    security(("admin" = [])),
    params(("id" = String, Path, description = "The instance")),
    responses(
        (status = 200, description = "It has ended", body = StoppedInstance),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
        (status = 403, description = "The admin token is required", body = ErrorBody),
        (status = 404, description = "No running instance has this id", body = ErrorBody),
    )
)]
pub(super) async fn stop_instance(
    admin: Admin,
    State(state): State<WebState>,
    PathParam(id): PathParam,
) -> ApiResult<NoStore<StoppedInstance>> {
    let stopped = match (id.parse(), state.process()) {
        (Ok(number), Some(process)) => process.stop_instance(number).await,
        _ => None,
    };
    let Some(server) = stopped else {
        let id = UntrustedText::new(&id).shortened(60);
        let message = format!("no running instance has the id `{id}`");
        return Err(ApiError::new(Reason::InstanceUnknown, message));
    };
    state.hub().record_activity(Activity {
        session: Some(admin.actor().to_owned()),
        client: Some(admin.actor().to_owned()),
        server: ServerName::parse(&server).ok(),
        ..Activity::new(state.clock().now(), ActivityKind::Config, "stopped")
    });
    Ok(NoStore(StoppedInstance { server }))
}
