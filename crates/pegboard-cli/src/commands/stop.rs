//! `pegboard stop`: ends the background process.

use pegboard_config::{Environment, Paths};
use serde::Serialize;

use super::{CommandResult, Output};
use crate::background::{EndedBy, stop};

/// The document of `--json`; documented in docs/commands.md.
#[derive(Serialize)]
struct Document {
    pid: u32,
    /// `request`, `signal` or `kill`.
    ended_by: EndedBy,
}

pub(crate) fn run(output: &Output) -> CommandResult {
    let state = Paths::from_env(&Environment::from_process()).state_dir;
    let ended = stop(&state)?;
    let pid = ended.pid;
    if output.json {
        return output.document(&Document {
            pid,
            ended_by: ended.by,
        });
    }
    output.line(&match ended.by {
        EndedBy::Request => format!("stopped process {pid}"),
        EndedBy::Signal => format!("stopped process {pid} with SIGTERM: it did not respond"),
        EndedBy::Kill => format!(
            "killed process {pid}: it did not respond, not even to SIGTERM; open requests were lost"
        ),
    })
}
