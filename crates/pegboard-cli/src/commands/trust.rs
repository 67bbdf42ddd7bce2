//! `pegboard trust`: shows everything that a project's server runs and receives, and grants or revokes trust.

use clap::Args;
use pegboard::Configuration;
use pegboard_config::{TrustReview, TrustStore};
use pegboard_model::{Reason, ToolError, TrustState};

use super::discover_now::discover;
use super::{CommandResult, Global, Output, load_config, server_name};
use crate::failure::Failure;
use crate::output::Paint;
use crate::prompts::{can_ask, confirm};

#[derive(Args)]
pub(crate) struct TrustArgs {
    /// The server [default: all pending servers]
    pub(crate) server: Option<String>,
    /// Trust without a prompt
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Revoke trust
    #[arg(long, conflicts_with = "yes", requires = "server")]
    pub(crate) revoke: bool,
    /// Do not start the servers to discover their tools
    #[arg(long)]
    pub(crate) no_discover: bool,
}

pub(crate) fn run(args: &TrustArgs, global: &Global, output: &Output) -> CommandResult {
    let mut configuration = load_config(global, output)?;
    let reviews = wanted(args, &configuration)?;
    let mut trust_store = TrustStore::open(&configuration.paths.state_dir);
    let Some(project) = configuration.loaded.project.clone() else {
        output.note("Not in a project, so no server needs trust.");
        return if output.json {
            output.document(&Vec::<TrustReview>::new())
        } else {
            Ok(())
        };
    };
    if output.json {
        output.document(&reviews)?;
        if !args.yes && !args.revoke {
            return Ok(());
        }
    }
    if reviews.is_empty() {
        output.note("No server needs trust.");
    }
    let mut trusted_now = Vec::new();
    let mut refused = false;
    let mut too_long = None;
    for review in reviews {
        let name = &review.server;
        if args.revoke {
            trust_store.revoke(&project, name)?;
            output.note(&format!("server `{name}` is no longer trusted"));
            continue;
        }
        if !output.json {
            show(review, output)?;
        }
        if let Err(error) = review.check() {
            output.note(&format!("server `{name}` stays pending"));
            too_long.get_or_insert(error);
            continue;
        }
        let trusted = args.yes || (can_ask() && confirm(&format!("Trust server `{name}`?"), false));
        if trusted {
            trust_store.grant(&project, name, &review.hash)?;
            output.note(&format!("server `{name}` is trusted"));
            trusted_now.push(name.clone());
        } else {
            refused = true;
            output.note(&format!("server `{name}` stays pending"));
        }
    }
    // With `--json`, standard output holds only the reviews.
    let discovers = !args.no_discover && !output.json && !trusted_now.is_empty();
    let discovered = match discovers {
        true => {
            configuration.reload();
            discover(&trusted_now, configuration, global, output)
        }
        false => Ok(()),
    };
    match too_long {
        Some(error) => Err(error.into()),
        None if refused => Err(Failure::shown(Reason::ServerPending.exit_code())),
        None => discovered,
    }
}

fn wanted<'a>(
    args: &TrustArgs,
    configuration: &'a Configuration,
) -> Result<Vec<&'a TrustReview>, Failure> {
    let reviews = &configuration.loaded.reviews;
    match &args.server {
        None => Ok(reviews
            .values()
            .filter(|review| review.trust_state != TrustState::Granted)
            .collect()),
        Some(name) => {
            let name = server_name(name, configuration)?;
            let review = reviews.get(&name);
            review.map(|review| vec![review]).ok_or_else(|| {
                let message = format!("server `{name}` is your own and always trusted");
                let error = ToolError::new(Reason::ConfigInvalid, message).at_server(&name);
                error
                    .with_remedy("Only servers of a project's file need trust.")
                    .into()
            })
        }
    }
}

fn show(review: &TrustReview, output: &Output) -> CommandResult {
    let changed = if review.trust_state == TrustState::Changed {
        ", changed since you trusted it"
    } else {
        ""
    };
    output.line(&format!(
        "{} (from {}{changed})",
        output.paint(Paint::Strong, review.server.as_str()),
        review.place()
    ))?;
    for line in review.lines() {
        output.line(&format!("  {line}"))?;
    }
    Ok(())
}
