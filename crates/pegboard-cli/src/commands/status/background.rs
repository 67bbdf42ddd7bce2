//! The background process in the status.

use std::path::{Path, PathBuf};

use pegboard_background::{ClientStatus, ProcessKind, ProcessPhase, ProcessStatus, find_process};
use pegboard_config::Environment;
use pegboard_hub::SystemClock;
use pegboard_model::{Clock, Timestamp, UntrustedText};
use serde::Serialize;

use crate::background::{reason_to_stay_alone, status};
use crate::format::{count, duration};
use crate::output::{Output, Paint};

/// The number of clients that are listed.
const MAX_CLIENTS: usize = 20;
/// The longest name of a client that is shown.
const NAME_CHARS: usize = 60;

#[derive(Serialize)]
pub(super) struct BackgroundStatus {
    sharing: Sharing,
    /// The running process; `null` if none is running.
    process: Option<Process>,
}

/// Whether `pegboard stdio` shares one process with other clients.
#[derive(Serialize)]
struct Sharing {
    on: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
}

#[derive(Serialize)]
struct Process {
    pid: u32,
    version: String,
    /// False if it did not reply.
    reachable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// What it replied.
    #[serde(flatten)]
    report: Option<Report>,
}

#[derive(Serialize)]
struct Report {
    kind: ProcessKind,
    phase: ProcessPhase,
    /// Milliseconds since 1970.
    since: u64,
    /// Whether another version of the program was installed since.
    replaced: bool,
    /// The number of running server instances.
    instances: usize,
    clients: Vec<Client>,
}

#[derive(Serialize)]
struct Client {
    /// The client's own name.
    name: Option<String>,
    transport: String,
    pid: Option<u32>,
    project: PathBuf,
    profile: Option<String>,
    /// Milliseconds since 1970.
    since: u64,
    calls: u64,
}

impl BackgroundStatus {
    /// Asks the running process of a state folder. Starts nothing.
    pub(super) fn of(state: &Path, environment: &Environment) -> Self {
        let reason = reason_to_stay_alone(environment);
        let sharing = Sharing {
            on: reason.is_none(),
            reason,
        };
        let process = find_process(state).map(|record| {
            let asked = match status(state) {
                Ok(Some(status)) => Ok(status),
                Ok(None) => Err("it is ending".to_owned()),
                Err(error) => Err(error),
            };
            Process {
                pid: record.pid,
                version: record.build,
                reachable: asked.is_ok(),
                error: asked.as_ref().err().cloned(),
                report: asked.ok().map(Report::from),
            }
        });
        Self { sharing, process }
    }

    /// Whether a process is running and replies.
    pub(super) fn is_reachable(&self) -> bool {
        self.process.as_ref().is_some_and(|found| found.reachable)
    }

    /// Returns the lines of the status: a name and a text each.
    pub(super) fn lines(&self, output: &Output) -> Vec<(&'static str, String)> {
        let mut lines = vec![("Sharing", self.sharing(output))];
        let Some(process) = &self.process else {
            if self.sharing.on {
                let text = "no background process; the next client starts it";
                lines.push(("", output.paint(Paint::Dim, text)));
            }
            return lines;
        };
        lines.push(("Process", process.line(output)));
        let Some(report) = &process.report else {
            return lines;
        };
        if report.replaced {
            let text = "another version was installed; move to it with `pegboard restart`";
            lines.push(("", output.paint(Paint::Warn, text)));
        }
        let now = SystemClock.now();
        let shown = report.clients.iter().take(MAX_CLIENTS);
        lines.extend(shown.map(|client| ("Client", client.line(now))));
        let more = report.clients.len().saturating_sub(MAX_CLIENTS);
        if more > 0 {
            lines.push(("", format!("and {more} more")));
        }
        lines
    }

    fn sharing(&self, output: &Output) -> String {
        match self.sharing.reason {
            None => output.paint(Paint::Good, "on"),
            Some(reason) => format!("{} ({reason})", output.paint(Paint::Dim, "off")),
        }
    }
}

impl Process {
    fn line(&self, output: &Output) -> String {
        let version = UntrustedText::new(&self.version).shortened(40);
        let Some(report) = &self.report else {
            let error = self.error.as_deref().unwrap_or_default();
            let text = output.paint(Paint::Bad, "does not respond");
            let error = UntrustedText::new(error);
            return format!(
                "{text} (process {}, version {version}): {error}; end it with `pegboard stop`",
                self.pid
            );
        };
        let word = match report.phase {
            ProcessPhase::Serving => output.paint(Paint::Good, "running"),
            ProcessPhase::Retiring => output.paint(Paint::Warn, "handing over"),
            ProcessPhase::Stopping => output.paint(Paint::Warn, "stopping"),
        };
        let kind = match report.kind {
            ProcessKind::Background => "in the background",
            ProcessKind::Foreground => "in the foreground",
        };
        let age = duration(SystemClock.now().since(Timestamp(report.since)));
        format!(
            "{word} {kind} (process {}, for {age}, version {version}) with {} and {}",
            self.pid,
            count(report.clients.len(), "client"),
            count(report.instances, "server instance"),
        )
    }
}

impl Client {
    fn line(&self, now: Timestamp) -> String {
        let name = match &self.name {
            Some(name) => UntrustedText::new(name).shortened(NAME_CHARS).to_string(),
            None => format!("{} client", UntrustedText::new(&self.transport)),
        };
        let project = UntrustedText::new(&self.project.display().to_string()).to_string();
        let profile = self.profile.as_deref().map(|profile| {
            let profile = UntrustedText::new(profile).shortened(NAME_CHARS);
            format!("profile {profile}, ")
        });
        let age = duration(now.since(Timestamp(self.since)));
        format!(
            "{name} in {project} ({}for {age})",
            profile.unwrap_or_default()
        )
    }
}

impl From<ProcessStatus> for Report {
    fn from(status: ProcessStatus) -> Self {
        Self {
            kind: status.kind,
            phase: status.phase,
            since: status.started,
            replaced: status.is_replaced,
            instances: status.instances.len(),
            clients: status.clients.into_iter().map(Client::from).collect(),
        }
    }
}

impl From<ClientStatus> for Client {
    fn from(client: ClientStatus) -> Self {
        Self {
            name: client.name,
            transport: client.transport,
            pid: client.pid,
            project: client.project,
            profile: Some(client.profile).filter(|profile| !profile.is_empty()),
            since: client.since,
            calls: client.calls,
        }
    }
}
