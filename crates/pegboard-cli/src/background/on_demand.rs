//! `pegboard background`: the process that a client starts on demand. It ends when it is not needed any more.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pegboard_background::ProcessKind;
use pegboard_config::{Environment, Paths};
use pegboard_model::{Reason, ToolError};
use tokio::net::UnixListener;

use super::process::Process;
use super::reason_not_to_share;
use super::start::READY;
use crate::commands::{CommandResult, interrupted, serving};
use crate::output::Output;

/// How long the process stays without a client. Overridden by `PEGBOARD_BACKGROUND_IDLE`, in seconds.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
pub(super) const IDLE_VARIABLE: &str = "PEGBOARD_BACKGROUND_IDLE";
/// Size at which the log is started again.
const LOG_BYTES: u64 = 1024 * 1024;

/// Runs the background process.
pub(crate) fn run(output: &Output) -> CommandResult {
    let environment = Environment::from_process();
    if let Some(reason) = reason_not_to_share(&environment) {
        return refuse(reason);
    }
    let state = Paths::from_env(&environment).state_dir;
    serving(async {
        let kind = ProcessKind::Background;
        let process = Process::new(kind, state.clone(), output.clone());
        let taken = process.announcement.take(&state, &environment, kind, None);
        let listener = match taken {
            Ok(Some(listener)) => listener,
            // Another process was faster; its starter finds it.
            Ok(None) => return report(READY),
            Err(error) => return refuse(&format!("cannot listen for clients: {error}")),
        };
        detach(&state);
        report(READY)?;
        let _ = redirect_output(&state);
        serve_all(&process, listener, idle_timeout(&environment)).await;
        Ok(())
    })
}

/// Serves clients until the process is idle, stopped, or has a successor and no clients.
async fn serve_all(process: &Arc<Process>, listener: UnixListener, idle: Duration) {
    tokio::select! {
        () = process.accept(listener) => {}
        () = is_idle(process, idle) => {}
        () = process.check() => {}
        () = interrupted() => {}
        () = process.stopped() => {}
    }
    process.end_clients().await;
    process.views.close_all().await;
}

/// Completes when there was no client for a while.
async fn is_idle(process: &Process, timeout: Duration) {
    let mut count = process.clients.watch_count();
    loop {
        let _ = count.wait_for(|count| *count == 0).await;
        tokio::select! {
            () = tokio::time::sleep(timeout) => return,
            _ = count.wait_for(|count| *count > 0) => {}
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
