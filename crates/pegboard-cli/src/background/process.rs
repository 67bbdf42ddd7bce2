//! The background process: accepts clients, and ends when it is not needed any more.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pegboard_background::ControlMessage;
use pegboard_config::{Environment, Paths};
use pegboard_model::{Reason, ToolError};
use serde_json::{Value, json};
use tokio::net::UnixListener;
use tokio::sync::watch;

use super::clients::Clients;
use super::listener::Announcement;
use super::replaced::ProgramFile;
use super::serve_client::serve;
use super::start::READY;
use super::views::Views;
use super::{build, reason_to_stay_alone};
use crate::commands::{CommandResult, interrupted, serving};
use crate::output::Output;

/// How long the process stays without a client. Overridden by `PEGBOARD_BACKGROUND_IDLE`, in seconds.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
const IDLE_VARIABLE: &str = "PEGBOARD_BACKGROUND_IDLE";
/// How often the process looks for unused views and a new version of its program.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);
/// How long clients may take to end when the process stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(6);
/// Size at which the log is started again.
const LOG_BYTES: u64 = 1024 * 1024;

/// The state of the background process.
pub(super) struct Process {
    clients: Clients,
    views: Views,
    program: ProgramFile,
    announcement: Announcement,
    started: Instant,
    phase: watch::Sender<Phase>,
}

/// What the process does with its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
enum Phase {
    Serving,
    /// Clients move to the successor when they have no open request.
    Retiring,
    /// Clients are disconnected.
    Stopping,
}

/// Runs the background process.
pub(crate) fn run(output: &Output) -> CommandResult {
    let environment = Environment::from_process();
    if let Some(reason) = reason_to_stay_alone(&environment) {
        return refuse(reason);
    }
    let state = Paths::from_env(&environment).state_dir;
    serving(async {
        let taken = match Announcement::take(&state, &environment) {
            Ok(taken) => taken,
            Err(error) => return refuse(&format!("cannot listen for clients: {error}")),
        };
        let Some((announcement, listener)) = taken else {
            // Another process was faster; its starter finds it.
            return report(READY);
        };
        detach(&state);
        report(READY)?;
        let _ = redirect_output(&state);
        let process = Arc::new(Process {
            clients: Clients::default(),
            views: Views::new(state.clone(), output.clone()),
            program: ProgramFile::own(),
            announcement,
            started: Instant::now(),
            phase: watch::Sender::new(Phase::Serving),
        });
        process
            .serve_all(listener, idle_timeout(&environment))
            .await;
        Ok(())
    })
}

impl Process {
    pub(super) fn clients(&self) -> &Clients {
        &self.clients
    }

    pub(super) fn views(&self) -> &Views {
        &self.views
    }

    pub(super) fn is_replaced(&self) -> bool {
        self.program.is_replaced()
    }

    /// Ends the process.
    pub(super) fn stop(&self) {
        self.announcement.release();
        self.phase.send_replace(Phase::Stopping);
    }

    /// Lets another process take over. Each client moves to it when it has no open request.
    pub(super) fn retire(&self) {
        self.announcement.release();
        let begun = self.phase.send_if_modified(|phase| {
            let begins = *phase == Phase::Serving;
            *phase = if begins { Phase::Retiring } else { *phase };
            begins
        });
        if begun {
            for client in self.clients.all() {
                client.send(&ControlMessage::Move);
            }
        }
    }

    /// Completes when clients are to be disconnected.
    pub(super) async fn stopped(&self) {
        self.reached(Phase::Stopping).await;
    }

    async fn reached(&self, phase: Phase) {
        let mut phases = self.phase.subscribe();
        // `self` holds the sender, so the channel cannot close.
        let _ = phases.wait_for(|now| *now >= phase).await;
    }

    /// Returns the clients and servers of the process.
    pub(super) async fn status(&self) -> Value {
        let clients = self.clients.all();
        let clients: Vec<Value> = clients
            .iter()
            .map(|client| {
                json!({
                    "pid": client.pid,
                    "folder": client.folder,
                    "profile": client.profile,
                    "connected_seconds": client.since.elapsed().as_secs(),
                })
            })
            .collect();
        let mut servers = Vec::new();
        for view in self.views.all() {
            let project = view.pegboard.configuration().loaded.project.clone();
            for health in view.pegboard.hub().health() {
                servers.push(json!({ "project": project, "server": health }));
            }
        }
        json!({
            "pid": std::process::id(),
            "build": build(),
            "running_seconds": self.started.elapsed().as_secs(),
            "clients": clients,
            "servers": servers,
        })
    }

    /// Serves clients until the process is idle, stopped, or has a successor and no clients.
    async fn serve_all(self: &Arc<Self>, listener: UnixListener, idle: Duration) {
        tokio::select! {
            () = self.accept(listener) => {}
            () = self.idle(idle) => {}
            () = self.check() => {}
            () = interrupted() => self.stop(),
            () = self.stopped() => {}
        }
        self.announcement.release();
        self.phase.send_replace(Phase::Stopping);
        let mut count = self.clients.watch_count();
        let _ = tokio::time::timeout(STOP_TIMEOUT, count.wait_for(|count| *count == 0)).await;
        self.views.close_all().await;
    }

    /// Accepts clients until the process retires, then waits for those that it has.
    async fn accept(self: &Arc<Self>, listener: UnixListener) {
        let accepting = async {
            loop {
                // A failure, for example too many open files, concerns one client, which serves itself.
                let Ok((stream, _)) = listener.accept().await else {
                    tokio::task::yield_now().await;
                    continue;
                };
                if let Ok(stream) = stream.into_std() {
                    let process = self.clone();
                    tokio::spawn(async move { serve(&process, stream).await });
                }
            }
        };
        tokio::select! {
            () = accepting => {}
            () = self.reached(Phase::Retiring) => {}
        }
        drop(listener);
        let mut count = self.clients.watch_count();
        let _ = count.wait_for(|count| *count == 0).await;
    }

    /// Completes when there was no client for a while.
    async fn idle(&self, timeout: Duration) {
        let mut count = self.clients.watch_count();
        loop {
            let _ = count.wait_for(|count| *count == 0).await;
            tokio::select! {
                () = tokio::time::sleep(timeout) => return,
                _ = count.wait_for(|count| *count > 0) => {}
            }
        }
    }

    /// Closes unused views, and retires when the program was replaced.
    async fn check(&self) {
        loop {
            tokio::time::sleep(CHECK_INTERVAL).await;
            self.views.close_unused().await;
            if self.is_replaced() {
                self.retire();
            }
        }
    }
}

fn idle_timeout(environment: &Environment) -> Duration {
    let seconds = environment.vars.get(IDLE_VARIABLE);
    let seconds = seconds.and_then(|text| text.parse().ok());
    seconds.map_or(IDLE_TIMEOUT, Duration::from_secs)
}

/// Leaves the session and the folder of the client that happened to start the process.
fn detach(state: &Path) {
    // A process that leads a group already has no terminal to leave.
    let _ = rustix::process::setsid();
    if std::env::set_current_dir("/").is_err() {
        let _ = std::env::set_current_dir(state);
    }
}

/// Reports to the client that started the process.
fn report(line: &str) -> CommandResult {
    let mut output = std::io::stdout().lock();
    let written = writeln!(output, "{line}").and_then(|()| output.flush());
    written.map_err(|_| ToolError::new(Reason::Internal, "the client is gone").into())
}

fn refuse(reason: &str) -> CommandResult {
    report(reason)?;
    Err(ToolError::new(Reason::Internal, reason).into())
}

/// Writes standard output and standard error to a log file from now on. The client that started the process then sees
/// the end of the pipe.
fn redirect_output(state: &Path) -> std::io::Result<()> {
    let folder = state.join("logs");
    std::fs::create_dir_all(&folder)?;
    let path = folder.join("process.log");
    let is_long = path
        .metadata()
        .is_ok_and(|metadata| metadata.len() > LOG_BYTES);
    let file = OpenOptions::new()
        .create(true)
        .append(!is_long)
        .write(true)
        .truncate(is_long)
        .mode(0o600)
        .open(path)?;
    rustix::stdio::dup2_stdout(file.as_fd())?;
    rustix::stdio::dup2_stderr(file.as_fd())?;
    Ok(())
}
