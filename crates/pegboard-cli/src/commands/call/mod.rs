//! `pegboard call`: calls one tool, in the running Pegboard if there is one; else it starts only the tool's server.

mod approver;
mod arguments;
mod screen;

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use pegboard::Configuration;
use pegboard_background::is_process_running;
use pegboard_catalog::{Catalog, ServerEntry};
use pegboard_hub::{Approver, CallOutcome, CallRequest, Hub, RefreshScope, SessionId};
use pegboard_model::Reason;
use pegboard_upstream::{adopt_orphans, start_watcher_early};
use serde_json::Value;
use serde_json::value::RawValue;

use super::tool_lookup::{find_tool, refuse_broken};
use super::{CommandResult, Global, Output, builder, load_config, open, serving, with_servers};
use crate::background::{SharedCall, call};
use crate::failure::Failure;
pub(crate) use approver::{
    TerminalApprover, pending_note, prompt_for_approval, report_pending_approvals,
};

#[derive(Args, Clone)]
pub(crate) struct CallArgs {
    /// The tool: server/tool, server.tool, server__tool, or its bare name when only one server has it
    pub(crate) tool: String,
    /// Arguments as key=value, key:=json or a JSON object; `-` reads a JSON object from standard input
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) arguments: Vec<String>,
    /// All arguments as one JSON object
    #[arg(long, value_name = "JSON", conflicts_with = "arguments")]
    pub(crate) args: Option<String>,
    /// Approve without a prompt when a policy says `ask`
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Start the server for this call, even if a running Pegboard has it running
    #[arg(long)]
    pub(crate) alone: bool,
}

/// The time that the command waits for a refresh of the server's tool list after the call.
const RENEWAL_TIMEOUT: Duration = Duration::from_secs(2);

pub(crate) fn run(args: &CallArgs, global: &Global, output: &Output) -> CommandResult {
    let configuration = load_config(global, output)?;
    refuse_broken(&args.tool, &configuration)?;
    // Logs on standard error are those of this process.
    let is_shared = !args.alone && global.log_level.is_none();
    let state = configuration.state.path();
    if is_shared && is_process_running(state) {
        let args = arguments::with_input_read(args)?;
        let done = call(&args, global, &configuration, output)?;
        return match done {
            Some(done) => show_shared(&done, output),
            None => run_alone(&args, configuration, global, output),
        };
    }
    run_alone(args, configuration, global, output)
}

/// Prints what the running process returned.
fn show_shared(done: &SharedCall, output: &Output) -> CommandResult {
    screen::show(&done.result, output)?;
    done.notes.iter().for_each(|note| output.note(note));
    exit_of(done.is_error)
}

/// Starts the server in this process and ends it after the call.
fn run_alone(
    args: &CallArgs,
    configuration: Configuration,
    global: &Global,
    output: &Output,
) -> CommandResult {
    crate::hide_memory();
    adopt_orphans();
    start_watcher_early();
    let builder = builder(global)
        .approver(TerminalApprover { yes: args.yes })
        .only_tool(args.tool.clone());
    // One call to one server does not justify starting a second thread.
    serving(async {
        let pegboard = open(configuration, builder, output).await?;
        with_servers(pegboard, |hub| async move {
            let events = hub.subscribe();
            let called = tokio::select! {
                called = call_tool(args, &hub, None) => called?,
                never = report_pending_approvals(events, output) => match never {},
            };
            screen::show(called.outcome.result.get(), output)?;
            called.warnings.iter().for_each(|note| output.note(note));
            renew_if_stale(&called, &hub).await;
            release(&called, &hub);
            exit_of(called.outcome.is_error)
        })
        .await
    })
}

fn exit_of(is_error: bool) -> CommandResult {
    match is_error {
        true => Err(Failure::shown(Reason::ToolFailed.exit_code())),
        false => Ok(()),
    }
}

/// A completed call.
pub(crate) struct Called {
    pub(crate) outcome: CallOutcome,
    /// Warnings for the user.
    pub(crate) warnings: Vec<String>,
    catalog: Arc<Catalog>,
    tool: String,
}

/// Finds the tool, reads the arguments and calls it.
///
/// # Errors
/// Fails if there is no such tool, if the arguments are invalid, if the call is not allowed, or if the server fails.
pub(crate) async fn call_tool(
    args: &CallArgs,
    hub: &Hub,
    approver: Option<Arc<dyn Approver>>,
) -> Result<Called, Failure> {
    let (catalog, tool) = find_tool(&args.tool, hub).await?;
    let arguments = arguments::read(args, &tool, &catalog)?;
    let text = Value::Object(arguments).to_string();
    let arguments = RawValue::from_string(text).map_err(arguments::not_json)?;
    let mut mismatches = hub.subscribe();
    // Prepare the activity log while the server starts.
    hub.prepare_activity();
    let mut request = CallRequest::new(SessionId("cli".to_owned()), tool.clone(), arguments);
    request.client = Some("cli".into());
    // The session has only this call.
    request.is_lasting = false;
    request.approver = approver;
    let outcome = hub.call(&request).await?;
    let exposed = catalog.find(&tool).map(|found| found.exposed().to_string());
    let exposed = exposed.unwrap_or_else(|_| tool.clone());
    Ok(Called {
        warnings: screen::mismatches(&mut mismatches, &exposed),
        outcome,
        catalog,
        tool,
    })
}

impl Called {
    fn server(&self) -> Option<Arc<ServerEntry>> {
        self.catalog.find(&self.tool).ok()?.entry().cloned()
    }
}

/// Lets the server stop while the activity is being stored.
fn release(called: &Called, hub: &Hub) {
    if let Some(entry) = called.server() {
        hub.release(entry.name());
    }
}

/// Refreshes a stale tool list. The call has started the server anyway, so this costs one more request.
pub(crate) async fn renew_if_stale(called: &Called, hub: &Hub) {
    if let Some(entry) = called.server().filter(|entry| entry.stale) {
        let renewal = hub.refresh(RefreshScope::One(entry.name().clone()), false);
        // The result is already printed, so the refresh must not delay the exit for long.
        let _ = tokio::time::timeout(RENEWAL_TIMEOUT, renewal).await;
    }
}
