//! What the pool reports about a running instance.

use pegboard_model::{ServerName, ShareScope, Timestamp};
use serde::Serialize;

/// A running instance of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InstanceInfo {
    /// The id, unique in the pool, by which it can be stopped.
    pub id: u64,
    /// The server's name.
    pub server: ServerName,
    /// The pid of a stdio server.
    pub pid: Option<u32>,
    /// Which clients share it.
    pub scope: ShareScope,
    /// Why it has this scope.
    pub reason: String,
    /// Who uses it.
    pub leases: Vec<LeaseInfo>,
    /// When it was started.
    pub started: Timestamp,
    /// For how many milliseconds no request has been running; `None` while one is.
    pub idle_ms: Option<u64>,
    /// Requests that are running.
    pub in_flight: usize,
    /// Whether its sessions take turns, because it sent a request to a client without naming one.
    pub takes_turns: bool,
    /// Resident memory of its processes in bytes, if the system reports it.
    pub memory_bytes: Option<u64>,
}

/// A view that uses an instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeaseInfo {
    /// The name of the view.
    pub view: String,
    /// The session, if the instance is for one.
    pub session: Option<String>,
}
