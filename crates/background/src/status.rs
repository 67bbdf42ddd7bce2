//! What the process reports about itself: its clients and the server instances that they share.
//!
//! All commands, the API and the dashboard show this report. Members may be added; each has a default, so that a report
//! of an older process can be read.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The report of the process that all clients of a user share.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessStatus {
    /// The process.
    pub pid: u32,
    /// The version of its program.
    pub build: String,
    /// When it started, in milliseconds since 1970.
    pub started: u64,
    /// How it was started.
    pub kind: ProcessKind,
    /// The address of its HTTP endpoint, if it has one, for example `http://127.0.0.1:7340/`.
    pub url: Option<String>,
    /// What it does with its clients.
    pub phase: ProcessPhase,
    /// Whether the file of its program was replaced by another version.
    pub is_replaced: bool,
    /// The connected clients, oldest first.
    pub clients: Vec<ClientStatus>,
    /// The running server instances, sorted by server and start.
    pub instances: Vec<InstanceStatus>,
}

/// How a process was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessKind {
    /// On demand, by a client. It ends when it is idle.
    #[default]
    Background,
    /// By `pegboard up` or `pegboard serve`. It runs until it is stopped.
    Foreground,
}

/// What a process does with its clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessPhase {
    /// It serves them.
    #[default]
    Serving,
    /// They move to another process when they have no open request.
    Retiring,
    /// They are disconnected.
    Stopping,
}

/// A connected client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientStatus {
    /// The id of its session in the activity log and in [`LeaseStatus::session`]; `None` before its first request.
    pub session: Option<String>,
    /// `stdio`, `http-legacy`, `http-modern` or `command`.
    pub transport: String,
    /// The client's name and version. Untrusted text.
    pub name: Option<String>,
    /// The process of its bridge or command; `None` for HTTP clients.
    pub pid: Option<u32>,
    /// The name of its view, as in [`LeaseStatus::view`].
    pub view: String,
    /// Its project, or the folder that it was started in if that is not in a project.
    pub project: PathBuf,
    /// Its profile; empty for the default one.
    pub profile: String,
    /// When it connected, in milliseconds since 1970.
    pub since: u64,
    /// When it made its last request, in milliseconds since 1970.
    pub last_seen: Option<u64>,
    /// The number of its requests.
    pub requests: u64,
    /// The number of its tool calls.
    pub calls: u64,
}

/// A running instance of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InstanceStatus {
    /// The id by which it can be stopped; `None` if it cannot.
    pub id: Option<u64>,
    /// The server's name.
    pub server: String,
    /// Its process; `None` for a remote server.
    pub pid: Option<u32>,
    /// Which clients share it: `user`, `project` or `session`.
    pub scope: String,
    /// Why it has this scope.
    pub reason: String,
    /// Who uses it.
    pub leases: Vec<LeaseStatus>,
    /// When it was started, in milliseconds since 1970.
    pub started: u64,
    /// For how many milliseconds no request has been running; `None` while one is.
    pub idle_ms: Option<u64>,
    /// Requests that are running.
    pub in_flight: usize,
    /// Whether its sessions take turns, because it requested input from a client.
    pub takes_turns: bool,
    /// Resident memory of its processes in bytes, if the system reports it.
    pub memory_bytes: Option<u64>,
}

/// The use of an instance by a view.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LeaseStatus {
    /// The name of the view: its project or folder.
    pub view: String,
    /// The session, if the instance is for one.
    pub session: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_share_04_reports_of_older_and_newer_processes_are_read() {
        let text = r#"{"pid":7,"build":"0.0.1","clients":[{"pid":8,"folder":"/x"}],"later":1}"#;
        let status: ProcessStatus = serde_json::from_str(text).unwrap();
        assert_eq!((status.pid, status.kind), (7, ProcessKind::Background));
        assert_eq!(status.clients.first().unwrap().pid, Some(8));
    }
}
