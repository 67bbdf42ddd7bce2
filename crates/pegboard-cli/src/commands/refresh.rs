//! `pegboard refresh`: discovers tools again and prints what changed.

use std::time::Duration;

use clap::Args;
use pegboard_hub::{DiscoverySource, RefreshOutcome, RefreshScope};
use pegboard_model::UntrustedText;
use serde::Serialize;

use super::progress::progress;
use super::{
    CommandResult, Global, Output, builder, load_config, open, server_name, with_servers, working,
};
use crate::failure::Failure;
use crate::format::{count, duration};
use crate::output::Paint;

#[derive(Args)]
pub(crate) struct RefreshArgs {
    /// The server [default: all]
    #[arg(conflicts_with = "all")]
    pub(crate) server: Option<String>,
    /// Every enabled server
    #[arg(long)]
    pub(crate) all: bool,
    /// Also discover servers whose list is still fresh
    #[arg(long, short)]
    pub(crate) force: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    servers: &'a [RefreshOutcome],
    failed: usize,
    /// The number of servers whose new list could not be stored.
    not_stored: usize,
}

pub(crate) fn run(args: &RefreshArgs, global: &Global, output: &Output) -> CommandResult {
    let configuration = load_config(global, output)?;
    let server = args
        .server
        .as_deref()
        .map(|name| server_name(name, &configuration))
        .transpose()?;
    let which = server.map_or(RefreshScope::All, RefreshScope::One);
    // A named server is always refreshed, even if its list is fresh.
    let force = args.force || matches!(which, RefreshScope::One(_));
    working(async {
        let pegboard = open(configuration, builder(global), output).await?;
        with_servers(pegboard, |hub| async move {
            let servers = hub
                .catalog()
                .servers()
                .filter(|entry| entry.spec.enabled)
                .count();
            let bar = progress(
                &hub,
                if which == RefreshScope::All {
                    servers
                } else {
                    1
                },
                output,
            );
            let outcomes = hub.refresh(which, force).await?;
            drop(bar);
            print(&outcomes, output)
        })
        .await
    })
}

/// Prints the outcome of each server. The highest exit code of all failures is returned.
pub(crate) fn print(outcomes: &[RefreshOutcome], output: &Output) -> CommandResult {
    let failures = outcomes
        .iter()
        .filter_map(|outcome| outcome.result.as_ref().err());
    let unstored = outcomes.iter().filter_map(|o| o.not_stored.as_ref());
    let faults = outcomes.iter().filter_map(RefreshOutcome::fault);
    let exit = faults.map(|error| error.reason.exit_code()).max();
    let (failed, not_stored) = (failures.count(), unstored.count());
    if output.json {
        output.document(&Document {
            servers: outcomes,
            failed,
            not_stored,
        })?;
    } else {
        outcomes
            .iter()
            .try_for_each(|outcome| print_outcome(outcome, output))?;
        let mut summary = format!("{}, {failed} failed", count(outcomes.len(), "server"));
        if not_stored > 0 {
            summary += &format!(", {not_stored} not stored");
        }
        output.note(&summary);
    }
    exit.map_or(Ok(()), |exit| Err(Failure::shown(exit)))
}

/// Prints one line for the server, then one line per change.
pub(crate) fn print_outcome(outcome: &RefreshOutcome, output: &Output) -> CommandResult {
    print_result(outcome, output)?;
    print_changes(outcome, output)?;
    print_not_stored(outcome, output)
}

/// Prints one line for the server, without its tools.
pub(crate) fn print_brief(outcome: &RefreshOutcome, output: &Output) -> CommandResult {
    print_result(outcome, output)?;
    print_not_stored(outcome, output)
}

fn print_not_stored(outcome: &RefreshOutcome, output: &Output) -> CommandResult {
    let Some(error) = &outcome.not_stored else {
        return Ok(());
    };
    let mark = output.paint(Paint::Bad, "!");
    output.line(&format!("    {mark} not stored: {}", error.message))?;
    output.line(&format!("      {} [{}]", error.remedy, error.reason))
}

fn print_result(outcome: &RefreshOutcome, output: &Output) -> CommandResult {
    let name = output.paint(Paint::Strong, outcome.server.as_str());
    match &outcome.result {
        Err(error) => {
            let message = error.message.replace('\n', "\n    ");
            output.line(&format!(
                "{} {name}  {message}",
                output.paint(Paint::Bad, "✗")
            ))?;
            output.line(&format!("    {} [{}]", error.remedy, error.reason))
        }
        Ok(found) => {
            let how = match outcome.source {
                DiscoverySource::Fresh => "still fresh".to_owned(),
                DiscoverySource::Shared => "discovered by another process".to_owned(),
                DiscoverySource::Discovered => duration(Duration::from_millis(outcome.duration_ms)),
            };
            let mark = output.paint(Paint::Good, "✓");
            output.line(&format!(
                "{mark} {name}  {} ({how})",
                count(found.tools, "tool")
            ))
        }
    }
}

fn print_changes(outcome: &RefreshOutcome, output: &Output) -> CommandResult {
    let Ok(found) = &outcome.result else {
        return Ok(());
    };
    let delta = &found.delta;
    let lines = delta
        .added
        .iter()
        .map(|tool| format!("+ {}", UntrustedText::new(tool)));
    let lines = lines.chain(
        delta
            .removed
            .iter()
            .map(|tool| format!("- {}", UntrustedText::new(tool))),
    );
    let lines = lines.chain(delta.changed.iter().map(|tool| {
        format!(
            "~ {} ({})",
            UntrustedText::new(&tool.name),
            UntrustedText::new(&tool.fields.join(", "))
        )
    }));
    let lines = lines.chain(found.rejected.iter().map(|rejection| {
        let detail = UntrustedText::new(&rejection.detail);
        format!(
            "! {} left out: {detail} [{}]",
            UntrustedText::new(&rejection.tool),
            rejection.reason
        )
    }));
    lines
        .map(|line| format!("    {line}"))
        .try_for_each(|line| output.line(&line))
}
