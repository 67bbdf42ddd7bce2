//! The background process that serves all clients of a user, and the bridge that connects a client to it.
//!
//! `pegboard stdio` is a bridge: it finds the process of its state folder or starts it, and relays lines. Whenever
//! something about that fails, it serves its client by itself, as `pegboard stdio --alone` does.

mod bridge;
mod clients;
mod listener;
mod process;
mod replaced;
mod serve_client;
mod start;
mod views;

use std::path::PathBuf;

use pegboard_config::Environment;

pub(crate) use bridge::{Bridged, Rest, bridge};
pub(crate) use process::run;

/// Turns sharing on if it is `on`.
const SHARE_VARIABLE: &str = "PEGBOARD_SHARE";
/// The argument that runs the background process. It is visible in the list of processes.
pub(crate) const COMMAND: &str = "background";

/// Returns why this process must not use a background process, or `None` if it may.
pub(crate) fn reason_to_stay_alone(environment: &Environment) -> Option<&'static str> {
    let is_on = environment
        .vars
        .get(SHARE_VARIABLE)
        .is_some_and(|value| value == "on");
    if !cfg!(target_os = "linux") {
        Some("sharing is supported on Linux only")
    } else if !is_on {
        Some("PEGBOARD_SHARE is not `on`")
    } else if pegboard_upstream::runs_under_a_server() {
        // A server could otherwise reach the tools of all other servers.
        Some("it was started by an MCP server")
    } else {
        None
    }
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
