//! `pegboard call`: calls one tool and starts only its server.

mod approver;
mod arguments;
mod screen;

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use pegboard_catalog::{Catalog, ServerEntry};
use pegboard_hub::{CallRequest, Hub, RefreshScope, SessionId};
use pegboard_model::Reason;
use pegboard_upstream::{adopt_orphans, start_watcher_early};
use serde_json::Value;
use serde_json::value::RawValue;

use super::tool_lookup::{find_tool, refuse_broken};
use super::{CommandResult, Global, Output, builder, load_config, open, serving, with_servers};
use crate::failure::Failure;
pub(crate) use approver::{TerminalApprover, report_pending_approvals};

#[derive(Args)]
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
}

/// The time that the command waits for a refresh of the server's tool list after the call.
const RENEWAL_TIMEOUT: Duration = Duration::from_secs(2);

pub(crate) fn run(args: &CallArgs, global: &Global, output: &Output) -> CommandResult {
    let configuration = load_config(global, output)?;
    refuse_broken(&args.tool, &configuration)?;
    adopt_orphans();
    start_watcher_early();
    let builder = builder(global)
        .approver(TerminalApprover { yes: args.yes })
        .only_tool(args.tool.clone());
    // One call to one server does not justify starting a second thread.
    serving(async {
        let pegboard = open(configuration, builder, output).await?;
        with_servers(pegboard, |hub| async move {
            let (catalog, tool) = find_tool(&args.tool, &hub).await?;
            let arguments = arguments::read(args, &tool, &catalog)?;
            let text = Value::Object(arguments).to_string();
            let arguments = RawValue::from_string(text).map_err(arguments::not_json)?;
            let session = SessionId("cli".to_owned());
            let (events, mut mismatches) = (hub.subscribe(), hub.subscribe());
            // Prepare the activity log while the server starts.
            hub.prepare_activity();
            let mut request = CallRequest::new(session, tool.clone(), arguments);
            request.client = Some("cli".into());
            // The session has only this call.
            request.is_lasting = false;
            let call = hub.call(&request);
            let outcome = tokio::select! {
                outcome = call => outcome?,
                never = report_pending_approvals(events, output) => match never {},
            };
            screen::show(&outcome.result, output)?;
            screen::warn_of_mismatch(&mut mismatches, output);
            renew_if_stale(&catalog, &tool, &hub).await;
            release(&catalog, &tool, &hub);
            if outcome.is_error {
                Err(Failure::shown(Reason::ToolFailed.exit_code()))
            } else {
                Ok(())
            }
        })
        .await
    })
}

fn server_of(catalog: &Catalog, tool: &str) -> Option<Arc<ServerEntry>> {
    catalog.find(tool).ok()?.entry().cloned()
}

/// Lets the server stop while the activity is being stored.
fn release(catalog: &Catalog, tool: &str, hub: &Hub) {
    if let Some(entry) = server_of(catalog, tool) {
        hub.release(entry.name());
    }
}

/// Refreshes a stale tool list. The call has started the server anyway, so this costs one more request.
async fn renew_if_stale(catalog: &Catalog, tool: &str, hub: &Hub) {
    if let Some(entry) = server_of(catalog, tool).filter(|entry| entry.stale) {
        let renewal = hub.refresh(RefreshScope::One(entry.name().clone()), false);
        // The result is already printed, so the refresh must not delay the exit for long.
        let _ = tokio::time::timeout(RENEWAL_TIMEOUT, renewal).await;
    }
}
