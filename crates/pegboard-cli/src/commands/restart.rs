//! `pegboard restart`: replaces the background process.

use pegboard_config::{Environment, Paths};
use pegboard_model::{Reason, ToolError};
use serde::Serialize;

use super::{CommandResult, Output};
use crate::background::{EndedBy, reason_not_to_share, replace};

/// The document of `--json`; documented in docs/commands.md.
#[derive(Serialize)]
struct Document {
    former_pid: u32,
    pid: u32,
    /// `signal` or `kill` if the former process did not respond and was ended; `null` if its clients move.
    ended_by: Option<EndedBy>,
}

pub(crate) fn run(output: &Output) -> CommandResult {
    let environment = Environment::from_process();
    if let Some(reason) = reason_not_to_share(&environment) {
        let message = format!("no background process can be started: {reason}");
        return Err(ToolError::new(Reason::ProcessUnresponsive, message)
            .with_remedy("A running one is ended by `pegboard stop`.")
            .into());
    }
    let state = Paths::from_env(&environment).state_dir;
    let replaced = replace(&state, &environment)?;
    let (former_pid, pid) = (replaced.former, replaced.new);
    if output.json {
        return output.document(&Document {
            former_pid,
            pid,
            ended_by: replaced.ended.map(|ended| ended.by),
        });
    }
    output.line(&match replaced.ended {
        None => format!("process {pid} takes over from process {former_pid}"),
        Some(_) => format!(
            "process {pid} replaces process {former_pid}, which did not respond and was ended"
        ),
    })?;
    if replaced.ended.is_none() {
        output.note("Each client moves as soon as it has no open request.");
    }
    Ok(())
}
