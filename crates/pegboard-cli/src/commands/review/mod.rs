//! `pegboard review`: definitions that models do not get until a person has looked at them.

mod document;
mod show;

use clap::{Args, Subcommand};
use pegboard_hub::{Hub, PendingReview};
use pegboard_model::{Reason, ToolError, UntrustedText};

use self::document::{Document, Entry};
use super::{CommandResult, Global, Output, builder, load_config, open, reading};
use crate::format::count;
use crate::output::Paint;

#[derive(Args)]
pub(crate) struct ReviewArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ReviewCommand>,
}

#[derive(Subcommand)]
pub(crate) enum ReviewCommand {
    /// List what awaits review
    List(ListArgs),
    /// Show findings, and what changed word by word
    Show(SubjectArgs),
    /// Let models use the version that is shown now
    Accept(SubjectArgs),
    /// Hold the version that is shown now back
    Reject(SubjectArgs),
}

#[derive(Args, Default)]
pub(crate) struct ListArgs {
    /// Also list what was decided
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Args)]
pub(crate) struct SubjectArgs {
    /// A tool or prompt (server/name), or a server for all that awaits review there
    pub(crate) name: String,
}

/// The decider in the activity log.
const BY: &str = "the command line";

pub(crate) fn run(
    command: Option<ReviewCommand>,
    global: &Global,
    output: &Output,
) -> CommandResult {
    let configuration = load_config(global, output)?;
    reading(async {
        let pegboard = open(configuration, builder(global), output).await?;
        let hub = pegboard.hub();
        let command = command.unwrap_or_else(|| ReviewCommand::List(ListArgs::default()));
        let done = match &command {
            ReviewCommand::List(args) => list(hub, args, output),
            ReviewCommand::Show(args) => show_all(hub, args, output),
            ReviewCommand::Accept(args) => decide(hub, args, true, output).await,
            ReviewCommand::Reject(args) => decide(hub, args, false, output).await,
        };
        pegboard.shut_down().await;
        done
    })
}

/// Whether a person has still to decide.
fn is_open(review: &PendingReview) -> bool {
    review.mark.is_held() && !review.mark.is_rejected()
}

fn list(hub: &Hub, args: &ListArgs, output: &Output) -> CommandResult {
    let mut reviews = hub.reviews();
    reviews.retain(|review| args.all || is_open(review));
    if output.json {
        return output.document(&Document::new(hub, &reviews));
    }
    if reviews.is_empty() {
        output.note("Nothing awaits review.");
        return Ok(());
    }
    let rows = reviews.iter().map(|review| {
        vec![
            UntrustedText::new(&review.exposed).to_string(),
            output.paint(Paint::Warn, show::state_word(&review.mark)),
            UntrustedText::new(&show::reason(review)).to_string(),
        ]
    });
    output.line(&output.table(&["NAME", "STATE", "REASON"], rows.collect(), 2))?;
    output.note(&format!(
        "{}. Read with `pegboard review show NAME`, then `accept` or `reject` it.",
        count(reviews.len(), "review"),
    ));
    Ok(())
}

fn show_all(hub: &Hub, args: &SubjectArgs, output: &Output) -> CommandResult {
    let reviews = matching(hub, &args.name)?;
    if output.json {
        return output.document(&Document::new(hub, &reviews));
    }
    for review in &reviews {
        show::print(review, output)?;
    }
    Ok(())
}

async fn decide(hub: &Hub, args: &SubjectArgs, accept: bool, output: &Output) -> CommandResult {
    let reviews = matching(hub, &args.name)?;
    for review in &reviews {
        hub.decide_review(&review.subject, accept, BY).await?;
    }
    if output.json {
        let decided: Vec<Entry> = reviews.iter().map(Entry::new).collect();
        return output.document(&decided);
    }
    for review in &reviews {
        let name = UntrustedText::new(&review.exposed);
        output.note(&match accept {
            true => format!("accepted this version of `{name}`; models can use it"),
            false => format!("rejected this version of `{name}`; models do not get it"),
        });
    }
    Ok(())
}

/// The reviews that a name selects: one definition, or all open ones of a server.
fn matching(hub: &Hub, name: &str) -> Result<Vec<PendingReview>, ToolError> {
    let reviews = hub.reviews();
    let is_named = |review: &&PendingReview| {
        let qualified = format!("{}/{}", review.subject.server, review.subject.name);
        review.exposed == name || qualified == name || review.subject.name == name
    };
    let mut found: Vec<PendingReview> = reviews.iter().filter(is_named).cloned().collect();
    if found.is_empty() {
        let of_server =
            |review: &&PendingReview| review.subject.server.as_str() == name && is_open(review);
        found = reviews.iter().filter(of_server).cloned().collect();
    }
    if found.is_empty() {
        let shown = UntrustedText::new(name).shortened(80);
        let message = format!("nothing called `{shown}` awaits review");
        let names = reviews
            .iter()
            .filter(|review| is_open(review))
            .map(|review| review.exposed.clone());
        return Err(
            ToolError::new(Reason::ReviewUnknown, message).with_nearest(names.take(5).collect())
        );
    }
    Ok(found)
}
