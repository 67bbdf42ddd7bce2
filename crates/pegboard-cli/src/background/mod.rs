//! The background process that serves all clients of a user, and the bridge that connects a client to it.
//!
//! `pegboard stdio` is a bridge: it finds the process of its state folder or starts it, and relays lines. Whenever
//! something about that fails, it serves its client by itself, as `pegboard stdio --alone` does.

mod activation;
mod bridge;
mod call;
mod clients;
mod control;
mod foreground;
mod listener;
mod on_demand;
mod process;
mod process_admin;
mod replaced;
mod serve_call;
mod serve_connection;
mod start;
mod status;
mod views;

use std::path::{Path, PathBuf};

use pegboard_background::{ProcessStatus, Reply, Request, process_status, send_request};
use pegboard_config::Environment;

pub(crate) use bridge::{Bridged, Rest, bridge};
pub(crate) use call::{SharedCall, call};
pub(crate) use control::{EndedBy, find, replace, stop};
pub(crate) use foreground::Foreground;
pub(crate) use on_demand::run;
pub(crate) use start::{find_program, user_systemd};

/// Turns sharing off if it is `off`.
const SHARE_VARIABLE: &str = "PEGBOARD_SHARE";
/// Turns on logs on standard error, which are those of the process that serves the client.
const LOG_VARIABLE: &str = "PEGBOARD_LOG";
/// The argument that runs the background process. It is visible in the list of processes.
pub(crate) const COMMAND: &str = "background";

/// Returns why clients in this environment must not be served by a shared process, or `None` if they may.
pub(crate) fn reason_to_stay_alone(environment: &Environment) -> Option<&'static str> {
    let level = environment.vars.get(LOG_VARIABLE);
    match level.is_some_and(|level| !level.trim().is_empty()) {
        true => Some("PEGBOARD_LOG requests the logs of this process"),
        false => reason_not_to_share(environment),
    }
}

/// Returns why this process must not be the one that clients share, or `None` if it may.
pub(crate) fn reason_not_to_share(environment: &Environment) -> Option<&'static str> {
    let value = environment.vars.get(SHARE_VARIABLE);
    let is_off = value.is_some_and(|value| value.eq_ignore_ascii_case("off"));
    if !cfg!(target_os = "linux") {
        Some("sharing is supported on Linux only")
    } else if is_off {
        Some("PEGBOARD_SHARE is `off`")
    } else if pegboard_upstream::runs_under_a_server() {
        // A server could otherwise reach the tools of all other servers.
        Some("it was started by an MCP server")
    } else {
        None
    }
}

/// Sends a request to the running process, if there is one. The process identifies a peer that reads or calls
/// something, so the memory of this one must not be hidden meanwhile.
pub(crate) fn ask(state: &Path, request: &Request) -> Result<Option<Reply>, String> {
    match request {
        Request::Stop | Request::Retire => send_request(state, request),
        _ => crate::with_visible_memory(|| send_request(state, request)),
    }
}

/// Asks the running process for its clients and instances. Returns `None` if no process is running.
pub(crate) fn status(state: &Path) -> Result<Option<ProcessStatus>, String> {
    crate::with_visible_memory(|| process_status(state))
}

/// The version of this program, for the lock file and for `pegboard ps`.
fn build() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// Returns the folder for sockets that the system provides for this login.
fn runtime_dir(environment: &Environment) -> Option<PathBuf> {
    let folder = environment.vars.get("XDG_RUNTIME_DIR").map(PathBuf::from);
    folder.filter(|folder| folder.is_absolute())
}
