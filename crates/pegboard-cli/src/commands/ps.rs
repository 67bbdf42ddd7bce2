//! `pegboard ps`: the running server instances of the background process, who shares them, and why.

use std::path::Path;
use std::time::Duration;

use pegboard_background::{InstanceStatus, ProcessKind, ProcessStatus};
use pegboard_config::{Environment, Paths};
use pegboard_model::{Reason, ToolError, ToolResult, UntrustedText};
use serde::Serialize;

use super::{CommandResult, Output};
use crate::background::{find, status};
use crate::format::{bytes, count, duration};
use crate::output::Paint;

/// The longest name of a project that is shown.
const PROJECT_CHARS: usize = 24;
/// The column that is shortened to the width of the terminal.
const REASON_COLUMN: usize = 7;

/// The document of `--json`; documented in docs/commands.md.
#[derive(Serialize)]
struct Document<'a> {
    pid: u32,
    version: &'a str,
    kind: ProcessKind,
    /// The number of connected clients.
    clients: usize,
    instances: Vec<Instance<'a>>,
}

#[derive(Serialize)]
struct Instance<'a> {
    id: Option<u64>,
    server: &'a str,
    pid: Option<u32>,
    scope: &'a str,
    reason: &'a str,
    /// The number of connected clients that share it.
    clients: usize,
    /// The projects whose clients use it.
    projects: Vec<&'a str>,
    started: u64,
    idle_ms: Option<u64>,
    in_flight: usize,
    takes_turns: bool,
    memory_bytes: Option<u64>,
}

pub(crate) fn run(output: &Output) -> CommandResult {
    let state = Paths::from_env(&Environment::from_process()).state_dir;
    let status = status_of(&state)?;
    if output.json {
        return output.document(&document(&status));
    }
    print(&status, output)
}

/// Returns the report of the running process.
///
/// # Errors
/// Fails with `NOT_RUNNING` if none is running, and with `PROCESS_UNRESPONSIVE` if it does not reply.
fn status_of(state: &Path) -> ToolResult<ProcessStatus> {
    let record = find(state)?;
    match status(state) {
        Ok(Some(status)) => Ok(status),
        // It ended just now.
        Ok(None) => Err(find(state)
            .err()
            .unwrap_or_else(|| unresponsive(record.pid, "it is not reachable"))),
        Err(reason) => Err(unresponsive(record.pid, &reason)),
    }
}

fn unresponsive(pid: u32, reason: &str) -> ToolError {
    let message = format!("process {pid}: {reason}");
    ToolError::new(Reason::ProcessUnresponsive, message)
}

fn document(status: &ProcessStatus) -> Document<'_> {
    let instances = status.instances.iter().map(|instance| Instance {
        id: instance.id,
        server: &instance.server,
        pid: instance.pid,
        scope: &instance.scope,
        reason: &instance.reason,
        clients: status.clients_of(instance).count(),
        projects: projects(instance),
        started: instance.started,
        idle_ms: instance.idle_ms,
        in_flight: instance.in_flight,
        takes_turns: instance.takes_turns,
        memory_bytes: instance.memory_bytes,
    });
    Document {
        pid: status.pid,
        version: &status.build,
        kind: status.kind,
        clients: status.clients.len(),
        instances: instances.collect(),
    }
}

fn projects(instance: &InstanceStatus) -> Vec<&str> {
    let leases = instance.leases.iter();
    let mut projects: Vec<&str> = leases.map(|lease| lease.view.as_str()).collect();
    projects.sort_unstable();
    projects.dedup();
    projects
}

fn print(status: &ProcessStatus, output: &Output) -> CommandResult {
    let (clients, instances) = (status.clients.len(), status.instances.len());
    output.note(&format!(
        "process {}: {}, {}",
        status.pid,
        count(clients, "client"),
        count(instances, "server instance")
    ));
    if status.instances.is_empty() {
        return output.line("no server is running");
    }
    let header = [
        "SERVER", "PID", "SCOPE", "PROJECT", "CLIENTS", "IDLE", "MEMORY", "WHY",
    ];
    let rows = status.instances.iter().map(|instance| {
        let pid = instance.pid.map(|pid| pid.to_string());
        let memory = instance.memory_bytes.map(bytes);
        vec![
            UntrustedText::new(&instance.server).to_string(),
            pid.unwrap_or_else(|| "-".to_owned()),
            UntrustedText::new(&instance.scope).to_string(),
            shown_projects(instance),
            status.clients_of(instance).count().to_string(),
            idle(instance, output),
            memory.unwrap_or_else(|| "-".to_owned()),
            reason(instance),
        ]
    });
    output.line(&output.table(&header, rows.collect(), REASON_COLUMN))
}

/// The name of the only project, or the number of several.
fn shown_projects(instance: &InstanceStatus) -> String {
    let projects = projects(instance);
    let [only] = projects.as_slice() else {
        return count(projects.len(), "project");
    };
    let name = Path::new(only).file_name();
    let name = name.map_or_else(|| (*only).into(), |name| name.to_string_lossy());
    UntrustedText::new(&name)
        .shortened(PROJECT_CHARS)
        .to_string()
}

fn idle(instance: &InstanceStatus, output: &Output) -> String {
    match instance.idle_ms {
        Some(idle) => duration(Duration::from_millis(idle)),
        None => output.paint(Paint::Good, &format!("busy ({})", instance.in_flight)),
    }
}

fn reason(instance: &InstanceStatus) -> String {
    let reason = UntrustedText::new(&instance.reason).to_string();
    match instance.takes_turns {
        true => format!("{reason}; sessions take turns"),
        false => reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pegboard_background::{ClientStatus, LeaseStatus};

    fn lease(view: &str, session: Option<&str>) -> LeaseStatus {
        LeaseStatus {
            view: view.to_owned(),
            session: session.map(str::to_owned),
        }
    }

    fn client(view: &str, session: &str) -> ClientStatus {
        ClientStatus {
            session: Some(session.to_owned()),
            view: view.to_owned(),
            project: view.into(),
            ..ClientStatus::default()
        }
    }

    fn status() -> ProcessStatus {
        let instance = |server: &str, scope: &str, leases: Vec<LeaseStatus>| InstanceStatus {
            server: server.to_owned(),
            scope: scope.to_owned(),
            leases,
            idle_ms: Some(1_500),
            ..InstanceStatus::default()
        };
        ProcessStatus {
            clients: vec![
                client("/code/one", "a"),
                client("/code/one", "b"),
                client("/code/two", "c"),
            ],
            instances: vec![
                instance(
                    "memory",
                    "user",
                    vec![lease("/code/one", None), lease("/code/two", None)],
                ),
                instance("files", "project", vec![lease("/code/one", None)]),
                instance("browser", "session", vec![lease("/code/one", Some("b"))]),
                instance("gone", "project", Vec::new()),
            ],
            ..ProcessStatus::default()
        }
    }

    #[test]
    fn r_share_02_clients_and_projects_of_each_scope_are_counted() {
        let status = status();
        let counted: Vec<_> = document(&status)
            .instances
            .iter()
            .map(|instance| (instance.server, instance.clients, instance.projects.len()))
            .collect();
        assert_eq!(
            counted,
            [
                ("memory", 3, 2),
                ("files", 2, 1),
                ("browser", 1, 1),
                ("gone", 0, 0)
            ]
        );
        let shown: Vec<_> = status.instances.iter().map(shown_projects).collect();
        assert_eq!(shown, ["2 projects", "one", "one", "0 projects"]);
    }
}
