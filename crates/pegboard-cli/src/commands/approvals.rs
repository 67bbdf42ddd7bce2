//! `pegboard approvals`: calls of any Pegboard process that wait for approval.

use std::collections::BTreeSet;

use clap::{Args, Subcommand};
use pegboard_hub::{Hub, readable_arguments};
use pegboard_model::{ApprovalDecision, ApprovalRequest, Clock, UntrustedText};
use serde::Serialize;

use super::{CommandResult, Global, Output, builder, interrupted, load_config, open, reading};
use crate::format::duration;
use crate::output::Paint;

#[derive(Args)]
pub(crate) struct ApprovalsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ApprovalsCommand>,
}

#[derive(Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// List pending calls
    List,
    /// Approve a call
    Allow(AllowArgs),
    /// Refuse a call
    Deny {
        /// The id of the request
        id: String,
    },
    /// Show each pending call as it arrives; while this runs, approvals are possible
    Watch,
}

#[derive(Args)]
pub(crate) struct AllowArgs {
    /// The id of the request
    pub(crate) id: String,
    /// Also allow later calls of this version of the tool in the same session
    #[arg(long, conflicts_with = "always")]
    pub(crate) session: bool,
    /// Also allow all later calls of this version of the tool
    #[arg(long)]
    pub(crate) always: bool,
}

/// The decider in the activity log.
const BY: &str = "the command line";

#[derive(Serialize)]
struct Document<'a> {
    approvals: &'a [ApprovalRequest],
}

pub(crate) fn run(
    command: Option<ApprovalsCommand>,
    global: &Global,
    output: &Output,
) -> CommandResult {
    let configuration = load_config(global, output)?;
    reading(async {
        let pegboard = open(configuration, builder(global), output).await?;
        let hub = pegboard.hub();
        let done = match command.unwrap_or(ApprovalsCommand::List) {
            ApprovalsCommand::List => list(hub, output).await,
            ApprovalsCommand::Allow(args) => decide(hub, &args.id, scope(&args), output).await,
            ApprovalsCommand::Deny { id } => {
                decide(hub, &id, ApprovalDecision::Refuse, output).await
            }
            ApprovalsCommand::Watch => watch(hub, output).await,
        };
        pegboard.shut_down().await;
        done
    })
}

fn scope(args: &AllowArgs) -> ApprovalDecision {
    match (args.session, args.always) {
        (true, _) => ApprovalDecision::Session,
        (_, true) => ApprovalDecision::Always,
        _ => ApprovalDecision::Once,
    }
}

async fn list(hub: &Hub, output: &Output) -> CommandResult {
    let approvals = hub.approvals().await?;
    if output.json {
        return output.document(&Document {
            approvals: &approvals,
        });
    }
    if approvals.is_empty() {
        output.note("No call waits for approval.");
    }
    for request in &approvals {
        show(request, output)?;
    }
    Ok(())
}

async fn decide(hub: &Hub, id: &str, decision: ApprovalDecision, output: &Output) -> CommandResult {
    let request = hub.decide_approval(id, decision, BY).await?;
    if output.json {
        return output.document(&request);
    }
    let tool = UntrustedText::new(&request.tool);
    let words = match decision {
        ApprovalDecision::Once => format!("allowed this call of `{tool}`"),
        ApprovalDecision::Session => format!("allowed `{tool}` in session `{}`", request.session),
        ApprovalDecision::Always => {
            format!("allowed this version of `{tool}` permanently; see `pegboard policy grants`")
        }
        ApprovalDecision::Refuse => format!("refused this call of `{tool}`"),
    };
    output.note(&words);
    Ok(())
}

/// Shows each pending call as it arrives, until interrupted. While this runs, tools that ask if possible do.
async fn watch(hub: &Hub, output: &Output) -> CommandResult {
    let mut inbox = hub.watch_approvals()?;
    let stop = interrupted();
    tokio::pin!(stop);
    output.note(
        "Watching. Decide with `pegboard approvals allow ID` or `deny ID` in another terminal.",
    );
    let mut shown: BTreeSet<String> = BTreeSet::new();
    loop {
        let approvals = hub.approvals().await?;
        for request in &approvals {
            if shown.contains(&request.id) {
                continue;
            }
            match output.json {
                true => output.json_line(&serde_json::to_string(request).unwrap_or_default())?,
                false => show(request, output)?,
            }
        }
        shown = approvals.into_iter().map(|request| request.id).collect();
        tokio::select! {
            () = inbox.changed() => {}
            () = &mut stop => return Ok(()),
        }
    }
}

fn show(request: &ApprovalRequest, output: &Output) -> CommandResult {
    let now = pegboard_hub::SystemClock.now();
    let left = duration(request.expires_at.since(now));
    let id = output.paint(Paint::Strong, &request.id);
    let client = match &request.client {
        Some(client) if *client == request.session => request.session.clone(),
        Some(client) => format!("{} ({})", UntrustedText::new(client), request.session),
        None => request.session.clone(),
    };
    output.line(&format!(
        "{id}  {}  for {client}, {left} left",
        UntrustedText::new(&request.tool)
    ))?;
    output.line(&format!(
        "  rule       {}",
        UntrustedText::new(&request.rule)
    ))?;
    output.line(&format!(
        "  arguments  {}",
        UntrustedText::new(&readable_arguments(&request.arguments))
    ))?;
    if !request.changed.is_empty() {
        let fields = request.changed.join(", ");
        let text = format!("changed since it was approved: {fields}");
        output.line(&format!("  {}", output.paint(Paint::Warn, &text)))?;
    }
    Ok(())
}
